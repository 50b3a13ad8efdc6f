package surreal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

var (
	numberPattern   = regexp.MustCompile(`^[-+]?(\d+(\.\d+)?([eE][-+]?\d+)?)(f|dec)?`)
	durationPattern = regexp.MustCompile(`^(\d+(ns|us|µs|μs|ms|s|m|h|d|w|y))+`)
	durationPart    = regexp.MustCompile(`(\d+)(ns|us|µs|μs|ms|s|m|h|d|w|y)`)
)

// IsText reports that a text can't be read as a value of another kind, but for a bare word: that it is not what [Format]
// writes of a number, a record id, a duration, or a text in quotes.
func IsText(text string) bool {
	if len(text) > parseLimit || !utf8.ValidString(text) {
		return true
	}
	p := parser{rest: text}
	v, err := p.value(parseDepth)
	if _, word := v.(models.Table); err != nil || word || p.rest != "" {
		return true
	}
	return Format(v) != text
}

// value reads one value of an array or object in a record id.
func (p *parser) value(depth int) (any, error) {
	if depth == 0 {
		return nil, errTooDeep
	}
	p.space()
	switch {
	case p.accept("["):
		return p.array(depth - 1)
	case p.accept("{"):
		if p.isSet() {
			return p.set(depth - 1)
		}
		return p.object(depth - 1)
	case p.accept("'"):
		return p.quoted("'")
	case p.accept(`"`):
		return p.quoted(`"`)
	case len(p.rest) > 1 && isWordByte(p.rest[0]) && (p.rest[1] == '\'' || p.rest[1] == '"'):
		return p.prefixed()
	case p.accept("-Infinity"):
		return math.Inf(-1), nil
	}
	return p.bare(depth - 1)
}

// prefixed reads u'…', d'…' and b'…'.
func (p *parser) prefixed() (any, error) {
	kind, mark := p.rest[:1], p.rest[1:2]
	p.rest = p.rest[2:]
	text, err := p.quoted(mark)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "u":
		var id UUID
		if err := id.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%q is not a uuid", clip(text))
		}
		return id, nil
	case "d":
		t, err := parseTime(text)
		return models.CustomDateTime{Time: t}, err
	case "b":
		return hex.DecodeString(text)
	}
	return nil, fmt.Errorf("unknown prefix %s before a text", clip(kind))
}

// parseTime reads RFC 3339, whose years of more than four digits Go does not know.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err == nil {
		return t.UTC(), nil
	}
	signed := strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	year, rest, ok := strings.Cut(strings.TrimLeft(text, "+-"), "-")
	n, yearErr := strconv.Atoi(year)
	if !signed || !ok || yearErr != nil || n > 262000 {
		return time.Time{}, fmt.Errorf("%q is not a datetime", clip(text))
	}
	if text[0] == '-' {
		n = -n
	}
	// A year of the same length in the calendar's 400-year cycle stands in, then the years are put right.
	base := 2000 + ((n%400)+400)%400
	t, err = time.Parse(time.RFC3339Nano, strconv.Itoa(base)+"-"+rest)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a datetime", clip(text))
	}
	return t.AddDate(n-base, 0, 0).UTC(), nil
}

// bare reads what stands without quotes: record ids, constants, numbers, durations, tables.
func (p *parser) bare(depth int) (any, error) {
	if p.startsRecordID() {
		return p.recordID(depth)
	}
	if d := durationPattern.FindString(p.rest); d != "" && !p.continues(len(d)) {
		p.rest = p.rest[len(d):]
		return parseDuration(d)
	}
	if n := numberPattern.FindStringSubmatch(p.rest); n != nil && !p.continues(len(n[0])) {
		p.rest = p.rest[len(n[0]):]
		return parseNumber(n[0], n[4])
	}
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(name) {
	case "none":
		return None, nil
	case "null":
		return nil, nil
	case "true", "false":
		return strings.EqualFold(name, "true"), nil
	}
	switch name {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	}
	return models.Table(name), nil
}

// startsRecordID looks ahead for a colon behind a name.
func (p *parser) startsRecordID() bool {
	ahead := *p
	_, err := ahead.name()
	return err == nil && strings.HasPrefix(ahead.rest, ":")
}

// continues reports that a word goes on after the first n bytes, so that they are not all of it.
func (p *parser) continues(n int) bool {
	return n < len(p.rest) && (isWordByte(p.rest[n]) || p.rest[n] == '.' && !strings.HasPrefix(p.rest[n:], ".."))
}

func parseNumber(text, suffix string) (any, error) {
	digits := strings.TrimSuffix(text, suffix)
	switch {
	case suffix == "dec":
		return models.DecimalString(digits), nil
	case suffix == "f" || strings.ContainsAny(digits, ".eE"):
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number a float can hold", clip(digits))
		}
		return f, nil
	}
	return integer(strings.TrimPrefix(digits, "+"))
}

func parseDuration(text string) (any, error) {
	units := map[string]time.Duration{
		"ns": 1, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond,
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
		"y": 365 * 24 * time.Hour,
	}
	var total time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(part[1], 10, 64)
		unit := units[part[2]]
		if err != nil || n > int64((math.MaxInt64-total)/unit) {
			return nil, fmt.Errorf("the duration %q is too long", clip(text))
		}
		total += time.Duration(n) * unit
	}
	return models.CustomDuration{Duration: total}, nil
}

func (p *parser) array(depth int) (any, error) {
	items := []any{}
	for {
		p.space()
		if p.accept("]") {
			return items, nil
		}
		item, err := p.ranged(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if err := p.separator("]"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	members := map[string]any{}
	for {
		p.space()
		if p.accept("}") {
			return members, nil
		}
		key, err := p.objectKey()
		if err != nil {
			return nil, err
		}
		if members[key], err = p.ranged(depth); err != nil {
			return nil, err
		}
		if err := p.separator("}"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) objectKey() (key string, err error) {
	switch {
	case p.accept(`"`):
		key, err = p.quoted(`"`)
	case p.accept("'"):
		key, err = p.quoted("'")
	default:
		key, err = p.name()
	}
	p.space()
	if err == nil && !p.accept(":") {
		err = errors.New("no colon after a key")
	}
	return key, err
}

// separator takes a comma, which may only be missing before the end.
func (p *parser) separator(end string) error {
	p.space()
	if p.accept(",") || strings.HasPrefix(p.rest, end) {
		return nil
	}
	return fmt.Errorf("want a comma or %s before %q", end, clip(p.rest))
}

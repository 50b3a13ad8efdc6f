package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
	"d":  24 * time.Hour,
	"w":  7 * 24 * time.Hour,
}

// ParseDuration reads the durations of sp00ky.yml: whole numbers with the units
// ms, s, m, h, d and w, one or more of them, as in "30s", "1h30m" and "14d". A
// bare "0" is zero. There are no signs, fractions or blanks.
func ParseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	if text == "" {
		return 0, fmt.Errorf("duration is empty")
	}
	var total time.Duration
	for rest := text; rest != ""; {
		digits := prefix(rest, func(c byte) bool { return c >= '0' && c <= '9' })
		rest = rest[len(digits):]
		name := prefix(rest, func(c byte) bool { return c >= 'a' && c <= 'z' })
		rest = rest[len(name):]
		unit, known := durationUnits[name]
		if digits == "" || !known {
			return 0, fmt.Errorf("duration %s is not made of whole numbers with ms, s, m, h, d or w", quote(text))
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64((math.MaxInt64-total)/unit) {
			return 0, fmt.Errorf("duration %s is too long", quote(text))
		}
		total += time.Duration(n) * unit
	}
	return total, nil
}

// compact writes a duration without the zeros behind its last unit.
func compact(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zeros) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// prefix returns the longest start of text whose bytes all belong.
func prefix(text string, belongs func(byte) bool) string {
	n := 0
	for n < len(text) && belongs(text[n]) {
		n++
	}
	return text[:n]
}

// span is a duration in the file.
type span time.Duration

func (s *span) decodeNode(d *decoder, at place) bool {
	allowed := at.allow
	if allowed == "" {
		allowed = "a duration such as 30s, 5m, 1h30m, 14d"
	}
	remedy := "write whole numbers with the units ms, s, m, h, d, w"
	n, isNumber := wholeNumber(at.node)
	if !isText(at.node) && (!isNumber || n != 0) {
		if isNumber {
			remedy = "add a unit, as in " + at.node.Value + "s"
		}
		d.fault(at, "found "+describe(at.node)+", allowed: "+allowed, remedy)
		return false
	}
	value, err := ParseDuration(at.node.Value)
	if isNumber {
		value, err = 0, nil
	}
	if err != nil {
		d.fault(at, "found "+describe(at.node)+", allowed: "+allowed, remedy)
		return false
	}
	*s = span(value)
	return true
}

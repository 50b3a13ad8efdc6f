package surreal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseDepth is how deep the key of a record id may nest.
const parseDepth = 32

// parseLimit is how long the text of a record id may be.
const parseLimit = 16 << 10

// ParseID reads a record id as people and SurrealDB write it: table:key, where both may stand in backticks or ⟨⟩ and
// the key may be an integer, u'a uuid', an array or an object of plain values, in which ranges and sets may stand. It gives
// back what [FormatID] writes.
//
// A plain key of digits is an integer, any other plain key a string: job:7 is not job:`7`. Ranges of ids and functions
// such as rand() are no record ids.
func ParseID(text string) (RecordID, error) {
	if len(text) > parseLimit {
		return RecordID{}, fmt.Errorf("%q is not a record id: it is longer than %d bytes", clip(text), parseLimit)
	}
	if !utf8.ValidString(text) {
		return RecordID{}, fmt.Errorf("%q is not a record id: %w", clip(text), errNotUTF8)
	}
	p := parser{rest: strings.TrimSpace(text)}
	id, err := p.recordID(parseDepth)
	if err == nil && p.rest != "" {
		err = fmt.Errorf("%q follows it", clip(p.rest))
	}
	if err != nil {
		return RecordID{}, fmt.Errorf("%q is not a record id (want table:key): %w", clip(text), err)
	}
	return id, nil
}

// clip shortens a text for an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// parser reads SurrealQL values from the front of rest.
type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept takes the mark if it comes next.
func (p *parser) accept(mark string) bool {
	rest, ok := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	return ok
}

func (p *parser) recordID(depth int) (RecordID, error) {
	table, err := p.name()
	if err != nil {
		return RecordID{}, fmt.Errorf("table: %w", err)
	}
	if !p.accept(":") {
		return RecordID{}, errors.New("no colon after the table")
	}
	key, err := p.key(depth)
	if err != nil {
		return RecordID{}, fmt.Errorf("key: %w", err)
	}
	id := RecordID{Table: table, ID: key}
	return id, checkID(id)
}

// name reads a table: plain, in backticks or in ⟨⟩.
func (p *parser) name() (string, error) {
	switch {
	case p.accept("`"):
		return p.quoted("`")
	case p.accept("⟨"):
		return p.quoted("⟩")
	}
	word := p.word()
	if word == "" {
		return "", errors.New("nothing where a name should be")
	}
	return word, nil
}

// word takes the letters, digits and underscores that come next.
func (p *parser) word() string {
	end := 0
	for end < len(p.rest) && isWordByte(p.rest[end]) {
		end++
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func (p *parser) key(depth int) (any, error) {
	switch {
	case strings.HasPrefix(p.rest, "["), strings.HasPrefix(p.rest, "{"):
		return p.value(depth)
	case strings.HasPrefix(p.rest, "u'"), strings.HasPrefix(p.rest, `u"`):
		return p.prefixed()
	case strings.HasPrefix(p.rest, "-"):
		p.accept("-")
		return integer("-" + p.word())
	}
	quoted := strings.HasPrefix(p.rest, "`") || strings.HasPrefix(p.rest, "⟨")
	name, err := p.name()
	if err != nil || quoted || strings.Trim(name, "0123456789") != "" {
		return name, err
	}
	return integer(name)
}

func integer(digits string) (any, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not an integer of 64 bits; put a text of digits in backticks", clip(digits))
	}
	return n, nil
}

// quoted reads up to the closing mark.
func (p *parser) quoted(mark string) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexAny(p.rest, `\`+mark)
		if i < 0 {
			return "", fmt.Errorf("the closing %s is missing", mark)
		}
		b.WriteString(p.rest[:i])
		p.rest = p.rest[i:]
		if p.accept(mark) {
			return b.String(), nil
		}
		p.accept(`\`)
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
	}
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, error) {
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	switch r {
	case '\\', '`', '\'', '"', '⟩', '⟨', '/':
		return r, nil
	case '0':
		return 0, nil
	case 'b':
		return '\b', nil
	case 't':
		return '\t', nil
	case 'n':
		return '\n', nil
	case 'f':
		return '\f', nil
	case 'r':
		return '\r', nil
	case 'u':
		return p.codePoint()
	}
	return 0, fmt.Errorf(`unknown escape \%c`, r)
}

func (p *parser) codePoint() (rune, error) {
	if !p.accept("{") {
		return 0, errors.New(`want \u{…}`)
	}
	digits, rest, ok := strings.Cut(p.rest, "}")
	p.rest = rest
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || !utf8.ValidRune(rune(n)) {
		return 0, fmt.Errorf(`\u{%s} is not a character`, clip(digits))
	}
	return rune(n), nil
}

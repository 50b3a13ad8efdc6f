package surreal

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// checkID refuses record ids the server would not understand, or would quietly understand otherwise: a key of 1.5
// would become 1, one of NONE a random one.
func checkID(id RecordID) error {
	if id.Table == "" {
		return errors.New("a record id needs a table")
	}
	switch key := id.ID.(type) {
	case nil:
		return fmt.Errorf("the id of a record in %q is nil", id.Table)
	case string: // any, the empty one too: job:`` is a row like others
	case uint64:
		if key > math.MaxInt64 {
			return fmt.Errorf("the id of a record in %q is beyond the integers: %d", id.Table, key)
		}
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, UUID, []any, map[string]any:
	default:
		return fmt.Errorf("the id of a record in %q is a %T; want a string, an integer, a uuid, an array or an object", id.Table, key)
	}
	return nil
}

// FormatID is a record id as text, letter for letter what SurrealDB 3 makes of it with <string>id: job:ab12, job:7,
// job:`a-b`, job:u'018e…', job:['x', 1f, NONE], job:{ a: 1 }. [ParseID] reads it back.
func FormatID(id RecordID) string {
	var b strings.Builder
	formatID(&b, id)
	return b.String()
}

func formatID(b *strings.Builder, id RecordID) {
	formatName(b, id.Table)
	b.WriteByte(':')
	if key, ok := id.ID.(string); ok {
		formatName(b, key)
		return
	}
	formatValue(b, id.ID)
}

// formatName writes a table or a string key. It needs backticks if it could be read as something else.
func formatName(b *strings.Builder, name string) {
	if isPlainName(name) {
		b.WriteString(name)
		return
	}
	quote(b, name, '`')
}

// isPlainName reports names that stand without backticks. A name of digits would be a number.
func isPlainName(name string) bool {
	letter := false
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			letter = true
		case r >= '0' && r <= '9', r == '_':
		default:
			return false
		}
	}
	return letter && name != "NaN" && name != "Infinity"
}

// quoteName is a name as SurrealQL takes it, whatever it holds.
func quoteName(name string) string {
	var b strings.Builder
	quote(&b, name, '`')
	return b.String()
}

// quote writes a text between quotes with the escapes SurrealDB uses.
func quote(b *strings.Builder, text string, mark byte) {
	b.WriteByte(mark)
	for _, r := range text {
		switch r {
		case rune(mark), '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case 0:
			b.WriteString(`\0`)
		case '\b':
			b.WriteString(`\u{8}`)
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\f':
			b.WriteString(`\f`)
		case '\r':
			b.WriteString(`\r`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(mark)
}

// isObjectKey reports keys of objects that stand without quotes.
func isObjectKey(key string) bool {
	for i, r := range key {
		if r > unicode.MaxASCII || !(r == '_' || unicode.IsLetter(r) || i > 0 && unicode.IsDigit(r)) {
			return false
		}
	}
	return key != "" && key != "NaN" && key != "Infinity"
}

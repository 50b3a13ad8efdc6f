package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean shows characters that cannot be seen as \u{200b}: terminals obey them, and people and models
// read over them. Line ends and tabs stay; JSON escapes them.
func clean(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports characters that show nothing of themselves: control and format characters, bidirectional
// marks and tags among them, variation selectors beyond the common ones, and what has no meaning.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || unicode.Is(unicode.Zs, r):
		return false
	case r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return !unicode.IsPrint(r)
}

// cut shortens a text to at most so many bytes, and says so.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = "…"
	if most < len(mark) {
		return ""
	}
	return text[:boundary(text, most-len(mark))] + mark
}

// boundary is the last place at or before i where a character begins.
func boundary(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// encode makes JSON of a value with every text in it clean, numbers as they are.
func encode(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return cleanJSON(text)
}

func cleanJSON(text json.RawMessage) (json.RawMessage, error) {
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return plain(cleanValue(value))
}

// decode reads JSON and keeps numbers letter for letter.
func decode(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// plain writes JSON without the escapes that HTML would need.
func plain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			all[clean(key)] = cleanValue(value)
		}
		return all
	}
	return v
}

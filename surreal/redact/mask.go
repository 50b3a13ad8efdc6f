package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// short is the length, in characters, below which a value hides only whole words: it is part of too many others.
	short = 4
	// maxValues is how many values a mask looks for. With more of them it hides whole texts.
	maxValues = 1000
)

// A Mask takes the values that rules hide in some rows out of texts that may repeat them. It is one goroutine's. A nil one
// takes out nothing.
type Mask struct {
	rules  Rules
	values map[string]bool
	whole  bool
	// forms are how a text may write the values, in lower case, by their first byte and the longest first; nil until
	// they are needed.
	forms map[byte][]string
}

// Mask is one that knows of no values yet.
func (r Rules) Mask() *Mask {
	return &Mask{rules: r, values: map[string]bool{}, whole: r.hide([]string{"errors"})}
}

// Whole is a mask that hides texts whole: for those of rows whose values are not at hand.
func Whole() *Mask { return &Mask{whole: true} }

// Add notes what the rules hide in a column of a row.
func (m *Mask) Add(column string, v any) {
	if m.rules.Empty() || m.whole {
		return
	}
	m.forms = nil
	m.look([]string{strings.ToLower(column)}, v, false)
}

// look notes what stands hidden below a path, and anything where hidden is true.
func (m *Mask) look(path []string, v any, hidden bool) {
	if m.whole = m.whole || len(m.values) > maxValues; m.whole {
		return
	}
	hidden = hidden || m.rules.hide(path)
	if inner, ok := nested(v); ok {
		if hidden {
			m.values[v.(string)] = true
		}
		v = inner
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			m.look(append(slices.Clip(path), strings.ToLower(name)), inner, hidden)
		}
	case []any:
		for _, inner := range v {
			m.look(path, inner, hidden)
		}
	default:
		if text := written(v); hidden && strings.TrimSpace(text) != "" {
			m.values[text] = true
		}
	}
}

// written is a value as a text would say it, "" where it has nothing to hide: to say yes or no tells nothing.
func written(v any) string {
	switch v := v.(type) {
	case nil, bool:
		return ""
	case string:
		return v
	}
	text := string(asJSON(v))
	if text == "null" {
		return ""
	}
	return strings.Trim(text, `"`)
}

// Text is a text without the values. Of one that was cut within a value, what is left of it is hidden too, from four
// characters on.
func (m *Mask) Text(text string) string {
	switch {
	case text == "" || m == nil:
		return text
	case m.whole:
		return Shown
	case len(m.values) == 0:
		return text
	}
	if m.forms == nil {
		m.prepare()
	}
	low := lower(text)
	cuts := cutsOf(low)
	var out strings.Builder
	from := 0
	for i := 0; i < len(low); {
		for cuts[0] < i {
			cuts = cuts[1:]
		}
		n := m.at(low, i, cuts[0])
		if n == 0 {
			i++
			continue
		}
		out.WriteString(text[from:i])
		out.WriteString(Shown)
		i += n
		from = i
	}
	out.WriteString(text[from:])
	return out.String()
}

// at is the length of what is to be hidden at a place of a text, 0 for nothing. cut is where the text may have been cut.
func (m *Mask) at(text string, i, cut int) int {
	for _, form := range m.forms[text[i]] {
		if strings.HasPrefix(text[i:], form) && (utf8.RuneCountInString(form) >= short || alone(text, i, i+len(form))) {
			return len(form)
		}
		if left := text[i:cut]; len(left) >= short && strings.HasPrefix(form, left) {
			return len(left)
		}
	}
	return 0
}

// alone says whether what stands there is a word of its own.
func alone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !wordly(before) && !wordly(after)
}

func wordly(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// prepare finds the forms of the values.
func (m *Mask) prepare() {
	m.forms = map[byte][]string{}
	known := map[string]bool{}
	for value := range m.values {
		for _, form := range forms(value) {
			if form = lower(form); form != "" && !known[form] {
				known[form] = true
				m.forms[form[0]] = append(m.forms[form[0]], form)
			}
		}
	}
	for _, all := range m.forms {
		slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
}

// cutsOf are the places where a text may have been cut: before each ellipsis, and at its end.
func cutsOf(text string) []int {
	var cuts []int
	for i := range len(text) {
		if strings.HasPrefix(text[i:], "…") || strings.HasPrefix(text[i:], "...") || strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			cuts = append(cuts, i)
		}
	}
	return append(cuts, len(text))
}

// lower is a text with its ASCII letters in lower case: as long as it was.
func lower(text string) string {
	out := []byte(text)
	for i, b := range out {
		if b >= 'A' && b <= 'Z' {
			out[i] = b + 'a' - 'A'
		}
	}
	return string(out)
}

package redact

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	// short is the length, in characters, below which a value hides only whole words: it is part of too many others.
	short = 4
	// maxValues is how many values a mask looks for, and maxBytes how much of them there may be for one text, of each no
	// more than the text could hold. With more of them the text is hidden whole.
	maxValues = 1000
	maxBytes  = 256 << 10
	// maxWork is how many bytes are looked through for one text, decoded in all ways. With more it is hidden whole.
	maxWork = 1 << 20
)

// A Mask takes the values that rules hide in some rows out of texts that may repeat them. It is one goroutine's. A nil one
// takes out nothing.
type Mask struct {
	rules  Rules
	values map[string]bool
	whole  bool
	// trie finds the values in texts of up to reach bytes; nil until it is needed.
	trie  *trie
	reach int
}

// Mask is one that knows of no values yet.
func (r Rules) Mask() *Mask {
	return &Mask{rules: r, values: map[string]bool{}, whole: r.hide([]string{"errors"})}
}

// Whole is a mask that hides texts whole: for those of rows whose values are not at hand.
func Whole() *Mask { return &Mask{whole: true} }

// Add notes what the rules hide in a column of a row.
func (m *Mask) Add(column string, v any) {
	if m.whole || !m.rules.Concern(column) {
		return
	}
	m.trie = nil
	m.look([]string{strings.ToLower(column)}, v, false)
}

// look notes what stands hidden below a path, and anything where hidden is true.
func (m *Mask) look(path []string, v any, hidden bool) {
	if m.whole = m.whole || len(m.values) > maxValues; m.whole {
		return
	}
	hidden = hidden || m.rules.hide(path)
	if inner, ok, apart := nested(v); ok {
		m.whole = !apart
		m.note(v, hidden)
		m.look(path, inner, hidden)
		return
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
		m.note(v, hidden)
		if n, ok := v.(json.Number); ok { // a backend may write it otherwise than it was sent
			f, _ := n.Float64()
			m.note(f, hidden)
		}
	}
}

func (m *Mask) note(v any, hidden bool) {
	if text := written(v); hidden && strings.TrimSpace(text) != "" {
		m.values[text] = true
	}
}

// written is a value as a text would say it, "" where it has nothing to hide: to say yes or no tells nothing.
func written(v any) string {
	switch v := v.(type) {
	case nil, bool:
		return ""
	case string:
		return v
	case json.Number:
		return string(v)
	}
	text := string(asJSON(v))
	if text == "null" {
		return ""
	}
	return strings.Trim(text, `"`)
}

// Text is a text without the values. Of one that was cut within a value, what is left of it is hidden too, from four
// bytes on. Where to look for the values is more work than is bounded, the text is hidden whole.
func (m *Mask) Text(text string) string {
	switch {
	case text == "" || m == nil:
		return text
	case m.whole:
		return Shown
	case len(m.values) == 0:
		return text
	case !m.prepare(len(text)):
		return Shown
	}
	hidden := make([]int32, len(text)+1) // how many begin to be hidden there, less those that end
	work := 0
	done := plain(text).layers(func(l layer) bool {
		l = l.folded()
		m.trie.find(l.text, func(from, to int) {
			hidden[l.at[from]]++
			hidden[l.end(to)]--
		})
		work += len(l.text)
		return work <= maxWork
	})
	if !done {
		return Shown
	}
	return without(text, hidden)
}

// without is a text without what is hidden.
func without(text string, hidden []int32) string {
	var out strings.Builder
	depth, from := int32(0), 0
	for i, change := range hidden {
		was := depth
		depth += change
		switch {
		case was == 0 && depth > 0:
			out.WriteString(text[from:i])
			out.WriteString(Shown)
		case was > 0 && depth == 0:
			from = i
		}
	}
	out.WriteString(text[from:])
	return out.String()
}

// prepare makes a trie for a text of so many bytes; false where the values are too much for that.
func (m *Mask) prepare(length int) bool {
	const part = 64
	if length > maxWork {
		return false
	}
	if m.trie != nil && length+length/2 < m.reach { // to fold a text may make it longer, by a half at most
		return true
	}
	reach := (length + length/2 + part) / part * part
	sum := 0
	for v := range m.values {
		sum += min(len(v), reach)
	}
	if sum > maxBytes {
		return false
	}
	m.trie, m.reach = newTrie(m.patterns(reach)), reach
	return true
}

// patterns are the values as they stand in texts that were folded, as much of each as such a text of reach bytes may hold.
func (m *Mask) patterns(reach int) []string {
	var all []string
	for v := range m.values {
		v = plain(v[:min(len(v), 3*reach)]).folded().text // which may make it shorter, to a third at most
		all = append(all, v[:min(len(v), reach)])
		if bare := strings.TrimSpace(v); bare != v {
			all = append(all, bare[:min(len(bare), reach)])
		}
	}
	return all
}

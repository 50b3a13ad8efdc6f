package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A trie finds many values in one pass over a text, however alike they are (after Aho and Corasick).
type trie struct {
	nodes []node
	roots [256]int32
}

// A node is what a value begins with; the first is that of nothing.
type node struct {
	child, next int32 // the first that goes on from here, and the next that goes on from where this does
	fail        int32 // the longest of its ends that a value begins with, too
	link        int32 // the longest of its ends that is a value, 0 where none is
	depth       int32
	kind        kind
	b           byte
}

type kind byte

const (
	within kind = iota // of a value
	value              // hidden wherever it stands
	word               // hidden where it stands alone
)

func newTrie(values []string) *trie {
	t := &trie{nodes: make([]node, 1)}
	for _, v := range values {
		t.add(v)
	}
	t.connect()
	return t
}

func (t *trie) add(v string) {
	n := int32(0)
	for i := range len(v) {
		k := t.kid(n, v[i])
		if k == 0 {
			k = int32(len(t.nodes)) //nolint:gosec // at most maxBytes of them
			t.nodes = append(t.nodes, node{next: t.nodes[n].child, depth: t.nodes[n].depth + 1, b: v[i]})
			if t.nodes[n].child = k; n == 0 {
				t.roots[v[i]] = k
			}
		}
		n = k
	}
	if t.nodes[n].kind = value; utf8.RuneCountInString(v) < short {
		t.nodes[n].kind = word
	}
}

// kid is what goes on from a node with a byte, 0 where nothing does.
func (t *trie) kid(n int32, b byte) int32 {
	if n == 0 {
		return t.roots[b]
	}
	for k := t.nodes[n].child; k != 0; k = t.nodes[k].next {
		if t.nodes[k].b == b {
			return k
		}
	}
	return 0
}

// step is the longest end of a text that a value begins with, given that of the text without its last byte.
func (t *trie) step(n int32, b byte) int32 {
	for {
		if k := t.kid(n, b); k != 0 || n == 0 {
			return k
		}
		n = t.nodes[n].fail
	}
}

// connect finds fail and link, of the shallow before the deep.
func (t *trie) connect() {
	queue := make([]int32, 1, len(t.nodes))
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		for k := t.nodes[n].child; k != 0; k = t.nodes[k].next {
			queue = append(queue, k)
			if n != 0 {
				t.nodes[k].fail = t.step(t.nodes[n].fail, t.nodes[k].b)
			}
			fail := t.nodes[k].fail
			if t.nodes[k].link = fail; t.nodes[fail].kind == within {
				t.nodes[k].link = t.nodes[fail].link
			}
		}
	}
}

// find calls hide with the places of values in a text, and of what a cut has left of them, from short bytes on.
func (t *trie) find(text string, hide func(from, to int)) {
	n := int32(0)
	for i := range len(text) {
		n = t.step(n, text[i])
		for k := n; k != 0; k = t.nodes[k].link {
			from := i + 1 - int(t.nodes[k].depth)
			if t.nodes[k].kind == value || t.nodes[k].kind == word && alone(text, from, i+1) {
				hide(from, i+1)
				break // the others that end here are shorter
			}
		}
		if depth := int(t.nodes[n].depth); depth >= short && cutNear(text[i+1:]) {
			hide(i+1-depth, i+1)
		}
	}
}

// cutNear says whether a text was cut before this, or before the quote and the space that it begins with.
func cutNear(rest string) bool {
	for range 2 {
		if cut(rest) {
			return true
		}
		if !strings.ContainsRune("'\"` ", rune(rest[0])) {
			return false
		}
		rest = rest[1:]
	}
	return cut(rest)
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

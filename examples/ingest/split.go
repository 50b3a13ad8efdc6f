package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// An index is what a text comes to.
type index struct {
	text   text
	pages  []page
	words  int
	counts map[string]*count
	// digest names the text and how it was split.
	digest string
}

// A page is some lines of a text.
type page struct {
	text  string
	words int
}

// A count says how often a word stands in a text.
type count struct {
	word   string
	total  int
	onPage []int
}

// newIndex splits a text into pages of at most pageWords words and counts them.
func newIndex(t text, pageWords int) index {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s", pageWords, t.title, t.body))
	ix := index{text: t, counts: map[string]*count{}, digest: hex.EncodeToString(sum[:])}
	pages := split(t.body, pageWords)
	for number, content := range pages {
		found := words(content)
		ix.pages = append(ix.pages, page{text: content, words: len(found)})
		ix.words += len(found)
		for _, word := range found {
			c, ok := ix.counts[word]
			if !ok {
				c = &count{word: word, onPage: make([]int, len(pages))}
				ix.counts[word] = c
			}
			c.total++
			c.onPage[number]++
		}
	}
	return ix
}

// top is the n words that stand there most often, without the commonest of English; equals in
// alphabetical order.
func (ix index) top(n int) []*count {
	all := slices.SortedFunc(maps.Values(ix.counts), func(a, b *count) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.word, b.word))
	})
	all = slices.DeleteFunc(all, func(c *count) bool { return isCommon(c.word) })
	return all[:min(n, len(all))]
}

// split cuts a text between lines, and a line that is longer than a page between words.
func split(body string, pageWords int) []string {
	var pages, lines []string
	held := 0
	flush := func() {
		if content := strings.TrimSpace(strings.Join(lines, "\n")); content != "" {
			pages = append(pages, content)
		}
		lines, held = nil, 0
	}
	for line := range strings.Lines(body) {
		for _, part := range cut(strings.TrimRight(line, "\r\n"), pageWords) {
			n := len(words(part))
			if held+n > pageWords {
				flush()
			}
			lines = append(lines, part)
			held += n
		}
	}
	flush()
	return pages
}

// cut breaks a line into parts of at most n words.
func cut(line string, n int) []string {
	if len(words(line)) <= n {
		return []string{line}
	}
	var parts, part []string
	held := 0
	for _, field := range strings.Fields(line) {
		more := len(words(field))
		if held+more > n && held > 0 {
			parts = append(parts, strings.Join(part, " "))
			part, held = nil, 0
		}
		part = append(part, field)
		held += more
	}
	return append(parts, strings.Join(part, " "))
}

// words are the words of a text in lower case: letters and digits, with apostrophes inside.
func words(s string) []string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !isApostrophe(r)
	})
	found := fields[:0]
	for _, field := range fields {
		if word := strings.ReplaceAll(strings.TrimFunc(field, isApostrophe), "’", "'"); word != "" {
			found = append(found, word)
		}
	}
	return found
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

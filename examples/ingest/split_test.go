package main

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                                nil,
		"-- ' --":                         nil,
		"Shall I compare thee?":           {"shall", "i", "compare", "thee"},
		"summer's  'quoted' dimm'd":       {"summer's", "quoted", "dimm'd"},
		"It’s battle-field, №7 naïve":     {"it's", "battle", "field", "7", "naïve"},
		"ΑΒΓ строка 東京":                   {"αβγ", "строка", "東京"},
		"cafe\u0301 with a combining one": {"cafe\u0301", "with", "a", "combining", "one"},
	} {
		if got := words(in); !slices.Equal(got, want) {
			t.Errorf("words(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		n        int
		want     []string
	}{
		{"nothing", " \n\n", 10, nil},
		{"one page", "a b\nc d", 4, []string{"a b\nc d"}},
		{"between lines", "a b c\nd e\nf", 3, []string{"a b c", "d e\nf"}},
		{"blank lines at the edge", "a b\n\nc d", 2, []string{"a b", "c d"}},
		{"a long line between words", "a b c d e", 2, []string{"a b", "c d", "e"}},
		{"a field of many words is kept whole", "a-b-c d", 2, []string{"a-b-c", "d"}},
		{"carriage returns", "a b\r\nc", 2, []string{"a b", "c"}},
	} {
		if got := split(c.in, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: split(%q, %d) = %q, want %q", c.name, c.in, c.n, got, c.want)
		}
	}
}

// TestIndexLosesNothing holds every shipped text, split in many ways, against counting it as a whole.
func TestIndexLosesNothing(t *testing.T) {
	t.Parallel()
	all, err := texts()
	if err != nil {
		t.Fatal(err)
	}
	for name, shipped := range all {
		whole := words(shipped.body)
		for _, pageWords := range []int{10, 25, defaultPageWords, maxPageWords} {
			ix := newIndex(shipped, pageWords)
			var joined []string
			for number, p := range ix.pages {
				if p.words > pageWords {
					t.Errorf("%s: page %d has %d words, want at most %d", name, number+1, p.words, pageWords)
				}
				joined = append(joined, words(p.text)...)
			}
			if !slices.Equal(joined, whole) {
				t.Errorf("%s by %d: the pages together are not the text", name, pageWords)
			}
			for word, c := range ix.counts {
				sum := 0
				for _, n := range c.onPage {
					sum += n
				}
				if sum != c.total || len(c.onPage) != len(ix.pages) {
					t.Errorf("%s: %q stands there %d times, on its pages %v", name, word, c.total, c.onPage)
				}
			}
		}
	}
}

// TestShippedTexts counts some words that one can count by hand.
func TestShippedTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, word   string
		lines, total int
	}{
		{"sonnet-18", "summer's", 14, 2},
		{"sonnet-116", "love", 14, 3},
		{"gettysburg", "dedicated", 24, 4},
		{"tyger", "tyger", 29, 4},
	} {
		shipped, err := textNamed(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(shipped.body, "\n") + 1; got != c.lines {
			t.Errorf("%s has %d lines, want %d", c.name, got, c.lines)
		}
		if got := newIndex(shipped, defaultPageWords).counts[c.word].total; got != c.total {
			t.Errorf("%s has %q %d times, want %d", c.name, c.word, got, c.total)
		}
	}
}

func TestTop(t *testing.T) {
	t.Parallel()
	ix := newIndex(text{body: "the cat the dog the cat bird"}, 80)
	var got []string
	for _, c := range ix.top(2) {
		got = append(got, c.word)
	}
	if want := []string{"cat", "bird"}; !slices.Equal(got, want) {
		t.Errorf("top words are %q, want %q", got, want)
	}
	if n := len(ix.top(100)); n != 3 {
		t.Errorf("top(100) of 3 words that are not common has %d", n)
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"A Note": "a-note", "  It's  #1! ": "its-1", "---": "", "../x": "x"} {
		if got := slug(in); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
}

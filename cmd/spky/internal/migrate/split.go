package migrate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A statement is one SurrealQL statement as written.
type statement struct {
	text string
	line int // of its first word, from 1
	// words are its first words in upper case, with their places in text.
	words []word
}

type word struct {
	text       string
	start, end int
}

// keyword is the i-th word, "" where there is none.
func (s statement) keyword(i int) string {
	if i < len(s.words) {
		return s.words[i].text
	}
	return ""
}

// enoughWords is how many words of a statement anybody looks at.
const enoughWords = 6

// split cuts SurrealQL at the semicolons that end statements. It knows strings,
// comments and brackets, and nothing else of the language.
func split(source string) []statement {
	c := cutter{source: source, line: 1}
	for c.at < len(source) {
		c.step()
	}
	c.flush(len(source))
	return c.found
}

type cutter struct {
	source string
	at     int
	line   int
	depth  int

	start   int // of the statement
	current statement
	found   []statement
}

func (c *cutter) step() {
	rest := c.source[c.at:]
	if n := commentLen(rest); n > 0 {
		c.advance(n)
		return
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'' || r == '"' || r == '`':
		c.token(quotedLen(rest, r, size))
	case r == '⟨':
		c.token(quotedLen(rest, '⟩', size))
	case strings.ContainsRune("({[", r):
		c.depth++
		c.token(size)
	case strings.ContainsRune(")}]", r):
		c.depth = max(0, c.depth-1)
		c.token(size)
	case r == ';' && c.depth == 0:
		c.flush(c.at)
		c.advance(size)
		c.start = c.at
	case isWord(r):
		n := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(rest)
		}
		c.token(n)
	case unicode.IsSpace(r):
		c.advance(size)
	default:
		c.token(size)
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// token takes n bytes that belong to the statement.
func (c *cutter) token(n int) {
	s := &c.current
	if s.line == 0 {
		s.line = c.line
		c.start = c.at
	}
	if len(s.words) < enoughWords {
		start := c.at - c.start
		s.words = append(s.words, word{strings.ToUpper(c.source[c.at : c.at+n]), start, start + n})
	}
	c.advance(n)
}

func (c *cutter) advance(n int) {
	c.line += strings.Count(c.source[c.at:c.at+n], "\n")
	c.at += n
}

func (c *cutter) flush(end int) {
	if c.current.line > 0 {
		c.current.text = strings.TrimRightFunc(c.source[c.start:end], unicode.IsSpace)
		c.found = append(c.found, c.current)
	}
	c.current, c.depth = statement{}, 0
}

// commentLen is the length of the comment that source starts with, 0 without.
func commentLen(source string) int {
	for _, mark := range []string{"--", "//", "#"} {
		if strings.HasPrefix(source, mark) {
			if n := strings.IndexByte(source, '\n'); n >= 0 {
				return n
			}
			return len(source)
		}
	}
	if strings.HasPrefix(source, "/*") {
		if n := strings.Index(source[2:], "*/"); n >= 0 {
			return n + 4
		}
		return len(source)
	}
	return 0
}

// quotedLen is the length of a quoted text with its quotes; the opening one has
// open bytes. A text without an end goes to the end.
func quotedLen(source string, closing rune, open int) int {
	escaped := false
	for i, r := range source[open:] {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case r == closing:
			return open + i + utf8.RuneLen(r)
		}
	}
	return len(source)
}

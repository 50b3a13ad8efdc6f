package config

import "strings"

// statement is one SurrealQL statement without comments, its blanks squeezed.
type statement struct {
	text string
	line int
}

// statements splits SurrealQL at the semicolons that end statements. It knows
// strings, comments and brackets, no more: enough to look for definitions in a
// text, not to understand it.
func statements(source string) []statement {
	s := splitter{rest: source, line: 1}
	for s.rest != "" {
		s.step()
	}
	s.flush()
	return s.found
}

type splitter struct {
	rest  string
	line  int
	depth int
	text  strings.Builder
	start int // the line of the first token of the statement, 0 before it
	found []statement
}

func (s *splitter) step() {
	for _, c := range []struct{ open, close string }{
		{"--", "\n"}, {"//", "\n"}, {"#", "\n"}, {"/*", "*/"},
	} {
		if strings.HasPrefix(s.rest, c.open) {
			s.skipComment(c.open, c.close)
			return
		}
	}
	switch c := s.rest[0]; c {
	case '\'', '"', '`':
		s.take(quotedLen(s.rest))
		return
	case '{', '(', '[':
		s.depth++
	case '}', ')', ']':
		s.depth = max(0, s.depth-1)
	case ';':
		if s.depth == 0 {
			s.flush()
			s.rest = s.rest[1:]
			return
		}
	}
	s.take(1)
}

// skipComment drops a comment; the line end behind it stays.
func (s *splitter) skipComment(open, end string) {
	n := len(s.rest)
	if i := strings.Index(s.rest[len(open):], end); i >= 0 {
		n = len(open) + i
		if end != "\n" {
			n += len(end)
		}
	}
	s.line += strings.Count(s.rest[:n], "\n")
	s.rest = s.rest[n:]
	s.text.WriteByte(' ')
}

// take moves the next bytes to the statement.
func (s *splitter) take(n int) {
	part := s.rest[:n]
	if s.start == 0 && strings.TrimSpace(part) != "" {
		s.start = s.line
	}
	s.line += strings.Count(part, "\n")
	s.text.WriteString(part)
	s.rest = s.rest[n:]
}

func (s *splitter) flush() {
	if text := strings.Join(strings.Fields(s.text.String()), " "); text != "" {
		s.found = append(s.found, statement{text: text, line: s.start})
	}
	s.text.Reset()
	s.start, s.depth = 0, 0
}

// quotedLen returns the length of the quoted text at the start of source, up to
// its end when the quote is not closed.
func quotedLen(source string) int {
	if i := closingQuote(source, true); i >= 0 {
		return i + 1
	}
	return len(source)
}

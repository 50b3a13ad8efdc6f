package config

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// lineStarts returns the offset of each line, and behind them the length of
// src. It breaks lines where the YAML parser does.
func lineStarts(src []byte) []int {
	starts := []int{0}
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		i += size
		switch r {
		case '\r':
			if i < len(src) && src[i] == '\n' {
				i++
			}
			starts = append(starts, i)
		case '\n', '\u0085', '\u2028', '\u2029':
			starts = append(starts, i)
		}
	}
	if starts[len(starts)-1] != len(src) {
		starts = append(starts, len(src))
	}
	return starts
}

// offset returns the byte that a node starts at.
func (e *editor) offset(n *yaml.Node) int {
	starts := lineStarts(e.src)
	at := starts[min(n.Line-1, len(starts)-1)]
	if n.Line == 1 && bytes.HasPrefix(e.src, []byte("\ufeff")) {
		at += len("\ufeff")
	}
	for range n.Column - 1 {
		if at >= len(e.src) {
			break
		}
		_, size := utf8.DecodeRune(e.src[at:])
		at += size
	}
	return at
}

// insert returns the source with text at an offset, on a line of its own when
// it is to be a block.
func (e *editor) insert(at int, text string) []byte {
	if at > 0 && strings.HasSuffix(text, e.eol) && !endsLine(e.src[:at]) {
		text = e.eol + text
	}
	return slices.Concat(e.src[:at], []byte(text), e.src[at:])
}

func endsLine(text []byte) bool {
	last := text[len(text)-1]
	return last == '\n' || last == '\r' || bytes.Equal(text, []byte("\ufeff"))
}

// newSection adds `apps:` to a file in block style that has none: at the end,
// or before the mark that ends the document.
func (e *editor) newSection() [][]byte {
	indent := ""
	if len(e.root.Content) > 0 {
		indent = strings.Repeat(" ", e.root.Content[0].Column-1)
	}
	step := e.step()
	text := indent + "apps:" + e.eol + e.blockApp(indent+step, step)
	return [][]byte{e.insert(e.documentEnd(), text)}
}

// documentEnd is the offset of a closing `...` line, else of the end.
func (e *editor) documentEnd() int {
	starts := lineStarts(e.src)
	for i := len(starts) - 2; i >= 0; i-- {
		line := strings.TrimSpace(string(e.src[starts[i]:starts[i+1]]))
		switch {
		case line == "...":
			return starts[i]
		case line != "" && !strings.HasPrefix(line, "#"):
			return len(e.src)
		}
	}
	return len(e.src)
}

// underKey puts the app below an `apps:` line whose value is nothing or the
// given text, which is taken out.
func (e *editor) underKey(key *yaml.Node, value string) [][]byte {
	starts := lineStarts(e.src)
	begin, end := e.offset(key), starts[min(key.Line, len(starts)-1)]
	line := string(e.src[begin:end])
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return nil
	}
	head, tail := line[:colon+1], line[colon+1:]
	if value != "" {
		before, after, found := strings.Cut(tail, value)
		if !found || strings.Contains(before, "#") {
			return nil
		}
		if strings.TrimSpace(after) == "" {
			before = strings.TrimRight(before, " \t")
		}
		tail = before + after
	}
	indent := strings.Repeat(" ", key.Column-1)
	step := e.step()
	changed := slices.Concat(e.src[:begin], []byte(head+tail))
	block := e.blockApp(indent+step, step)
	if !endsLine(changed) {
		block = e.eol + block
	}
	return [][]byte{slices.Concat(changed, []byte(block), e.src[end:])}
}

// behindApps puts the app behind the last one of a block: above the blank lines
// and the comments that lead to the next key, or else right before that key.
func (e *editor) behindApps(apps *yaml.Node) [][]byte {
	starts := lineStarts(e.src)
	end := e.documentEnd()
	for i := 0; i+1 < len(e.root.Content); i += 2 {
		if at := starts[e.root.Content[i].Line-1]; at > e.offset(apps) {
			end = at
			break
		}
	}
	first := apps.Content[0]
	indent := strings.Repeat(" ", first.Column-1)
	text := e.blockApp(indent, e.step())
	nice := end
	for i := len(starts) - 2; i >= 0; i-- {
		if starts[i] >= end {
			continue
		}
		line := string(e.src[starts[i]:starts[i+1]])
		trimmed := strings.TrimSpace(line)
		outside := len(line)-len(strings.TrimLeft(line, " ")) < first.Column-1
		if trimmed != "" && (!strings.HasPrefix(trimmed, "#") || !outside) {
			break
		}
		nice = starts[i]
	}
	return [][]byte{e.insert(nice, text), e.insert(end, text)}
}

// step is the indentation that the file uses, two blanks when it shows none.
func (e *editor) step() string {
	for i := 0; i+1 < len(e.root.Content); i += 2 {
		k, v := e.root.Content[i], e.root.Content[i+1]
		if v.Kind == yaml.MappingNode && v.Style&yaml.FlowStyle == 0 && len(v.Content) > 0 {
			if n := v.Content[0].Column - k.Column; n > 0 && n <= 8 {
				return strings.Repeat(" ", n)
			}
		}
	}
	return "  "
}

// intoFlow puts an item behind the last one of a flow mapping.
func (e *editor) intoFlow(n *yaml.Node, item string) [][]byte {
	open := e.offset(n)
	if i := bytes.IndexByte(e.src[open:], '{'); i >= 0 {
		open += i // behind an anchor or tag
	}
	end, last := flowEnd(e.src, open)
	if end < 0 {
		return nil
	}
	switch e.src[last] {
	case '{':
		return [][]byte{e.insert(last+1, item)}
	case ',':
		return [][]byte{e.insert(last+1, " "+item)}
	}
	return [][]byte{e.insert(last+1, ", "+item)}
}

// flowEnd returns the offset of the brace that closes the one at open, and that
// of the last byte before it that is neither blank nor comment; -1 without one.
func flowEnd(src []byte, open int) (end, last int) {
	depth := 0
	last = open
	for i := open; i < len(src); i++ {
		switch c := src[i]; {
		case isBlank(c):
			continue
		case c == '#' && isBlank(src[i-1]): // never the first byte, that is a brace
			if i = lineEndAfter(src, i); i < 0 {
				return -1, -1
			}
			continue
		case (c == '"' || c == '\'') && startsToken(src, i):
			n := closingQuote(string(src[i:]), c == '"')
			if n < 0 {
				return -1, -1
			}
			i += n
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i, last
			}
		}
		last = i
	}
	return -1, -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// lineEndAfter returns the offset of the line end behind i, or -1.
func lineEndAfter(src []byte, i int) int {
	n := bytes.IndexByte(src[i:], '\n')
	if n < 0 {
		return -1
	}
	return i + n
}

// startsToken reports whether a quote at i opens a quoted text, rather than
// being part of a plain one.
func startsToken(src []byte, i int) bool {
	before := bytes.TrimRight(src[:i], " \t\r\n")
	return len(before) == 0 || len(before) < i || bytes.IndexByte([]byte("{[,:"), before[len(before)-1]) >= 0
}

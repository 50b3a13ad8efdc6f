package dashboard

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// turns says whether a character changes the direction in which the text after it is shown, so that a name reads as
// another one.
func turns(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// straight is a page with such characters of its texts shown as \u{202e}. In attributes they stay as they are: those are
// addresses, and what forms send.
func straight(page []byte) []byte {
	if bytes.IndexFunc(page, turns) < 0 {
		return page
	}
	var out bytes.Buffer
	var at place
	for len(page) > 0 {
		r, n := utf8.DecodeRune(page)
		if at.step(page[0]); at == between && turns(r) {
			fmt.Fprintf(&out, `\u{%x}`, r)
		} else {
			out.Write(page[:n])
		}
		page = page[n:]
	}
	return out.Bytes()
}

// A place is where in a page's markup a byte stands: between the tags, in a tag, or in a value in one kind of quotes.
// Templates write no < that is text, and no quotes within a value, as they are.
type place byte

const (
	between place = 0
	tag     place = '<'
)

func (p *place) step(b byte) {
	switch {
	case *p == between && b == '<':
		*p = tag
	case *p == tag && b == '>':
		*p = between
	case *p == tag && (b == '"' || b == '\''):
		*p = place(b)
	case *p != between && *p != tag && *p == place(b):
		*p = tag
	}
}

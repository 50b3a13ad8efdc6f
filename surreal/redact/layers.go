package redact

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLayers is how many encodings may stand within each other: JSON in JSON in a URL.
const maxLayers = 3

// A layer is a text as one reads it who decodes an encoding, and where each of its bytes stands in the text itself; the
// last place is that of its end.
type layer struct {
	text string
	at   []int32
}

func plain(text string) layer {
	at := make([]int32, len(text)+1)
	for i := range at {
		at[i] = int32(i)
	}
	return layer{text, at}
}

// A decoder reads what a text begins with: what it says, and in how many bytes; none where it is nothing encoded. What a
// cut has left of something encoded says nothing.
type decoder struct {
	marks string // what something encoded begins with
	read  func(rest string) (says string, n int)
}

var decoders = []decoder{{`\`, backslash}, {"&", entity}, {"%", percent}, {"%+", form}}

// layers calls see with a text, and with what it says to those who decode it, until see has enough.
func (l layer) layers(see func(layer) bool) bool {
	return l.deeper(maxLayers, map[string]bool{l.text: true}, see)
}

func (l layer) deeper(left int, seen map[string]bool, see func(layer) bool) bool {
	if !see(l) {
		return false
	}
	for _, d := range decoders {
		if left == 0 || !strings.ContainsAny(l.text, d.marks) {
			continue
		}
		if inner := l.decoded(d); !seen[inner.text] {
			seen[inner.text] = true
			if !inner.deeper(left-1, seen, see) {
				return false
			}
		}
	}
	return true
}

func (l layer) decoded(d decoder) layer {
	out := builder{from: l}
	for i := 0; i < len(l.text); {
		says, n := l.text[i:i+1], 1
		if strings.IndexByte(d.marks, l.text[i]) >= 0 {
			if s, m := d.read(l.text[i:]); m > 0 {
				says, n = s, m
			}
		}
		out.add(says, i)
		i += n
	}
	return out.layer()
}

// folded is a layer in which the case of letters is gone, and what is no UTF-8 is U+FFFD.
func (l layer) folded() layer {
	out := builder{from: l}
	for i, r := range l.text {
		switch {
		case r < utf8.RuneSelf:
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			out.text, out.at = append(out.text, byte(r)), append(out.at, l.at[i]) //nolint:gosec // ASCII
		case r == 'ß' || r == 'ẞ':
			out.add("ss", i)
		default:
			out.add(string(unicode.ToLower(unicode.ToUpper(r))), i)
		}
	}
	return out.layer()
}

// end is where what stands before i ends in the text itself.
func (l layer) end(i int) int32 {
	j := i
	for j < len(l.text) && l.at[j] == l.at[i-1] {
		j++
	}
	return l.at[j]
}

type builder struct {
	from layer
	text []byte
	at   []int32
}

func (b *builder) add(says string, from int) {
	b.text = append(b.text, says...)
	for range len(says) {
		b.at = append(b.at, b.from.at[from])
	}
}

func (b *builder) layer() layer {
	return layer{string(b.text), append(b.at, b.from.at[len(b.from.text)])}
}

// backslash reads what JSON, JavaScript, Go, SurrealQL and others write within quotes.
func backslash(rest string) (string, int) {
	if left := beforeCut(rest); left == `\` || len(left) > 1 && strings.Trim(left[2:], "{0123456789abcdefABCDEF") == "" && len(left) < lengths[left[1]] {
		return "", len(left)
	}
	if len(rest) < 2 {
		return "", 0
	}
	c := rest[1]
	if i := strings.IndexByte("ntrbfva0", c); i >= 0 {
		return "\n\t\r\b\f\v\a\x00"[i : i+1], 2
	}
	if n := lengths[c]; n > 0 {
		return numbered(rest, n)
	}
	if c >= utf8.RuneSelf || c >= '1' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return "", 0
	}
	return rest[1:2], 2
}

// lengths are those of what stands for a character by its number.
var lengths = [256]int{'x': 4, 'u': 6, 'U': 10}

// numbered reads a character by its number, n bytes long or in braces; two of them where that is UTF-16 of one.
func numbered(rest string, n int) (string, int) {
	digits := rest[2:min(n, len(rest))]
	if braced, ok := strings.CutPrefix(rest[2:], "{"); ok {
		digits, _, _ = strings.Cut(braced[:min(len(braced), 9)], "}")
		n = len(digits) + 4
	}
	number, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > len(rest) {
		return "", 0
	}
	r := rune(min(number, unicode.MaxRune+1))
	if utf16.IsSurrogate(r) && strings.HasPrefix(rest[n:], `\u`) {
		low, err := strconv.ParseUint(rest[n+2:min(n+6, len(rest))], 16, 32)
		if pair := utf16.DecodeRune(r, rune(low)); err == nil && pair != utf8.RuneError { //nolint:gosec // of four digits
			return string(pair), n + 6
		}
	}
	return string(r), n
}

// entity reads what HTML and XML write for a character.
func entity(rest string) (string, int) {
	const longest = 34
	n := 1
	for n < min(len(rest), longest) && (rest[n] == '#' || rest[n] < utf8.RuneSelf && wordly(rune(rest[n]))) {
		n++
	}
	if cutNear(rest[n:]) {
		return "", n
	}
	if rest[n] != ';' {
		return "", 0
	}
	if says := html.UnescapeString(rest[:n+1]); says != rest[:n+1] {
		return says, n + 1
	}
	return "", 0
}

// percent reads what URLs write for a byte.
func percent(rest string) (string, int) {
	if left := beforeCut(rest); left == "%" || len(left) == 2 && hex(left[1:]) {
		return "", len(left)
	}
	if len(rest) < 3 || !hex(rest[1:3]) {
		return "", 0
	}
	number, _ := strconv.ParseUint(rest[1:3], 16, 8) // just looked at
	return string([]byte{byte(number)}), 3
}

func hex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }

// form reads what forms send, which write a space as a plus.
func form(rest string) (string, int) {
	if rest[0] == '+' {
		return " ", 1
	}
	return percent(rest)
}

// beforeCut is what a text begins with, where it is cut within a few bytes; else "".
func beforeCut(rest string) string {
	const longest = 10
	for i := 1; i <= min(len(rest), longest); i++ {
		if cutNear(rest[i:]) {
			return rest[:i]
		}
	}
	return ""
}

// cut says whether a text was cut before this.
func cut(rest string) bool {
	return rest == "" || strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "...") || strings.HasPrefix(rest, string(utf8.RuneError))
}

package surreal

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONSize is how many bytes valid JSON has without blanks, and with no more escapes than JSON needs: \u003c counts as the
// one byte of <, \u2028 as the three of U+2028. So limits are the same for values of all languages, however their
// libraries write them. Numbers count as they are written. Of what is no JSON it says nothing of use.
func JSONSize(data []byte) int {
	size, inText := 0, false
	for i := 0; i < len(data); {
		switch b := data[i]; {
		case b == '"':
			inText = !inText
			size, i = size+1, i+1
		case inText && b == '\\':
			read, least := escape(data[i:])
			size, i = size+least, i+read
		case !inText && (b == ' ' || b == '\t' || b == '\n' || b == '\r'):
			i++
		default:
			size, i = size+1, i+1
		}
	}
	return size
}

// escape measures the escape that data begins with: its bytes, and how many its character needs.
func escape(data []byte) (read, least int) {
	switch {
	case len(data) > 1 && data[1] == '/':
		return 2, 1
	case len(data) < 2 || data[1] != 'u':
		return 2, 2
	}
	const one = len(`\u0000`)
	r := unit(data)
	switch {
	case strings.ContainsRune("\"\\\b\f\n\r\t", r):
		return one, 2
	case r < ' ':
		return one, one
	case !utf16.IsSurrogate(r):
		return one, utf8.RuneLen(r)
	case len(data) > one && data[one] == '\\' && utf16.DecodeRune(r, unit(data[one:])) != utf8.RuneError:
		return 2 * one, utf8.UTFMax
	}
	return one, one // half a pair: nothing shorter says it
}

// unit is the four digits of an escape, U+FFFD where there are none.
func unit(data []byte) rune {
	if len(data) < 6 || data[1] != 'u' {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

package redact

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// forms are how a text may write a value: as it is, and as it stands in JSON of several encoders, in quotes of Go and
// SurrealQL, in HTML and in URLs.
func forms(value string) []string {
	all := []string{value, strings.TrimSpace(value), strings.ReplaceAll(value, "'", `\'`), unquoted(strconv.Quote(value)), unquoted(strconv.QuoteToASCII(value))}
	all = append(all, jsonText(value), strings.ReplaceAll(jsonText(value), "/", `\/`), htmlSafe(value), ascii(jsonText(value)))
	return append(all, html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// jsonText is a value within JSON, as most encoders write it.
func jsonText(value string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a text always has JSON
	return unquoted(strings.TrimSuffix(out.String(), "\n"))
}

// htmlSafe is the same as Go's encoder writes it unless it is told otherwise.
func htmlSafe(value string) string {
	out, _ := json.Marshal(value) // a text always has JSON
	return unquoted(string(out))
}

// ascii is JSON of encoders that escape all but ASCII.
func ascii(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

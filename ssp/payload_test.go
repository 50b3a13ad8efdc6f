package ssp

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEncodePayload(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 90 {
		deep = []any{deep}
	}
	cases := []struct {
		payload any
		want    string // "" for an error
	}{
		{nil, "null"},
		{"", `""`},
		{" ", `" "`},
		{"null", "null"},
		{" [1] ", " [1] "},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`"text"`, `"text"`},
		{"{", `"{"`},
		{"1 2", `"1 2"`},
		{"\x00", `"\u0000"`},
		{strings.Repeat("[", 20000), `"` + strings.Repeat("[", 20000) + `"`},
		{map[string]any{}, "{}"},
		{[]any{}, "[]"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{math.NaN(), ""},
		{math.Inf(1), ""},
		{[]any{map[string]any{"a": math.NaN()}}, ""},
		{func() {}, ""},
		{deep, strings.Repeat("[", 90) + `"x"` + strings.Repeat("]", 90)},
	}
	for _, c := range cases {
		got, err := encodePayload(c.payload)
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%.40v becomes %.40q, %v; want %.40q", c.payload, got, err, c.want)
		}
	}
}

// FuzzEncodePayload has texts as users write them: whatever they are, the body is JSON, and a text that
// is JSON already stays as it is.
func FuzzEncodePayload(f *testing.F) {
	for _, seed := range []string{"", "null", "{", `{"a":[1,2.50]}`, "\xff", "\u2028", "1e999", "\\u", `"\ud800"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := encodePayload(text)
		if err != nil {
			if utf8.ValidString(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if !json.Valid(body) || json.Valid([]byte(text)) && string(body) != text {
			t.Fatalf("%q becomes %q", text, body)
		}
	})
}

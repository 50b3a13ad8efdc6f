package surreal_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// TestJSONSize measures texts as JavaScript's JSON.stringify would write them, in bytes of UTF-8.
func TestJSONSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`null`: 4, ` [ 1 , 2.50 ]` + "\n\t\r": 8, `{"a b": " c "}`: 13, `""`: 2,
		`"<>&"`: 5, `"\u003c\u003E\u0026"`: 5, "\"\u2028\u2029\"": 8, `"\u2028\u2029"`: 8, `"\/"`: 3,
		`"\""`: 4, `"\\"`: 4, `"\\u003c"`: 9, `"\n\u000a\u0022\u005C\b\u0008"`: 14, `"\u0001\u001f"`: 14, `"\u007f"`: 3,
		`"é\u00e9"`: 6, `"😀"`: 6, `"\ud83d\ude00"`: 6, `"\ud83d"`: 8, `"\ud83dx"`: 9, `"\ud83d\n"`: 10, `"\ud83d\ud83d\ude00"`: 12, `"\ude00\ud83d"`: 14,
		`{"\u003c":"\u003e"}`: 9,
		"":                    0, `"\`: 3, `"\u00`: 4,
	} {
		if got := surreal.JSONSize([]byte(text)); got != want {
			t.Errorf("%s: %d bytes, want %d", text, got, want)
		}
	}
}

// FuzzJSONSize compares it with what Go's own encoder writes, whichever way it escapes, of any text.
func FuzzJSONSize(f *testing.F) {
	f.Add("a<b>&\u2028\u2029\"\\\n\x00\x7fé😀")
	f.Fuzz(func(t *testing.T, text string) {
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err) // of a text there is none
		}
		var plain bytes.Buffer
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if err := e.Encode(text); err != nil {
			t.Fatal(err)
		}
		if a, b := surreal.JSONSize(escaped), surreal.JSONSize(plain.Bytes()); a != b || a > len(escaped) {
			t.Errorf("%q: %d bytes, else %d, of %d", text, a, b, len(escaped))
		}
	})
}

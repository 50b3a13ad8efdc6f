package ssp

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// FuzzHeaders has any text and number as a job's id: its headers are legal, nothing of the id becomes a
// header of its own, and a backend reads the id out of them.
func FuzzHeaders(f *testing.F) {
	for _, id := range []string{"ab12", "a-b", "späti/1", "\r\nX-Evil: 1", "\x00", "\xff\xfe", "`", "⟩", "%0d%0a", "💩", "", " ", strings.Repeat("x", 9000), "\u202e"} {
		f.Add(id, int64(-1))
	}
	f.Add("", int64(1)<<62)
	base, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		f.Fatal(err)
	}
	l := &lane{backend: config.Backend{BaseURL: base, AuthToken: config.NewSecret("secret")}, node: &Node{cfg: Config{Version: "v"}}}
	f.Fuzz(func(t *testing.T, text string, number int64) {
		for _, key := range []any{text, number, []any{text, number}, map[string]any{"k": text}} {
			id := surreal.FormatID(surreal.NewRecordID("job", key))
			h := l.headers(outbox.Job{}, url.PathEscape(id), 1)
			for name, values := range h {
				if len(values) != 1 || values[0] == "" || strings.ContainsFunc(name+values[0], func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Fatalf("the id %q makes the header %q: %q", id, name, values)
				}
			}
			if got, err := url.PathUnescape(h.Get("Spky-Job-Id")); err != nil || got != id || len(h) != 7 {
				t.Fatalf("the id %q arrives as %q, %v, beside %d headers", id, got, err, len(h))
			}
			if _, there := h[http.CanonicalHeaderKey("X-Evil")]; there {
				t.Fatal("a header of the id's own")
			}
		}
	})
}

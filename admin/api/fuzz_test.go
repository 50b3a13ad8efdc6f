package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"sp00ky.cloud/spky/admin"
)

// FuzzQuery has anything as the query of a list: it is refused with a hint, or within its bounds.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{
		"", "limit=5", "limit=0", "limit=-1", "limit=+5", "limit=1e1", "limit=5&limit=6", "limit=99999999999999999999", "cursor=%00", "cursor=%ff", "status=pending",
		"status=x", "stalled=true", "stalled=1", "unknown=1", ";", "&&", "=", "%", "limit=%35", "q=" + strings.Repeat("x", 1001), "q=%F0%9F%92%A9", "limit=٣", "LIMIT=5",
	} {
		f.Add(raw)
	}
	allowed := append(page(), text("q", ""), oneOf("status", "", "pending", "failed"), yesNo("stalled", ""))
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := checkQuery(raw, allowed)
		if err != nil {
			expectFault(t, raw, err)
			return
		}
		c := &call{query: query}
		if limit, cursor := c.number("limit"), query.Get("cursor"); limit < 0 || limit > admin.MaxPage || utf8.RuneCountInString(cursor) > maxID || strings.ContainsRune(cursor, 0) {
			t.Fatalf("%q gives the limit %d and the cursor %q", raw, limit, cursor)
		}
		if status := query.Get("status"); status != "" && status != "pending" && status != "failed" {
			t.Fatalf("%q gives the status %q", raw, status)
		}
		if !utf8.ValidString(query.Get("q")) {
			t.Fatalf("%q gives the text %q", raw, query.Get("q"))
		}
	})
}

// FuzzBody has anything as the body that creates a token: it is refused with a hint, or it is what its
// schema says.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", "{}{}", `{"label": "a"}`, `{"label": "a", "label": 5}`, `{"LABEL": "a"}`, `{"ttl_days": 1e400}`, `{"ttl_days": -1}`,
		`{"label": "\ud800"}`, "{\"label\": \"\xff\"}", strings.Repeat("[", 20000), `{"label": "a", "unknown": 1}`, "\xef\xbb\xbf{}", `{"ttl_days": 2.5}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		read, err := readBody(httptest.NewRecorder(), r, newToken{}, 64<<10)
		if err != nil {
			expectFault(t, body, err)
			return
		}
		if strings.TrimSpace(body) == "" && *read.(*newToken) == (newToken{}) {
			return // no body is an empty one
		}
		if len(body) > 64<<10 || !json.Valid([]byte(body)) {
			t.Fatalf("%.200q is taken as %v", body, read)
		}
	})
}

// expectFault requires an error that is the caller's own and says what to do.
func expectFault(t *testing.T, from string, err error) {
	t.Helper()
	var f *fault
	if !errors.As(err, &f) || f.status < 400 || f.status > 499 || f.Error() == "" || f.Hint == "" || !utf8.ValidString(f.Error()) {
		t.Fatalf("%.200q is refused with %#v", from, err)
	}
}

package wf

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzParseDuration has any text as a duration: it is refused with an error that shows it, or it is a time
// from 0 to what can be kept, that does not depend on spaces around it, and adds up.
func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{
		"", "5s", "30 seconds", "1 hour 30 minutes", "1 hour, 30 minutes", "1 day and 2 hours", "1 month", "2.5 h", "5", "s", "-5s", "1e3 s", "5 s,", "5s and",
		"9999999999999999999999 years", "0.0000001 ms", "٣ s", "5\u00a0s", "0Y\v", "1.s", ".5s", "1..5s", "NaN s", "Inf years", "1h1h1h", "0x10s", "1_000ms", "5 lightyears",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDuration(text)
		if err != nil {
			if got != 0 || !errors.Is(err, ErrConfig) {
				t.Fatalf("%q: %v, %v", text, got, err)
			}
			return
		}
		if got < 0 {
			t.Fatalf("%q is %v", text, got)
		}
		if again, err := ParseDuration(" " + text + " "); err != nil || again != got {
			t.Fatalf("%q is %v, with spaces around it %v, %v", text, got, again, err)
		}
		twice, err := ParseDuration(text + " " + text)
		if limit := time.Duration(1) << 60; got < limit && (err != nil || twice-2*got > 1 || 2*got-twice > 1 && float64(2*got-twice) > 1e-9*float64(got)+1) {
			t.Fatalf("%q is %v, twice that is %v, %v", text, got, twice, err)
		}
	})
}

// FuzzRequested has anything as a request for a run: what is taken for an instance's id can be one.
func FuzzRequested(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"instance": "a"}`, `{"instance": "a"} x`, `{"instance": 5}`, `{"instance": ""}`, `{"instance": "a:b"}`, `{"instance": "⟨"}`,
		`{"instance": "a\u0000"}`, `{"instance": "a\n"}`, `{"Instance": "a"}`, `{"instance": "a", "instance": "b"}`, "{\"instance\": \"\xff\"}",
		`{"instance": "` + strings.Repeat("x", 101) + `"}`, `{"instance": "-a"}`, strings.Repeat("[", 5000), `{"instance": "` + strings.Repeat("x", maxRequest) + `"}`,
	} {
		f.Add(body, "10000")
	}
	f.Add(`{}`, "-1")
	f.Add(`{}`, "99999999999999999999")
	f.Fuzz(func(t *testing.T, body, timeout string) {
		r := httptest.NewRequest("POST", route+"FLOW", strings.NewReader(body))
		r.Header.Set("Spky-Timeout-Ms", timeout)
		if got := attemptTimeout(r); got <= 0 || got > 25*day {
			t.Fatalf("a timeout of %q is %v", timeout, got)
		}
		id, err := requested(httptest.NewRecorder(), r)
		if err != nil {
			return
		}
		if id == "" || len(id) > 100 || !utf8.ValidString(id) || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || id[0] == '-' {
			t.Fatalf("%q names the instance %q", body, id)
		}
	})
}

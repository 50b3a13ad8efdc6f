package ssp

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// huge is more than any answer's body should make a node read.
const huge = 100 << 20

// pour answers with a body of 100 MB and counts what it got rid of.
func pour(status int, piece string, poured *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		block := []byte(strings.Repeat(piece, 64<<10/len(piece)))
		for poured.Load() < huge {
			n, err := w.Write(block)
			poured.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
}

func TestAnErrorPageOf100MBIsNeitherReadNorStored(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{"text": "no! ", "not UTF-8": "\xffA", "wide": "ä€"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			var poured atomic.Int64
			s := serve(t, pour(500, piece, &poured))
			r.start(s.backends())
			row := r.settled(r.job(1, "/page", map[string]any{"max_retries": 1}), "failed")
			if row.codes() != "500" {
				t.Fatalf("errors are %+v", row.Errors)
			}
			reason := row.Errors[0].Reason
			if len(reason) > maxReason || len(reason) < maxReason/4 || !utf8.ValidString(reason) {
				t.Errorf("the reason has %d bytes, valid %t; want at most %d", len(reason), utf8.ValidString(reason), maxReason)
			}
			expectStopped(r, s, &poured)
		})
	}
}

func TestASuccessOf100MBIsMarkedNotStored(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	var poured atomic.Int64
	s := serve(t, pour(200, "[1],", &poured))
	r.start(s.backends())
	row := r.settled(r.job(1, "/page", nil), "success")
	if marker, ok := row.Result.(map[string]any); !ok || marker["spky_omitted"] == nil {
		t.Errorf("result is %.200v, want a marker", row.Result)
	}
	expectStopped(r, s, &poured)
}

// expectStopped fails where the node went on reading: what the backend got rid of must be about what
// fits between two sockets.
func expectStopped(r *rig, s *service, poured *atomic.Int64) {
	r.tb.Helper()
	s.Close() // waits for the handler
	if poured.Load() >= huge/2 {
		r.tb.Errorf("the node read %d MB of the answer", poured.Load()>>20)
	}
}

func TestResultsUpToTheLimitAreStored(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	exactly, over := strings.Repeat("x", maxResult), strings.Repeat("x", maxResult+1)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/exactly" {
			_, _ = w.Write([]byte(exactly))
			return
		}
		_, _ = w.Write([]byte(over))
	})
	r.start(s.backends())
	if row := r.settled(r.job(1, "/exactly", nil), "success"); row.Result != exactly {
		t.Errorf("a body of exactly 1 MiB became %.100v", row.Result)
	}
	if row := r.settled(r.job(2, "/over", nil), "success"); row.Result == over {
		t.Error("a body of more than 1 MiB was stored")
	}
}

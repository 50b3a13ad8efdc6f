package ssp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// forever repeats bytes until the other side lets go.
func forever(head, again string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn := hijack(w)
		defer conn.Close()
		_, err := io.WriteString(conn, head)
		tick := time.NewTicker(max(pause, time.Nanosecond))
		defer tick.Stop()
		for err == nil {
			if _, err = io.WriteString(conn, again); pause > 0 {
				<-tick.C
			}
		}
	}
}

// TestHostileAnswersCostAnAttempt has backends that answer without end, as fast as they can or a byte now
// and then. Each costs its job one attempt, and no other job of the same backend anything.
func TestHostileAnswersCostAnAttempt(t *testing.T) {
	t.Parallel()
	const ok, slow = "HTTP/1.1 200 OK\r\n", 20 * time.Millisecond
	for path, answer := range map[string]http.HandlerFunc{
		"/endless-headers":    forever(ok, "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0),
		"/endless-header":     forever(ok+"X-A: ", strings.Repeat("a", 1000), 0),
		"/endless-hints":      forever("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 0),
		"/endless-status":     forever("HTTP/1.1 200 ", strings.Repeat("a", 1000), 0),
		"/endless-extension":  forever(ok+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("a", 1000), 0),
		"/endless-trailers":   forever(ok+"Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n1\r\n1\r\n0\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0),
		"/one-byte-chunks":    forever(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("a", 200)+"\r\na\r\n", 0),
		"/trickling-status":   forever("HTTP/1.1 200 ", "a", slow),
		"/trickling-header":   forever(ok+"X-A: ", "a", slow),
		"/trickling-body":     forever(ok+"Content-Length: 1000000\r\n\r\n", "a", slow),
		"/trickling-hints":    forever("", "HTTP/1.1 103 Early Hints\r\n\r\n", slow),
		"/trickling-error":    forever("HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n", "a", slow),
		"/two-lengths":        raw(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n12"),
		"/negative-length":    raw(ok + "Content-Length: -1\r\n\r\n12"),
		"/length-of-2^64":     raw(ok + "Content-Length: 18446744073709551616\r\n\r\n12"),
		"/split-by-a-newline": raw("HTTP/1.1 200 OK\nX-A\n\n12"),
	} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			s := serve(t, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == path {
					at(answer, text(`"ok"`))(w, q)
				}
			})
			r.start(s.backends(func(b *config.Backend) { b.Timeout = time.Second }))
			hostile, beside := r.job("x", path, nil), r.job("beside", "/beside", nil)
			if row := r.settled(beside, "success"); row.Retries != 0 {
				t.Errorf("the job beside it is %+v", row)
			}
			row := r.settled(hostile, "success")
			if row.Retries != 1 || len(row.Errors) != 1 || row.Result != "ok" {
				t.Errorf("the job is %+v, want one failed attempt and then success", row)
			}
			if len(row.Errors) == 1 && len(row.Errors[0].Reason) > maxReason {
				t.Errorf("the reason has %d bytes", len(row.Errors[0].Reason))
			}
		})
	}
}

// bomb answers with a gigabyte that travels as one megabyte: a thousand times the same part.
func bomb(t *testing.T, status int) http.HandlerFunc {
	t.Helper()
	var part bytes.Buffer
	z := gzip.NewWriter(&part)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	all := bytes.Repeat(part.Bytes(), 1<<10)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		_, _ = w.Write(all) // whoever asked may be gone
	}
}

// TestDecompressionBombsAreCut has answers that are a thousand times as long as they travel.
func TestDecompressionBombsAreCut(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	success, failure := bomb(t, 200), bomb(t, 500)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/success" {
			success(w, q)
			return
		}
		failure(w, q)
	})
	r.start(s.backends())
	good, bad := r.job("good", "/success", nil), r.job("bad", "/failure", map[string]any{"max_retries": 1})
	if row := r.settled(good, "success"); fmt.Sprint(row.Result) != "map[spky_omitted:the answer's body is larger than 1 MiB]" {
		t.Errorf("the result is %.200v", row.Result)
	}
	if row := r.settled(bad, "failed"); len(row.Errors) != 1 || len(row.Errors[0].Reason) > maxReason {
		t.Errorf("the errors are %.200v", row.Errors)
	}
}

// TestNothingOfAnAnswerIsSentOn has a backend that sets cookies, and asks for others' by a redirect: no
// later request of any job carries them.
func TestNothingOfAnAnswerIsSentOn(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Set-Cookie", "session=evil; Path=/")
		w.Header().Set("Authorization", "Bearer evil")
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		if len(q.Header["Spky-Attempt"]) == 1 && q.Header.Get("Spky-Attempt") == "1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	r.start(s.backends())
	for _, id := range []string{"one", "two"} {
		r.settled(r.job(id, "/x", nil), "success")
	}
	for _, request := range s.requests() {
		if request.Header.Get("Cookie") != "" || strings.Contains(request.Header.Get("Authorization"), "evil") || strings.Contains(request.Header.Get("Authorization"), "Basic") {
			t.Errorf("a request carries %v", request.Header)
		}
	}
	if got := len(s.requests()); got != 4 {
		t.Errorf("%d requests, want 4", got)
	}
}

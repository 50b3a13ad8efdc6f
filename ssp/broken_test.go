package ssp

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// raw answers with exactly these bytes and closes the connection.
func raw(bytes string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn := hijack(w)
		_, _ = io.WriteString(conn, bytes)
		_ = conn.Close()
	}
}

// stuck answers with exactly these bytes and then holds the connection until the other side lets go.
func stuck(bytes string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn := hijack(w)
		_, _ = io.WriteString(conn, bytes)
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
}

// reset answers with a TCP reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn := hijack(w)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

// TestReportJ30BrokenAnswersAreFailedAttemptsWithOneIdempotencyKey shows that each way in which an answer breaks off costs one
// attempt, and that the job is sent again with the same idempotency key.
func TestReportJ30BrokenAnswersAreFailedAttemptsWithOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"/closed":       raw(""),
		"/reset":        reset,
		"/garbage":      raw("\x00\xff\x16\x03garbage\r\n\r\n"),
		"/cut-head":     raw("HTTP/1.1 200 OK\r\nContent-Le"),
		"/cut-body":     raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":"),
		"/cut-chunk":    raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nhalf"),
		"/huge-head":    raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 200<<10) + "\r\n\r\n"),
		"/bad-gzip":     raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nnotgzip"),
		"/hangs":        stuck(""),
		"/hangs-inside": stuck("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":"),
		"/switches":     stuck("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
	}
	for path, answer := range answers {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			s := serve(t, at(answer, text(`"ok"`)))
			r.start(s.backends(func(b *config.Backend) { b.Timeout = time.Second }))
			row := r.settled(r.job("x", path, nil), "success")
			if row.Retries != 1 || len(row.Errors) != 1 || row.Result != "ok" {
				t.Fatalf("job is %+v, want one failed attempt and then success", row)
			}
			requests := s.requests()
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2: net/http must not repeat any by itself", len(requests))
			}
			keys := [2]string{requests[0].Header.Get("Idempotency-Key"), requests[1].Header.Get("Idempotency-Key")}
			if keys[0] == "" || keys[0] != keys[1] {
				t.Errorf("idempotency keys are %q", keys)
			}
		})
	}
}

// TestAReusedConnectionThatBreaksIsNotSilentlyUsedAgain guards against net/http sending a request
// twice: an attempt is one request.
func TestAReusedConnectionThatBreaksIsNotSilentlyUsedAgain(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/breaks" {
			reset(w, q)
		}
	})
	r.start(s.backends())
	r.settled(r.job("warm", "/warm", nil), "success")
	row := r.settled(r.job("x", "/breaks", map[string]any{"max_retries": 1}), "failed")
	if got := len(s.requests("/breaks")); got != 1 || row.Retries != 1 {
		t.Errorf("%d requests and %d retries, want one of each", got, row.Retries)
	}
}

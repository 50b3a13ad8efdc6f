package mcp

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// TestHTTP shows how the server answers over HTTP: POST alone, plain JSON, no sessions, bounded.
func TestHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := httptest.NewServer(r.server.Handler())
	t.Cleanup(server.Close)
	for _, c := range []struct {
		what, method, body string
		status             int
		contains           string
	}{
		{"a call", http.MethodPost, ping, http.StatusOK, `"result":{}`},
		{"a listing", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK, `"name":"overview"`},
		{"a listing that no proxy may share", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK, `"cacheScope":"private"`},
		{"a stream", http.MethodGet, "", http.StatusMethodNotAllowed, ""},
		{"the end of a session", http.MethodDelete, "", http.StatusMethodNotAllowed, ""},
		{"nonsense", http.MethodPost, "{", http.StatusBadRequest, ""},
		{"too much", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", maxBody) + `"}}`, http.StatusRequestEntityTooLarge, ""},
	} {
		answer, body := r.http(c.method, server.URL, "", c.body)
		if answer.StatusCode != c.status || !strings.Contains(body, c.contains) || answer.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s %s\n%.300s", c.what, answer.Status, answer.Header, body)
		}
		if c.status == http.StatusOK && answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: the answer is %s", c.what, answer.Header.Get("Content-Type"))
		}
	}
}

// TestHosts shows that a web page that calls itself localhost gets nothing where no secret is asked for,
// and that a proxy's name is fine where one is.
func TestHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	guarded := New(Config{Instances: r.durable, Authenticated: true})
	t.Cleanup(guarded.Close)
	for _, c := range []struct {
		handler http.Handler
		host    string
		status  int
	}{
		{r.server.Handler(), "evil.example.com", http.StatusForbidden},
		{r.server.Handler(), "localhost:1", http.StatusOK},
		{guarded.Handler(), "spky.example.com", http.StatusOK},
	} {
		server := httptest.NewServer(c.handler)
		answer, body := r.http(http.MethodPost, server.URL, c.host, ping)
		if answer.StatusCode != c.status {
			t.Errorf("%s: %s\n%s", c.host, answer.Status, body)
		}
		server.Close()
	}
}

// TestOrigins shows that a web page of another host gets nothing, whatever it knows and calls itself.
func TestOrigins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	guarded := New(Config{Instances: r.durable, Authenticated: true})
	t.Cleanup(guarded.Close)
	for _, handler := range []http.Handler{r.server.Handler(), guarded.Handler()} {
		server := httptest.NewServer(handler)
		for origin, want := range map[string]int{
			"": http.StatusOK, "http://localhost:6274": http.StatusOK, "http://127.0.0.1": http.StatusOK, "http://[::1]:1": http.StatusOK, "vscode-file://app": http.StatusOK,
			"https://evil.example.com": http.StatusForbidden, "http://localhost.evil.example.com": http.StatusForbidden, "null": http.StatusForbidden, "HTTP://evil.example.com:80": http.StatusForbidden, "::": http.StatusForbidden,
		} {
			answer, body := r.http(http.MethodPost, server.URL, "", ping, "Origin", origin)
			if answer.StatusCode != want {
				t.Errorf("%q: %s\n%s", origin, answer.Status, body)
			}
		}
		server.Close()
	}
	server := httptest.NewServer(guarded.Handler())
	defer server.Close()
	if answer, _ := r.http(http.MethodPost, server.URL, "evil.example.com", ping, "Origin", "http://evil.example.com"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a name bound anew: %s", answer.Status)
	}
}

// TestRequestsAreNotLogged shows that a request, and a client that comes and goes, are nothing to log.
func TestRequestsAreNotLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log strings.Builder
	server := New(Config{Instances: r.durable, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	listener := httptest.NewServer(server.Handler())
	if answer, body := r.http(http.MethodPost, listener.URL, "", ping); answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", answer.Status, body)
	}
	listener.Close()
	server.Close()
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}

// http sends a request with headers, given as names and values, and reads the answer.
func (r *rig) http(method, url, host, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.ctx, method, url, strings.NewReader(body))
	r.check(err)
	q.Host = host
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			q.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := http.DefaultClient.Do(q)
	r.check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	r.check(err)
	return answer, string(text)
}

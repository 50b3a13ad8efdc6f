package ssp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"sp00ky.cloud/spky/config"
)

// A request is one that a backend received.
type request struct {
	Method, Path, URI string
	Header            http.Header
	Body              string
}

// A service is a real HTTP backend that notes what it receives before its handler answers.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	seen []request
}

// serve starts a service; a nil handler answers 200 with no body.
func serve(tb testing.TB, handler http.HandlerFunc) *service {
	tb.Helper()
	s := newService(handler)
	s.Start()
	tb.Cleanup(s.Close)
	return s
}

func newService(handler http.HandlerFunc) *service {
	s := &service{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken body is what the test looks at
		s.mu.Lock()
		s.seen = append(s.seen, request{r.Method, r.URL.Path, r.RequestURI, r.Header.Clone(), string(body)})
		s.mu.Unlock()
		if handler != nil {
			handler(w, r)
		}
	}))
	return s
}

// backend describes the service as the backend of table job.
func (s *service) backend(change ...func(*config.Backend)) config.Backend {
	return backend(s.URL, change...)
}

func (s *service) backends(change ...func(*config.Backend)) []config.Backend {
	return []config.Backend{s.backend(change...)}
}

// requests are those received so far; with paths, those to these paths.
func (s *service) requests(paths ...string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []request
	for _, r := range s.seen {
		if len(paths) == 0 || contains(paths, r.Path) {
			found = append(found, r)
		}
	}
	return found
}

func contains(all []string, one string) bool {
	for _, have := range all {
		if have == one {
			return true
		}
	}
	return false
}

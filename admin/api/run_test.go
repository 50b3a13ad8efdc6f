package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// run serves the rig's API at an address, until the function it returns is called.
func (r *rig) run(change func(*Server)) (stop func() error) {
	r.t.Helper()
	cfg := r.api.cfg
	cfg.Listen = "127.0.0.1:0"
	s, err := New(cfg)
	r.check(err)
	change(s)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-ended:
		r.t.Fatalf("it ended: %v", err)
	}
	r.api, r.url = s, "http://"+s.Address()
	return func() error { cancel(); return <-ended }
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.run(func(s *Server) { s.grace = 2 * patience }) // nothing needs it
	if got := r.get("/me"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	next, _ := r.listen("/logs")
	if err := stop(); err != nil {
		t.Error(err)
	}
	for e := next(); e != (heard{}); e = next() {
		if e.name == "end" || e.name == "error" {
			t.Errorf("the end of the server is told as %+v", e)
		}
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
	r.check(r.ctx.Err())
}

func TestRunSaysThatTheAddressIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := r.api.cfg
	cfg.Listen = strings.TrimPrefix(r.url, "http://")
	s, err := New(cfg)
	r.check(err)
	var op *net.OpError
	if err := s.Run(r.ctx); !errors.As(err, &op) || !strings.Contains(err.Error(), "listen on "+cfg.Listen) {
		t.Errorf("%v", err)
	}
}

// TestStreamsOutliveTheTimeForBodies keeps a stream for several times as long as a request may take to arrive.
func TestStreamsOutliveTheTimeForBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const patienceForBodies = 100 * time.Millisecond
	stop := r.run(func(s *Server) { s.readTimeout = patienceForBodies })
	defer func() { r.check(stop()) }()
	next, _ := r.listen("/logs?q=line")
	for begun := time.Now(); time.Since(begun) < 10*patienceForBodies; {
		r.api.log.Info("a line")
		if e := next(); e.name != "log" {
			t.Fatalf("after %v the stream has %+v", time.Since(begun), e)
		}
		<-time.After(patienceForBodies / 2)
	}
}

// TestRunStartsAndStops does so again and again, while clients ask and listen.
func TestRunStartsAndStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.instance("watched")
	for range 30 {
		stop := r.run(func(s *Server) { s.grace = 2 * patience })
		address := r.url
		asking, done := context.WithCancel(r.ctx)
		var clients sync.WaitGroup
		for n := range 8 {
			clients.Go(func() {
				for asking.Err() == nil {
					path := []string{"/me", "/jobs", "/durable/instances/watched/stream", "/logs"}[n%4]
					request, err := http.NewRequestWithContext(asking, http.MethodGet, address+"/admin/api"+path, nil)
					if err != nil {
						t.Error(err)
						return
					}
					request.Header.Set("Authorization", "Bearer "+readSecret)
					answer, err := http.DefaultClient.Do(request)
					if err != nil {
						continue // it has stopped
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			})
		}
		r.get("/me")
		if err := stop(); err != nil {
			t.Error(err)
		}
		done()
		clients.Wait()
	}
	r.check(r.ctx.Err())
}

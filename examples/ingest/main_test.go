package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestStop shows that a request in flight is answered when the process is asked to stop, and that
// serve waits for it.
func TestStop(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	ctx, stop := context.WithCancel(t.Context())
	var all errgroup.Group
	all.Go(func() error { return serve(ctx, listener, slow, slog.New(slog.DiscardHandler)) })
	answer := make(chan string, 1)
	all.Go(func() error {
		defer close(answer)
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://"+listener.Addr().String(), http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		answer <- string(body)
		return err
	})
	<-arrived
	stop()
	for { // the listener closes first
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(release)
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "done" {
		t.Errorf("the request in flight was answered %q", got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	lookup := func(name string) string { return env[name] }
	if _, err := readSettings(lookup); err == nil || !strings.Contains(err.Error(), "API_AUTH_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	env["API_AUTH_TOKEN"] = "secret"
	s, err := readSettings(lookup)
	if err != nil || s.listen != "127.0.0.1:3660" || s.db.Endpoint != "ws://127.0.0.1:8666" || s.db.Namespace != "main" {
		t.Errorf("defaults: %+v, %v", s, err)
	}
	env["HOST"], env["PORT"], env["SPKY_DB_WS"] = "::", "80", "ws://db:8000"
	if s, err = readSettings(lookup); err != nil || s.listen != "[::]:80" || s.db.Endpoint != "ws://db:8000" {
		t.Errorf("given: %+v, %v", s, err)
	}
}

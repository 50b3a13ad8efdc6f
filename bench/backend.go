package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A backend answers every job at once and remembers when it got it.
type backend struct {
	url    string
	server *http.Server
	done   chan struct{}

	requests, now, peak atomic.Int64

	gate atomic.Pointer[chan struct{}] // requests wait until it is closed; see hold

	mu      sync.Mutex // guards waiting
	waiting map[string]chan time.Time
}

func newBackend() (*backend, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return nil, err
	}
	b := &backend{url: "http://" + listener.Addr().String(), done: make(chan struct{}), waiting: map[string]chan time.Time{}}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(b.done)
		if err := b.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // a bench without its backend has nothing to say
		}
	}()
	return b, nil
}

func (b *backend) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = b.server.Shutdown(ctx) // whoever is left is ours
	_ = b.server.Close()
	<-b.done
}

// ServeHTTP answers {"ok":true}.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	b.requests.Add(1)
	if now := b.now.Add(1); now > b.peak.Load() {
		b.peak.Store(now)
	}
	defer b.now.Add(-1)
	b.mu.Lock()
	if waiter, ok := b.waiting[r.Header.Get("Spky-Job-Id")]; ok {
		waiter <- at // room for one
		delete(b.waiting, r.Header.Get("Spky-Job-Id"))
	}
	b.mu.Unlock()
	if gate := b.gate.Load(); gate != nil {
		select {
		case <-*gate:
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true}`)) // the node has gone: nothing to measure
}

// await answers when the job of that id arrives.
func (b *backend) await(id string) <-chan time.Time {
	waiter := make(chan time.Time, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[id] = waiter
	return waiter
}

// hold lets requests wait, from now on, until the function that it answers with is called.
func (b *backend) hold() (release func()) {
	gate := make(chan struct{})
	b.gate.Store(&gate)
	return sync.OnceFunc(func() {
		b.gate.Store(nil)
		close(gate)
	})
}

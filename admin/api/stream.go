package api

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Times of streams.
const (
	// keepAlive is how often something is sent where nothing happens, so that proxies and clients know
	// that the other side lives.
	keepAlive = 15 * time.Second
	// patienceForReader is how long a write may take before its reader is given up.
	patienceForReader = 20 * time.Second
)

// A stream sends server-sent events. Its headers go out with the first of them, so that what is wrong
// from the beginning can still be an ordinary answer.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{w: w, control: http.NewResponseController(w)}
}

func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // else nginx waits until there is more
	s.w.WriteHeader(http.StatusOK)
}

// event sends one; id is "" for none.
func (s *stream) event(name, id string, data any) error {
	text, err := plainJSON(data)
	if err != nil {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	line := "event: " + name + "\n"
	if id != "" {
		line += "id: " + id + "\n"
	}
	return s.write(line + "data: " + string(text) + "\n\n") // JSON has no line ends
}

func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(patienceForReader)) // where the writer has none, the connection's end counts
	s.begin()
	if _, err := s.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// follow sends what a reader gets with send, until nothing follows, the client is gone, or the server
// stops.
func follow[T any](ctx context.Context, s *stream, r *reader[T], send func(T) error) error {
	defer r.leave()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		select {
		case <-r.changed:
		case <-alive.C:
			if err := s.write(": still here\n\n"); err != nil {
				return err
			}
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		now := r.take()
		if now.lost {
			if err := s.event("lost", "", struct{}{}); err != nil {
				return err
			}
		}
		for _, v := range now.values {
			if err := send(v); err != nil {
				return err
			}
		}
		switch {
		case now.err != nil:
			return now.err
		case now.ended:
			return s.event("end", "", struct{}{})
		}
	}
}

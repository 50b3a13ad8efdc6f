package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// silence is how long a stream may say nothing before it counts as broken; the server says something
	// every 15 s.
	silence = 45 * time.Second
	// maxLine bounds a line of a stream.
	maxLine = 16 << 20
	// pause is the time between two attempts to take up a broken stream, at most.
	maxPause = 5 * time.Second
)

// errEnded says that a stream has told that nothing follows.
var errEnded = errors.New("the stream ended")

// follow tells the events of a stream until the server says that nothing follows, tell errs, or ctx
// ends. A stream that breaks off after it has said something is taken up again.
func (c *Client) follow(ctx context.Context, path string, tell func(name string, data []byte) error) error {
	return c.followFrom(ctx, path, func() error { return nil }, tell)
}

// followFrom is follow with begun called whenever a stream has begun.
func (c *Client) followFrom(ctx context.Context, path string, begun func() error, tell func(name string, data []byte) error) error {
	last := ""
	pause := 100 * time.Millisecond
	for began := false; ; {
		heard := false
		err := c.listen(ctx, path, &last, func() error {
			heard, began, pause = true, true, 100*time.Millisecond
			return begun()
		}, tell)
		var broken *UnreachableError
		var refused *Error
		away := errors.As(err, &broken) || errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable
		switch {
		case errors.Is(err, errEnded):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !away, !began:
			return err
		}
		if !heard {
			pause = min(2*pause, maxPause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen reads one stream; last is the id of the event that was heard last.
func (c *Client) listen(ctx context.Context, path string, last *string, begun func() error, tell func(name string, data []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	answer, err := c.send(ctx, http.MethodGet, path, nil, "text/event-stream", "Last-Event-ID", *last)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := begun(); err != nil {
		return err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var name string
	var data []byte
	for lines.Scan() {
		quiet.Reset(silence)
		line := lines.Bytes()
		switch {
		case len(line) == 0 && name != "":
			if err := dispatch(name, data, tell); err != nil {
				return err
			}
			name, data = "", nil
		case bytes.HasPrefix(line, []byte("event: ")):
			name = string(line[len("event: "):])
		case bytes.HasPrefix(line, []byte("id: ")):
			*last = string(line[len("id: "):])
		case bytes.HasPrefix(line, []byte("data: ")):
			data = bytes.Clone(line[len("data: "):])
		}
	}
	if err = lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return &UnreachableError{URL: c.base, Err: fmt.Errorf("the stream broke off: %w", err)}
}

// dispatch tells an event, or makes it the error that it stands for.
func dispatch(name string, data []byte, tell func(name string, data []byte) error) error {
	switch name {
	case "end":
		return errEnded
	case "error":
		var f fault
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("an error of the stream: %w", err)
		}
		return f.err(http.StatusOK)
	}
	return tell(name, data)
}

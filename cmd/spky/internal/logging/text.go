package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// text writes a line for people: the time of day, the level, the message, and
// the attributes as slog writes them.
type text struct {
	shared *sink
	attrs  slog.Handler // writes the attributes to the sink's buffer
	style  render.Style
}

// sink is what all handlers of one logger share.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
	w   io.Writer
}

func newText(w io.Writer, o Options) *text {
	s := &sink{w: w}
	omit := append([]string{slog.TimeKey, slog.LevelKey, slog.MessageKey}, o.Omit...)
	attrs := slog.NewTextHandler(&s.buf, &slog.HandlerOptions{
		Level: slog.LevelDebug - 100,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && slices.Contains(omit, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	})
	return &text{shared: s, attrs: attrs, style: render.Colored(o.Color)}
}

// Enabled leaves the choice to the filter around it.
func (t *text) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one line in one piece.
func (t *text) Handle(ctx context.Context, r slog.Record) error {
	s := t.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Reset()
	if err := t.attrs.Handle(ctx, r); err != nil {
		return err
	}
	line := append(make([]byte, 0, 64+len(r.Message)+s.buf.Len()), t.style.Dim(r.Time.Format("15:04:05.000"))...)
	line = append(line, ' ')
	line = append(line, t.word(r.Level)...)
	line = append(line, ' ')
	line = append(line, render.Printable(r.Message)...)
	if s.buf.Len() > 1 {
		line = append(line, ' ')
	}
	line = append(line, s.buf.Bytes()...)
	_, err := s.w.Write(line)
	return err
}

func (t *text) word(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return t.style.Red("ERROR")
	case l >= slog.LevelWarn:
		return t.style.Yellow("WARN ")
	case l >= slog.LevelInfo:
		return t.style.Green("INFO ")
	}
	return t.style.Dim("DEBUG")
}

func (t *text) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &text{shared: t.shared, attrs: t.attrs.WithAttrs(attrs), style: t.style}
}

func (t *text) WithGroup(name string) slog.Handler {
	return &text{shared: t.shared, attrs: t.attrs.WithGroup(name), style: t.style}
}

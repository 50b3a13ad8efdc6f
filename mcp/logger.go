package mcp

import (
	"context"
	"log/slog"
)

// A quieter logger tells of the protocol's everyday life, such as each request that comes and goes, only
// to whoever debugs it.
type quieter struct{ slog.Handler }

func (q quieter) level(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

// Enabled is [slog.Handler]'s.
func (q quieter) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, q.level(l))
}

// Handle is [slog.Handler]'s.
func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = q.level(r.Level)
	return q.Handler.Handle(ctx, r)
}

// WithAttrs is [slog.Handler]'s.
func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

// WithGroup is [slog.Handler]'s.
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

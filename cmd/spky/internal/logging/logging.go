// Package logging makes the program's logger: one line of text for people, or
// JSON for machines, with a level for everything and others for single
// packages.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/config"
)

// Options say what a logger writes. The zero value writes info and above as
// text.
type Options struct {
	// Directives as in config.LogLevel: "info", or "warn,ssp=debug", where a
	// target is the name of a package. Defaults to "info".
	Directives string
	// JSON writes one JSON object a line instead of text.
	JSON bool
	// Color colours the level in text.
	Color bool
	// Omit are attributes that text leaves out.
	Omit []string
	// Keep keeps the newest lines. Defaults to nowhere.
	Keep *logs.Ring
}

// New makes a logger that writes to w.
func New(w io.Writer, o Options) (*slog.Logger, error) {
	if o.Directives == "" {
		o.Directives = "info"
	}
	name, targets, err := config.ParseLogLevel(o.Directives)
	if err != nil {
		return nil, fmt.Errorf("set up the log: %w", err)
	}
	l := levels{all: level(name), of: map[string]slog.Level{}}
	l.least = l.all
	for target, name := range targets {
		l.of[target] = level(name)
		l.least = min(l.least, l.of[target])
	}
	var h slog.Handler = newText(w, o)
	if o.JSON {
		h = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l.least})
	}
	if o.Keep != nil {
		h = o.Keep.Handler(h)
	}
	return slog.New(&filter{Handler: h, levels: l}), nil
}

// off is above every level.
const off = slog.Level(127)

func level(name string) slog.Level {
	switch name {
	case "trace":
		return slog.LevelDebug - 4
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	case "off":
		return off
	}
	return slog.LevelInfo
}

// levels is the level for everything and those of packages; least is the
// lowest of all.
type levels struct {
	all, least slog.Level
	of         map[string]slog.Level
}

// filter drops what is below the level of the package that logs.
type filter struct {
	slog.Handler
	levels levels
}

func (f *filter) Enabled(_ context.Context, l slog.Level) bool { return l >= f.levels.least }

func (f *filter) Handle(ctx context.Context, r slog.Record) error {
	least := f.levels.all
	if len(f.levels.of) > 0 {
		if own, ok := f.levels.of[logs.Source(r.PC)]; ok {
			least = own
		}
	}
	if r.Level < least {
		return nil
	}
	return f.Handler.Handle(ctx, r)
}

func (f *filter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &filter{Handler: f.Handler.WithAttrs(attrs), levels: f.levels}
}

func (f *filter) WithGroup(name string) slog.Handler {
	return &filter{Handler: f.Handler.WithGroup(name), levels: f.levels}
}

package logs

import (
	"context"
	"log/slog"
	"strings"
)

// Bounds of a line.
const (
	maxMessage    = 2 << 10
	maxAttribute  = 1 << 10
	maxAttributes = 24
)

// Handler is a handler that keeps what it hands on to the next.
func (r *Ring) Handler(next slog.Handler) slog.Handler { return &handler{ring: r, next: next} }

type handler struct {
	ring   *Ring
	next   slog.Handler
	prefix string
	attrs  []pair
}

type pair struct{ name, value string }

// Enabled leaves the choice to the next handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle keeps a line, and hands it on.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	attrs := h.attrs[:len(h.attrs):len(h.attrs)]
	record.Attrs(func(a slog.Attr) bool {
		attrs = flat(attrs, h.prefix, a)
		return len(attrs) < maxAttributes
	})
	h.ring.add(Line{
		At: record.Time.UTC(), Level: word(record.Level), Source: Source(record.PC),
		Message: cut(record.Message, maxMessage), Attributes: named(attrs),
	})
	return h.next.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		more = flat(more, h.prefix, a)
	}
	return &handler{h.ring, h.next.WithAttrs(attrs), h.prefix, more}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.ring, h.next.WithGroup(name), h.prefix + name + ".", h.attrs}
}

// flat adds an attribute, or those of a group.
func flat(all []pair, prefix string, a slog.Attr) []pair {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" || len(all) >= maxAttributes {
			return all
		}
		return append(all, pair{prefix + a.Key, cut(v.String(), maxAttribute)})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, inner := range v.Group() {
		all = flat(all, prefix, inner)
	}
	return all
}

func named(attrs []pair) map[string]string {
	if len(attrs) == 0 {
		return nil
	}
	all := make(map[string]string, len(attrs))
	for _, a := range attrs {
		all[a.name] = a.value
	}
	return all
}

// cut is a text as JSON can hold it, of at most so many bytes.
func cut(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

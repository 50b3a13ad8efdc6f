package api

import (
	"context"
	"net/http"
	"strconv"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/logs"
)

// Logs is where the log of the process is; a [logs.Ring] is one.
type Logs interface {
	Recent(ctx context.Context, f logs.Filter) ([]logs.Line, error)
	Follow(ctx context.Context, f logs.Filter, tell func(logs.Line) error) error
}

type lines struct {
	Lines []logs.Line `json:"lines" jsonschema:"the oldest first"`
}

// logRoutes show the log of this process.
func (s *Server) logRoutes() []route {
	query := []param{
		oneOf("level", "The lowest level that is wanted.", logs.Levels()...), text("source", "Only lines of this package."),
		text("q", "Only lines with this in their message."), number("limit", "How many of the lines that are kept at most.", 1, admin.MaxPage),
		number("after", "Only lines after that of this number.", 0, 1<<53),
	}
	return []route{
		{
			method: http.MethodGet, path: "/logs/recent", name: "recentLogs", tag: "logs", scope: scopeRead, query: query,
			says:   "The newest lines of this process's log: 100 by default, as far as they are kept.",
			answer: lines{}, serve: func(c *call) (any, error) {
				f := logFilter(c)
				if f.Limit == 0 {
					f.Limit = 100
				}
				all, err := s.cfg.Logs.Recent(c.r.Context(), f)
				if all == nil {
					all = []logs.Line{}
				}
				return lines{all}, err
			},
		},
		{
			method: http.MethodGet, path: "/logs", name: "streamLogs", tag: "logs", scope: scopeRead, query: query,
			says:   "The log of this process as it is written, after what is kept of it. Whoever comes back with Last-Event-ID goes on where he was.",
			events: map[string]any{"log": logs.Line{}}, streams: s.streamLogs,
		},
	}
}

func logFilter(c *call) logs.Filter {
	f := logs.Filter{Level: c.text("level"), Source: c.text("source"), Query: c.text("q"), Limit: c.number("limit")}
	f.After, _ = strconv.ParseUint(c.text("after"), 10, 64) // it was checked
	return f
}

// keptLines is how many of the lines that are kept a stream begins with at most, unless asked for others.
const keptLines = 200

func (s *Server) streamLogs(c *call, out *stream) error {
	f := logFilter(c)
	if f.Limit == 0 {
		f.Limit = keptLines
	}
	if last, err := strconv.ParseUint(c.r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		f.After, f.Limit = last, maxWaiting
	}
	reader := alone(c.r.Context(), &s.tasks, func(l logs.Line) string { return strconv.FormatUint(l.Seq, 10) },
		func(ctx context.Context, tell func(logs.Line) error) error { return s.cfg.Logs.Follow(ctx, f, tell) })
	if err := out.write(": listening\n\n"); err != nil {
		reader.leave()
		return err
	}
	return follow(c.r.Context(), out, reader, func(l logs.Line) error { return out.event("log", strconv.FormatUint(l.Seq, 10), l) })
}

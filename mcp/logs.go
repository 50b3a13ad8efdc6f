package mcp

import (
	"context"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/admin/logs"
)

type logsIn struct {
	Level string `json:"level,omitempty" jsonschema:"only lines of this level and above"`
	Query string `json:"q,omitempty" jsonschema:"only lines with this in their message"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many lines at most, the newest"`
}

type logsOut struct {
	Lines []logLine `json:"lines" jsonschema:"the oldest first"`
}

// A logLine is a line of the log, cut.
type logLine struct {
	At      string            `json:"at"`
	Level   string            `json:"level"`
	Source  string            `json:"source,omitempty"`
	Message string            `json:"message"`
	More    map[string]string `json:"attributes,omitempty"`
}

// offerLogs adds the tool that shows the log.
func (s *Server) offerLogs() {
	offer(s, tool[logsIn, logsOut]{
		name: "logs_recent", title: "Recent log lines",
		when: "Shows the newest lines of the log of the node that answers; other nodes have logs of their own. Use it for what the rows do not tell: lost connections, " +
			"refused requests, start and stop.",
		narrow: func(p properties) {
			p.enum("level", logs.Levels()...)
			p.longest("q", 200)
			p.limit(defaultRows, mostRows)
		},
		call: s.recentLogs,
		text: func(o logsOut) string {
			lines := []string{"at level source message"}
			for _, l := range o.Lines {
				lines = append(lines, fmt.Sprintf("%s %s %s %q", l.At, quoted(l.Level), quoted(l.Source), l.Message))
			}
			return strings.Join(lines, "\n")
		},
	})
}

func (s *Server) recentLogs(ctx context.Context, in logsIn) (logsOut, error) {
	lines, err := s.cfg.Logs.Recent(ctx, logs.Filter{Level: in.Level, Query: in.Query, Limit: rows(in.Limit)})
	if err != nil {
		return logsOut{}, fmt.Errorf("read the log: %w", err)
	}
	out := logsOut{Lines: []logLine{}}
	for _, l := range lines {
		line := logLine{At: seconds(l.At), Level: l.Level, Source: cut(l.Source, 40), Message: cut(l.Message, 300)}
		for _, name := range sorted(l.Attributes)[:min(len(l.Attributes), 8)] {
			if line.More == nil {
				line.More = map[string]string{}
			}
			line.More[cut(name, 40)] = cut(l.Attributes[name], 120)
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}

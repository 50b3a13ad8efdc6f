package mcp

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/admin"
)

// maxWork is how many totals an answer shows.
const maxWork = 50

type statsIn struct {
	Hours int `json:"hours,omitempty" jsonschema:"how many hours back, the present one among them; 24 if it is left out"`
}

type statsOut struct {
	Since   time.Time    `json:"since"`
	Until   time.Time    `json:"until"`
	Totals  []admin.Work `json:"totals" jsonschema:"by route of jobs, by workflow and by DAG, those that took most time first"`
	Partial bool         `json:"partial,omitempty" jsonschema:"there are more rows than are counted: the earliest hours lack some"`
	More    bool         `json:"more,omitempty" jsonschema:"there are more totals than are shown"`
}

// offerStats adds the tool that counts what finished.
func (s *Server) offerStats() {
	offer(s, tool[statsIn, statsOut]{
		name: "stats", title: "Statistics", call: s.stats, text: statsText,
		when: "Counts what finished in the last hours by route of jobs, workflow and DAG: successes, failures, cancellations, time taken; of what has been deleted too. " +
			"Use it to find what fails most or takes longest.",
		narrow: func(p properties) { p.between("hours", 1, admin.MaxHours) },
	})
}

func (s *Server) stats(ctx context.Context, in statsIn) (statsOut, error) {
	a, err := s.cfg.Cluster.Analytics(ctx, in.Hours)
	out := statsOut{Since: a.Since, Until: a.Until, Totals: first(a.Totals, maxWork), Partial: a.Partial, More: a.More || len(a.Totals) > maxWork}
	for i := range out.Totals {
		out.Totals[i].Name = cut(out.Totals[i].Name, 200)
	}
	return out, err
}

func statsText(o statsOut) string {
	var rows [][]string
	for _, w := range o.Totals {
		rows = append(rows, []string{w.Scope, w.Of, w.Name, fmt.Sprint(w.Success), fmt.Sprint(w.Failed), fmt.Sprint(w.Cancelled), fmt.Sprint(w.WallMS)})
	}
	return "since " + seconds(o.Since) + "\n" + table([]string{"scope", "of", "name", "success", "failed", "cancelled", "wall_ms"}, rows, "")
}

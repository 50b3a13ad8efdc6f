package retention

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// MaxWalked is how many rows of a table or workflow in a state are looked at for what finished in a window.
const MaxWalked = 10_000

// A Window is a time, and what is of interest in it.
type Window struct {
	// Since is the first moment, Until the one after the last.
	Since, Until time.Time
	// Tables are the outbox tables.
	Tables []string
}

// Finished counts what finished in a window: what has been pruned, by whole hours, and what is still there, in
// one look. partial says that there is more of the latter than it looked at, so that the earliest hours lack some;
// beyond that it misses what was created before the newest 10,000 rows of its table or workflow and state.
func Finished(ctx context.Context, db surreal.Querier, w Window) (all []Count, partial bool, err error) {
	bindings, err := bindings(ctx, db)
	if err != nil {
		return nil, false, err
	}
	ask := newAsk(w)
	for _, table := range w.Tables {
		for _, status := range []string{"success", "failed", "cancelled"} {
			ask.add(target{table: table, status: status})
		}
	}
	for _, binding := range bindings {
		for _, status := range []string{"complete", "errored", "terminated"} {
			ask.add(target{binding: binding, status: status})
		}
	}
	for _, status := range []string{"success", "failed", "killed"} {
		ask.add(target{dags: true, status: status})
	}
	return ask.run(ctx, db)
}

// bindings are all workflows that have instances.
func bindings(ctx context.Context, db surreal.Querier) ([]string, error) {
	var all []string
	from := ""
	for {
		found, err := surreal.First[[]string](ctx, db, file("binding"), map[string]any{"from": from})
		if err != nil {
			return nil, fmt.Errorf("look for workflows: %w", err)
		}
		if len(found) == 0 {
			return all, nil
		}
		all = append(all, found[0])
		from = found[0] + "\x01" // what comes first after it and all its instances
	}
}

// An ask is one statement made of a part for each target.
type ask struct {
	targets []target
	parts   []string
	vars    map[string]any
	window  Window
}

func newAsk(w Window) *ask {
	return &ask{window: w, vars: map[string]any{
		"since": w.Since, "until": w.Until, "hour": w.Since.UTC().Truncate(time.Hour), "from": -w.Until.UnixMicro(), "limit": MaxWalked,
	}}
}

func (a *ask) add(t target) {
	n := strconv.Itoa(len(a.parts))
	rows := strings.NewReplacer("$status", "$status"+n, "$binding", "$binding"+n).Replace(statement(t.kind(), t.table))
	a.parts = append(a.parts, strings.Replace(file("finished"), "{{rows}}", rows, 1))
	a.vars["status"+n], a.vars["binding"+n] = t.status, t.binding
	a.targets = append(a.targets, t)
}

// A part is the answer of one target.
type part struct {
	Walked int   `json:"walked"`
	Oldest int64 `json:"oldest"`
	Counts []struct {
		Hour   time.Time `json:"hour"`
		Name   string    `json:"name"`
		Of     string    `json:"of"`
		Status string    `json:"status"`
		N      int64     `json:"n"`
		WallMS int64     `json:"wall_ms"`
	} `json:"counts"`
}

func (a *ask) run(ctx context.Context, db surreal.Querier) ([]Count, bool, error) {
	answer, err := surreal.First[struct {
		Pruned []Count `json:"pruned"`
		Parts  []part  `json:"parts"`
	}](ctx, db, "RETURN {\npruned: ("+file("rollups")+"),\nparts: [\n"+strings.Join(a.parts, ",\n")+"\n]}", a.vars)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("count what finished: %w", err)
	case len(answer.Parts) != len(a.targets):
		return nil, false, fmt.Errorf("count what finished: %d answers to %d questions", len(answer.Parts), len(a.targets))
	}
	all, partial := answer.Pruned, false
	for i, p := range answer.Parts {
		partial = partial || p.Walked == MaxWalked && -p.Oldest > a.window.Since.UnixMicro()
		for _, found := range p.Counts {
			c, ok := a.targets[i].counted(found.Name, found.Of)
			if !ok {
				continue
			}
			c.Hour, c.WallMS = found.Hour, found.WallMS
			c.count(found.Status, found.N)
			all = append(all, c)
		}
	}
	return Sum(all), partial, nil
}

package retention

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/*.surql
var files embed.FS

const (
	// pageRows is how many rows one look finds at most.
	pageRows = 200
	// partRows is how many rows one transaction deletes at most. What it holds up is held up for as long as it
	// takes: many small ones harm nobody.
	partRows = 20
	// partSteps is how many steps one transaction deletes, unless a single instance has more.
	partSteps = 100
)

// A row is a finished job, instance, or run of a DAG.
type row struct {
	ID     surreal.RecordID `json:"id"`
	Newest int64            `json:"newest"`
	Status string           `json:"status"`
	// FinishedAt is NONE in rows that were finished by somebody who does not say when: they stay.
	FinishedAt *time.Time `json:"finished_at"`
	Name       string     `json:"name"`
	Of         string     `json:"of"`
	Steps      int        `json:"steps"`
	WallMS     int64      `json:"wall_ms"`
}

// A target is the rows in one state of an outbox table, of a workflow, or of runs of DAGs.
type target struct {
	table, binding, status string
	dags                   bool
	keep                   time.Duration
}

func (t target) String() string {
	if t.dags {
		return "runs " + t.status
	}
	return t.table + t.binding + " " + t.status
}

// rows names the table that the target is a part of.
func (t target) rows() string {
	switch {
	case t.dags:
		return "_00_workflow_run"
	case t.table == "":
		return "_00_wf_instance"
	}
	return t.table
}

// page reads rows that were created before what newest says, the newest first.
func (t target) page(ctx context.Context, db surreal.Querier, newest int64) ([]row, error) {
	return t.read(ctx, db, t.kind(), map[string]any{"status": t.status, "binding": t.binding, "from": newest, "limit": pageRows})
}

// same reads all rows that were created at one moment and finished before another.
func (t target) same(ctx context.Context, db surreal.Querier, newest int64, before time.Time) ([]row, error) {
	return t.read(ctx, db, t.kind()+"_same", map[string]any{"status": t.status, "binding": t.binding, "from": newest, "before": before})
}

func (t target) kind() string {
	switch {
	case t.dags:
		return "runs"
	case t.table == "":
		return "instances"
	}
	return "jobs"
}

// beyond reads rows beyond the newest so many.
func (t target) beyond(ctx context.Context, db surreal.Querier, most int) ([]row, error) {
	return t.read(ctx, db, "beyond", map[string]any{"status": t.status, "most": most, "limit": pageRows})
}

func (t target) read(ctx context.Context, db surreal.Querier, name string, vars map[string]any) ([]row, error) {
	rows, err := surreal.First[[]row](ctx, db, statement(name, t.table), vars)
	if err != nil {
		return nil, fmt.Errorf("look for old rows of %s: %w", t, err)
	}
	return rows, nil
}

// prune deletes rows that finished before a moment. One that has changed, or that its table does not let
// go, stays, and is among the kept.
func (t target) prune(ctx context.Context, db surreal.Querier, rows []row, before time.Time) (pruned int, kept error) {
	if len(rows) == 0 {
		return 0, nil
	}
	call := "RETURN fn::spky::retention::prune_" + t.kind() + "($ids, $status, $cutoff, $counts)"
	ids := make([]surreal.RecordID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	vars := map[string]any{"ids": ids, "status": t.status, "cutoff": before, "counts": columns(counts(rows, t))}
	n, err := surreal.First[int](ctx, db, call, vars)
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil || surreal.IsUnreachable(err):
		return 0, err
	case len(rows) > 1:
		return t.halves(ctx, db, rows, before)
	}
	if reason, thrown := surreal.IsThrown(err); thrown && strings.Contains(reason, "spky: changed") {
		return 0, nil
	}
	return 0, fmt.Errorf("prune %s: %w", surreal.FormatID(rows[0].ID), err)
}

// halves prunes what could not be pruned together.
func (t target) halves(ctx context.Context, db surreal.Querier, rows []row, before time.Time) (int, error) {
	half := len(rows) / 2
	first, err := t.prune(ctx, db, rows[:half], before)
	if err != nil && (ctx.Err() != nil || surreal.IsUnreachable(err)) {
		return first, err
	}
	second, other := t.prune(ctx, db, rows[half:], before)
	if other != nil {
		err = other
	}
	return first + second, err
}

func columns(counts []Count) []map[string]any {
	all := make([]map[string]any, len(counts))
	for i, c := range counts {
		all[i] = map[string]any{
			"hour": c.Hour, "scope": c.Scope, "of": c.Of, "name": c.Name,
			"success": c.Success, "failed": c.Failed, "killed": c.Killed, "wall_ms": c.WallMS,
		}
	}
	return all
}

// statement reads an embedded statement; only a table's checked name is put into its text.
func statement(name, table string) string {
	wall := "wall_job"
	if table == "" {
		wall = "wall_instance"
	}
	var lines []string
	for line := range strings.Lines(file(name)) {
		if !strings.HasPrefix(line, "--") { // a statement may become a part of another
			lines = append(lines, line)
		}
	}
	return strings.NewReplacer("{{table}}", table, "{{wall}}", file(wall)).Replace(strings.Join(lines, ""))
}

func file(name string) string {
	text, err := files.ReadFile("surql/" + name + ".surql")
	if err != nil {
		panic(err) // embedded at build time
	}
	return strings.TrimSpace(string(text))
}

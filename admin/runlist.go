package admin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// RunListOptions choose runs of a DAG.
type RunListOptions struct {
	// DAG is its name.
	DAG string
	// Status chooses runs in one state, where it is not "".
	Status string
	// Cursor is the Next of the page before.
	Cursor string
	// Limit is how many runs at most, up to 200. Defaults to 50.
	Limit int
}

// A RunPage is a part of a list of runs.
type RunPage struct {
	// Runs are the newest first.
	Runs []DAGRun `json:"runs"`
	// Next is the cursor of the page after it, "" after the last one.
	Next string `json:"next,omitempty"`
}

// Runs answers with the newest runs of a DAG, in one state where status is not "": 50 where limit is 0, at most
// 200.
func (d *DAGs) Runs(ctx context.Context, name, status string, limit int) ([]DAGRun, error) {
	page, err := d.ListRuns(ctx, RunListOptions{DAG: name, Status: status, Limit: limit})
	return page.Runs, err
}

// together is how many runs may have started in the same microsecond, so that a page which begins among them finds its
// place.
const together = 100

// ListRuns answers with a page of a DAG's runs, the newest first. Runs that start while one walks from page to page are on
// none of those to come.
func (d *DAGs) ListRuns(ctx context.Context, o RunListOptions) (RunPage, error) {
	statuses := RunStatuses()
	switch {
	case o.Limit < 0 || o.Limit > maxRuns:
		return RunPage{}, inputf("limit %d; allowed: 1 to %d", o.Limit, maxRuns)
	case o.Status != "" && !slices.Contains(statuses, o.Status):
		return RunPage{}, inputf("status %q; allowed: %s", o.Status, strings.Join(statuses, ", "))
	case o.Status != "":
		statuses = []string{o.Status}
	}
	after, err := parseRunCursor(o.Cursor)
	if err != nil {
		return RunPage{}, err
	}
	limit := cmp.Or(o.Limit, 50)
	most := limit + 1
	if o.Cursor != "" {
		most += together
	}
	rows, err := surreal.First[[]dagRunRow](ctx, d.db, dagRunsStatement, map[string]any{"name": o.DAG, "statuses": statuses, "from": after.newest, "limit": most})
	if err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)) {
		return RunPage{}, fmt.Errorf("runs of DAG %s: %w", o.DAG, err)
	}
	rows = slices.DeleteFunc(rows, func(r dagRunRow) bool { return r.place().compare(after) <= 0 })
	slices.SortFunc(rows, func(a, b dagRunRow) int { return a.place().compare(b.place()) })
	page := RunPage{Runs: []DAGRun{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].place().cursor()
	}
	for _, row := range rows {
		page.Runs = append(page.Runs, row.run())
	}
	if err := d.hider.dagRuns(ctx, page.Runs); err != nil {
		return RunPage{}, fmt.Errorf("runs of DAG %s: %w", o.DAG, err)
	}
	return page, nil
}

// A runPlace is where a run stands in lists.
type runPlace struct {
	newest int64
	id     string
}

func (r dagRunRow) place() runPlace { return runPlace{-r.StartedAt.UnixMicro(), r.ID} }

func (p runPlace) compare(other runPlace) int {
	return cmp.Or(cmp.Compare(p.newest, other.newest), strings.Compare(p.id, other.id))
}

func (p runPlace) cursor() string { return strconv.FormatInt(-p.newest, 36) + "." + p.id }

// parseRunCursor is where a list goes on; "" is before all runs.
func parseRunCursor(text string) (runPlace, error) {
	if text == "" {
		return runPlace{newest: math.MinInt64}, nil
	}
	at, id, ok := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil || micros < 0 || id == "" {
		return runPlace{}, inputf("cursor %q is none that a list of runs gave", short(text, 100))
	}
	return runPlace{-micros, id}, nil
}

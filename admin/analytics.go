package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/ssp/retention"
	"sp00ky.cloud/spky/surreal"
)

const (
	// MaxHours is how many hours an answer of [Cluster.Analytics] goes back at most.
	MaxHours = 31 * 24
	// defaultHours is how many it goes back unless another number is given.
	defaultHours = 24
	// maxWork is how many totals, and maxHourly how many hours of them, an answer has.
	maxWork   = 1000
	maxHourly = 10_000
)

// A Work is how many jobs of a route, instances of a workflow or runs of a DAG finished, and how.
type Work struct {
	// Scope is job, workflow or dag. The steps of a run count as jobs, too.
	Scope string `json:"scope"`
	// Of is the outbox table of jobs, the backend of instances, "" of runs.
	Of string `json:"of"`
	// Name is the route of jobs: their path, with :id for what looks like one; the binding of a workflow; or the DAG. *
	// stands for routes beyond the first thousand of an hour.
	Name string `json:"name"`
	// Success, Failed and Cancelled count them; terminated instances and killed runs are among the cancelled.
	Success   int64 `json:"success"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	// WallMS adds up the milliseconds that each took: a job from when it was first due until it finished, an
	// instance from its first run on, a run of a DAG from its start.
	WallMS int64 `json:"wall_ms"`
}

// A WorkHour is the work that finished in one hour.
type WorkHour struct {
	Work

	// Hour is its beginning.
	Hour time.Time `json:"hour"`
}

// Analytics are what finished in the last hours. Jobs that are runs of workflows count as no jobs: their
// instance counts, once. Neither do rows that somebody deleted who was not the retention.
type Analytics struct {
	// Since is a whole hour, Until is now, by the database's clock.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Totals are the sums of all hours, those with most wall time first, 1,000 at most.
	Totals []Work `json:"totals"`
	// Hours are in order, the last 10,000 at most.
	Hours []WorkHour `json:"hours"`
	// Partial says that there are more rows than are counted: hours lack some whose rows are not pruned yet. Of
	// each table or workflow and state the newest 10,000 rows are.
	Partial bool `json:"partial,omitempty"`
	// More says that there are more totals or hours than are shown.
	More bool `json:"more,omitempty"`
}

// Analytics counts what finished in the present hour and those before it. hours is 24 where it is 0, and at
// most 744.
func (c *Cluster) Analytics(ctx context.Context, hours int) (Analytics, error) {
	if hours < 0 || hours > MaxHours {
		return Analytics{}, inputf("analytics of %d hours; allowed: 1 to %d", hours, MaxHours)
	}
	now, err := surreal.First[time.Time](ctx, c.db, "RETURN time::now()", nil)
	if err != nil {
		return Analytics{}, fmt.Errorf("analytics: %w", err)
	}
	back := time.Duration(cmp.Or(hours, defaultHours)-1) * time.Hour
	a := Analytics{Since: now.UTC().Truncate(time.Hour).Add(-back), Until: now.UTC(), Totals: []Work{}, Hours: []WorkHour{}}
	info, err := surreal.First[struct {
		Tables map[string]string `json:"tables"`
	}](ctx, c.db, "INFO FOR DB", nil)
	if err != nil {
		return a, fmt.Errorf("analytics: %w", err)
	}
	if _, ok := info.Tables["_00_run_rollup"]; !ok {
		return a, nil // the platform's schema has not been applied: nothing has ever finished
	}
	tables := slices.DeleteFunc(slices.Clone(c.jobs.tables), func(table string) bool { return info.Tables[table] == "" })
	counts, partial, err := retention.Finished(ctx, c.db, retention.Window{Since: a.Since, Until: a.Until, Tables: tables})
	if err != nil {
		return a, fmt.Errorf("analytics: %w", err)
	}
	a.Partial = partial
	a.fill(counts)
	return a, nil
}

// fill makes hours and totals of counts.
func (a *Analytics) fill(counts []retention.Count) {
	sums := make([]retention.Count, len(counts))
	for i, n := range counts {
		a.Hours = append(a.Hours, WorkHour{work(n), n.Hour})
		sums[i] = n
		sums[i].Hour = time.Time{}
	}
	for _, n := range retention.Sum(sums) {
		a.Totals = append(a.Totals, work(n))
	}
	slices.SortStableFunc(a.Totals, func(x, y Work) int { return cmp.Compare(y.WallMS, x.WallMS) })
	if len(a.Totals) > maxWork {
		a.Totals, a.More = a.Totals[:maxWork], true
	}
	if over := len(a.Hours) - maxHourly; over > 0 {
		a.Hours, a.More = a.Hours[over:], true
	}
}

func work(n retention.Count) Work {
	return Work{Scope: n.Scope, Of: n.Of, Name: n.Name, Success: n.Success, Failed: n.Failed, Cancelled: n.Killed, WallMS: n.WallMS}
}

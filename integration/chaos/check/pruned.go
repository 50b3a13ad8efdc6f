package check

import (
	"strings"
	"time"
)

// keptJob is how long a job is kept at least, by its status, and keptRun an instance, or a run of a DAG or a schedule.
func (c *checker) keptJob(status string) time.Duration {
	if status == success {
		return c.Plan.Keep()
	}
	return c.Plan.Keep() * 3 / 2
}

func (c *checker) keptRun(status string) time.Duration {
	switch status {
	case success, "complete", "skipped", "replaced":
		return c.Plan.Keep() * 3 / 2
	}
	return 2 * c.Plan.Keep()
}

// pruned checks that a row was deleted because it was over, and had been for long enough.
func (c *checker) pruned(key, status string, finished *time.Time, at time.Time, kept time.Duration) {
	c.prunedRows++
	if finished == nil || at.Sub(*finished) < kept {
		c.find("pruned", key, "at %s it was deleted as %s, which it was since %s: it was to be kept for %s", clock(&at), status, clock(finished), kept)
	}
}

// rollups checks that what is left of the pruned rows of each hour adds up: each was counted once.
func (c *checker) rollups() {
	want := map[rollupRow]rollupRow{} // by what tells them apart
	count := func(hour *time.Time, scope, of, name, status string, wall int64) {
		if hour == nil {
			return // found where it was deleted
		}
		id := rollupRow{Hour: hour.UTC().Truncate(time.Hour), Scope: scope, Of: of, Name: name}
		sum := want[id]
		switch status {
		case success, "complete":
			sum.Success++
		case "cancelled", "terminated", "killed":
			sum.Killed++
		default:
			sum.Failed++
		}
		sum.WallMS += wall
		want[id] = sum
	}
	for _, r := range c.jobs {
		if r.Gone != nil && !strings.HasPrefix(r.Path, "/__spky/") { // which counts as its instance
			count(r.Updated, "job", r.ID.Table, r.Path, r.Status, max(0, wall(r.Created, r.Updated)-r.DelayMS))
		}
	}
	for _, r := range c.instances {
		if r.Gone != nil {
			count(r.Finished, "workflow", r.Backend, r.Binding, r.Status, wall(r.Started, r.Finished))
		}
	}
	for _, r := range c.runs {
		if r.Gone != nil {
			count(r.Finished, "dag", "", r.Workflow, r.Status, wall(r.Started, r.Finished))
		}
	}
	for _, got := range c.Rollups {
		id := rollupRow{Hour: got.Hour.UTC(), Scope: got.Scope, Of: got.Of, Name: got.Name}
		w := want[id]
		delete(want, id)
		w.Hour, w.Scope, w.Of, w.Name, got.Hour = id.Hour, id.Scope, id.Of, id.Name, id.Hour
		if got != w {
			c.find("rollup", "", "of what was pruned there is counted %+v, want %+v", got, w)
		}
	}
	for id, w := range want {
		c.find("rollup", "", "of what was pruned of %+v nothing is counted, want %+v", id, w)
	}
}

// wall is the time between two moments, which count in microseconds, in whole milliseconds; 0 where one is missing.
func wall(from, to *time.Time) int64 {
	if from == nil || to == nil {
		return 0
	}
	return max(0, (to.UnixMicro()-from.UnixMicro())/1000)
}

package retention

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The scopes of counts.
const (
	ScopeJob      = "job"
	ScopeWorkflow = "workflow"
	ScopeDAG      = "dag"
)

// A Count is how many jobs of a route, instances of a workflow or runs of a DAG finished in an hour, and how.
type Count struct {
	// Hour is its beginning, in UTC.
	Hour time.Time `json:"hour"`
	// Scope is job, workflow or dag. Of is the outbox table, the backend or "", Name the route, the binding or the
	// DAG.
	Scope string `json:"scope"`
	Of    string `json:"of"`
	Name  string `json:"name"`
	// Killed are cancelled jobs, terminated instances and killed runs.
	Success int64 `json:"success"`
	Failed  int64 `json:"failed"`
	Killed  int64 `json:"killed"`
	// WallMS adds up what each took: a job from when it was first due until it finished, an instance from
	// its first run on, a run from its start.
	WallMS int64 `json:"wall_ms"`
}

// count adds n rows that ended in a state.
func (c *Count) count(status string, n int64) {
	switch status {
	case "success", "complete":
		c.Success += n
	case "cancelled", "terminated", "killed":
		c.Killed += n
	default:
		c.Failed += n
	}
}

// key is what two counts have in common that can be added up.
func (c *Count) key() Count { return Count{Hour: c.Hour, Scope: c.Scope, Of: c.Of, Name: c.Name} }

// Sum adds up counts of the same hour, scope, of and name. They come in this order.
func Sum(counts []Count) []Count {
	at := map[Count]int{}
	all := []Count{}
	for _, c := range counts {
		c.Hour = c.Hour.UTC()
		i, ok := at[c.key()]
		if !ok {
			i = len(all)
			at[c.key()] = i
			all = append(all, c.key())
		}
		sum := &all[i]
		sum.Success += c.Success
		sum.Failed += c.Failed
		sum.Killed += c.Killed
		sum.WallMS += c.WallMS
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// counts are what rows of a target come to.
func counts(rows []row, t target) []Count {
	var all []Count
	for _, r := range rows {
		c, ok := t.counted(r.Name, r.Of)
		if !ok {
			continue
		}
		c.Hour, c.WallMS = r.FinishedAt.UTC().Truncate(time.Hour), r.WallMS
		c.count(r.Status, 1)
		all = append(all, c)
	}
	return Sum(all)
}

// counted is what a row counts as, if it does.
func (t target) counted(name, of string) (Count, bool) {
	switch {
	case t.dags:
		return Count{Scope: ScopeDAG, Name: name}, true
	case t.table == "":
		return Count{Scope: ScopeWorkflow, Of: of, Name: name}, true
	case strings.HasPrefix(name, runs):
		return Count{}, false
	}
	return Count{Scope: ScopeJob, Of: t.table, Name: Route(name)}, true
}

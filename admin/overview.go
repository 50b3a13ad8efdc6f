package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// An Overview is how everything is at one glance.
type Overview struct {
	// Now is the database's clock.
	Now   time.Time `json:"now"`
	Jobs  JobStats  `json:"jobs"`
	Nodes NodeStats `json:"nodes"`
	// Tables are the jobs by outbox table.
	Tables    []TableStats  `json:"tables"`
	Instances InstanceStats `json:"instances"`
	// Attempts and Failures are those of all nodes in about the last minute.
	Attempts int `json:"attempts"`
	Failures int `json:"failures"`
	// Open names the backends whose circuit is not closed on every node.
	Open []string `json:"open"`
}

// JobStats count jobs by state. Each is counted to 1,000 in each table; More says that there are more
// of some.
type JobStats struct {
	Pending    int  `json:"pending"`
	Processing int  `json:"processing"`
	Success    int  `json:"success"`
	Failed     int  `json:"failed"`
	Cancelled  int  `json:"cancelled"`
	More       bool `json:"more,omitempty"`
	// Due counts the pending ones whose time has come, OldestDue is since when the first of them waits.
	Due       int        `json:"due"`
	OldestDue *time.Time `json:"oldest_due,omitempty"`
	// Stalled counts those whose lease has run out while they ran.
	Stalled int `json:"stalled"`
}

// TableStats are the jobs of one outbox table.
type TableStats struct {
	JobStats

	Table   string `json:"table"`
	Backend string `json:"backend,omitempty"`
}

// NodeStats count nodes by state.
type NodeStats struct {
	Alive    int `json:"alive"`
	Draining int `json:"draining"`
	Dead     int `json:"dead"`
}

// InstanceStats count instances by state, each to 1,000; More says that there are more of some.
type InstanceStats struct {
	Queued     int  `json:"queued"`
	Running    int  `json:"running"`
	Waiting    int  `json:"waiting"`
	Paused     int  `json:"paused"`
	Complete   int  `json:"complete"`
	Errored    int  `json:"errored"`
	Terminated int  `json:"terminated"`
	Stalled    int  `json:"stalled"`
	More       bool `json:"more,omitempty"`
}

// MaxCounted is how far an overview counts the jobs of a table in a state, and the instances in one: it
// is asked for often.
const MaxCounted = 1000

// Overview reads it. What it costs is bounded, however many jobs and instances there are.
func (c *Cluster) Overview(ctx context.Context) (Overview, error) {
	o := Overview{Tables: []TableStats{}, Open: []string{}}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return o, fmt.Errorf("overview: %w", err)
	}
	for _, table := range c.jobs.tables {
		t, now, err := c.table(ctx, table)
		if err != nil {
			return o, fmt.Errorf("overview: %w", err)
		}
		o.Now = now
		o.Tables = append(o.Tables, t)
		o.Jobs.add(t.JobStats)
	}
	if o.Instances, err = c.instances(ctx); err != nil {
		return o, fmt.Errorf("overview: %w", err)
	}
	if o.Now.IsZero() {
		if o.Now, err = surreal.First[time.Time](ctx, c.db, "RETURN time::now()", nil); err != nil {
			return o, fmt.Errorf("overview: %w", err)
		}
	}
	o.count(nodes)
	for _, b := range c.across(nodes) {
		o.Attempts += b.Attempts
		o.Failures += b.Failures
		if b.Circuit != "closed" && b.Circuit != circuitUnknown {
			o.Open = append(o.Open, b.Name)
		}
	}
	return o, nil
}

func (o *Overview) count(nodes []Node) {
	for _, n := range nodes {
		switch n.State {
		case NodeAlive:
			o.Nodes.Alive++
		case NodeDraining:
			o.Nodes.Draining++
		case NodeDead:
			o.Nodes.Dead++
		}
	}
}

// table counts the jobs of one table, in one statement for each state.
func (c *Cluster) table(ctx context.Context, table string) (TableStats, time.Time, error) {
	t := TableStats{Table: table, Backend: c.jobs.backend(table)}
	answer, err := surreal.First[struct {
		Now        time.Time  `json:"now"`
		Pending    int        `json:"pending"`
		Processing int        `json:"processing"`
		Success    int        `json:"success"`
		Failed     int        `json:"failed"`
		Cancelled  int        `json:"cancelled"`
		Due        int        `json:"due"`
		OldestDue  *time.Time `json:"oldest_due"`
		Stalled    int        `json:"stalled"`
	}](ctx, c.db, jobStatement("jobs_overview", table, ""), map[string]any{"most": MaxCounted + 1})
	if err != nil && !surreal.IsNotFound(err) { // a table that does not exist has no jobs
		return t, time.Time{}, fmt.Errorf("count jobs of %s: %w", table, err)
	}
	t.JobStats = JobStats{
		Pending: answer.Pending, Processing: answer.Processing, Success: answer.Success, Failed: answer.Failed, Cancelled: answer.Cancelled,
		Due: answer.Due, OldestDue: answer.OldestDue, Stalled: answer.Stalled,
	}
	for _, n := range []*int{&t.Pending, &t.Processing, &t.Success, &t.Failed, &t.Cancelled, &t.Due} {
		t.More = t.More || *n > MaxCounted
		*n = min(*n, MaxCounted)
	}
	return t, answer.Now, nil
}

func (s *JobStats) add(o JobStats) {
	s.Pending += o.Pending
	s.Processing += o.Processing
	s.Success += o.Success
	s.Failed += o.Failed
	s.Cancelled += o.Cancelled
	s.Due += o.Due
	s.Stalled += o.Stalled
	s.More = s.More || o.More
	if o.OldestDue != nil && (s.OldestDue == nil || o.OldestDue.Before(*s.OldestDue)) {
		s.OldestDue = o.OldestDue
	}
}

// instances counts the instances of all workflows.
func (c *Cluster) instances(ctx context.Context) (InstanceStats, error) {
	var s InstanceStats
	of := map[wf.Status]*int{
		wf.Queued: &s.Queued, wf.Running: &s.Running, wf.Waiting: &s.Waiting, wf.Paused: &s.Paused,
		wf.Complete: &s.Complete, wf.Errored: &s.Errored, wf.Terminated: &s.Terminated,
	}
	var parts []string
	vars := map[string]any{"most": MaxCounted + 1}
	for _, status := range Statuses() {
		parts = append(parts, strings.ReplaceAll(instancesCountPart, "{{status}}", string(status)))
	}
	parts = append(parts, stalledCountPart)
	counts, err := surreal.First[[]int](ctx, c.db, "RETURN [\n"+strings.Join(parts, ",\n")+"\n]", vars)
	switch {
	case surreal.IsNotFound(err):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("count instances: %w", err)
	case len(counts) != len(parts):
		return s, fmt.Errorf("count instances: %d answers to %d questions", len(counts), len(parts))
	}
	for i, status := range Statuses() {
		s.More = s.More || counts[i] > MaxCounted
		*of[status] = min(counts[i], MaxCounted)
	}
	s.Stalled = min(counts[len(counts)-1], MaxCounted)
	return s, nil
}

const (
	// instancesCountPart names a state, a constant of ours, because there is one part for each.
	instancesCountPart = "((SELECT count() FROM (SELECT VALUE id FROM _00_wf_instance WITH INDEX wf_instance_wake WHERE status = '{{status}}' LIMIT $most) GROUP ALL)[0].count ?? 0)"
	stalledCountPart   = "((SELECT count() FROM (SELECT VALUE id FROM _00_wf_instance WITH INDEX wf_instance_stalled WHERE stalled_at > d'1970-01-01T00:00:00Z' AND status IN ['queued', 'running', 'waiting']) GROUP ALL)[0].count ?? 0)"
)

// Served says whether one of the nodes is alive and takes the jobs of a table.
func Served(nodes []Node, table string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool {
		return n.State == NodeAlive && slices.ContainsFunc(n.Backends, func(b NodeBackend) bool { return b.Table == table })
	})
}

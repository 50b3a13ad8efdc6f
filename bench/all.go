package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// AllOptions are those of [All].
type AllOptions struct {
	ProcessOptions
	// Jobs and Instances are how many the throughput is measured with; default 5,000 and 500.
	Jobs, Instances int
	// Wakes is how many instances sleep for a while. Defaults to 200.
	Wakes int
	// Rows is the largest backlog of due jobs. Defaults to 100,000.
	Rows int
	// Sleeping is how many instances sleep until tomorrow. Defaults to 100,000.
	Sleeping int
	// Samples is how often a latency is measured, Events how often an event is sent. Default 200 and 50.
	Samples, Events int
	// Idle is how long a node without work is watched. Defaults to 10 s, beside a backlog to half of it.
	Idle time.Duration
}

func (o AllOptions) withDefaults() (AllOptions, error) {
	var err error
	o.ProcessOptions, err = o.ProcessOptions.withDefaults()
	for v, otherwise := range map[*int]int{
		&o.Jobs: 5000, &o.Instances: 500, &o.Wakes: 200, &o.Rows: 100_000, &o.Sleeping: 100_000, &o.Samples: 200, &o.Events: 50,
	} {
		if *v < 0 {
			err = errors.Join(err, errors.New("counts must not be negative"))
		}
		if *v == 0 {
			*v = otherwise
		}
	}
	if o.Idle == 0 {
		o.Idle = 10 * time.Second
	}
	return o, err
}

// All takes every figure once and answers with one table.
func All(ctx context.Context, o AllOptions) (Table, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Table{}, err
	}
	started := time.Now()
	table := Table{At: started.UTC().Truncate(time.Second), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Load: machineLoad()}
	for _, part := range []struct {
		name string
		take func(context.Context, *Table) error
	}{
		{"jobs", o.jobs}, {"instances", o.instances}, {"steps", o.steps}, {"wakes", o.wakes}, {"split", o.split}, {"backlog", o.backlog}, {"sleeping", o.sleeping},
	} {
		o.say(part.name)
		if err := part.take(ctx, &table); err != nil {
			return table, fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	table.Seconds = time.Since(started).Seconds()
	return table, nil
}

const (
	ofWrites = "the same writes, bare"
	ofLive   = "a bare LIVE SELECT"
)

func (o AllOptions) jobs(ctx context.Context, t *Table) error {
	r, err := Jobs(ctx, Options{DB: o.DB, Count: o.Jobs, Concurrency: o.Concurrency, Samples: o.Samples, Idle: o.Idle, Progress: o.Progress})
	if err != nil {
		return err
	}
	t.add(Figure{Name: "jobs, insert to success", Unit: "/s", Value: r.Throughput, Bound: r.Ceiling, Of: ofWrites, Want: Want{Least: 1400, LeastRatio: .7}})
	t.add(Figure{Name: "jobs, a backlog that waits", Unit: "/s", Value: r.DrainPerSecond, Bound: r.Ceiling, Of: ofWrites})
	t.add(Figure{Name: "insert to request, p50", Unit: "ms", Value: r.Latency.P50, Bound: r.Live.P50, Of: ofLive, Want: Want{Most: 3.5, MostRatio: 2}})
	t.add(Figure{Name: "insert to request, p99", Unit: "ms", Value: r.Latency.P99, Bound: r.Live.P99, Of: ofLive, Want: Want{Most: 15}})
	t.add(Figure{Name: "an idle node's statements", Unit: "/s", Value: r.IdleStatements, Want: Want{Most: 3}})
	return nil
}

func (o AllOptions) workflows() WorkflowOptions {
	return WorkflowOptions{DB: o.DB, Count: o.Instances, Samples: o.Events, Progress: o.Progress}
}

func (o AllOptions) instances(ctx context.Context, t *Table) error {
	r, err := Instances(ctx, o.workflows())
	if err != nil {
		return err
	}
	t.add(Figure{Name: "instances of 5 steps, 50 at a time", Unit: "/s", Value: r.PerSecond, Bound: r.Ceiling, Of: ofWrites, Want: Want{Least: 357, LeastRatio: .5}})
	t.add(Figure{Name: "steps of those", Unit: "/s", Value: r.StepsPerSecond, Bound: r.Ceiling * float64(r.Steps), Of: ofWrites})
	t.add(Figure{Name: "an instance of 5 steps alone, p50", Unit: "ms", Value: r.Alone.P50, Bound: r.BareAlone.P50, Of: ofWrites, Want: Want{Most: 9.5}})
	return nil
}

func (o AllOptions) steps(ctx context.Context, t *Table) error {
	r, err := Steps(ctx, o.workflows())
	if err != nil {
		return err
	}
	t.add(Figure{Name: "an instance of 200 steps", Unit: "ms", Value: r.Run, Bound: r.Bare, Of: "as many bare commits", Want: Want{Most: 314, MostRatio: 1.3}})
	t.add(Figure{Name: "event sent to workflow goes on, p50", Unit: "ms", Value: r.Event.P50, Bound: t.bound("insert to request, p50"), Of: ofLive, Want: Want{Most: 5}})
	return nil
}

func (o AllOptions) wakes(ctx context.Context, t *Table) error {
	w := o.workflows()
	w.Count = o.Wakes
	r, err := Wakes(ctx, w)
	if err != nil {
		return err
	}
	t.add(Figure{Name: "a sleep wakes late by, p99", Unit: "ms", Value: r.Late.P99, Want: Want{Most: 100}})
	return nil
}

func (o AllOptions) split(ctx context.Context, t *Table) error {
	r, err := Split(ctx, SplitOptions{ProcessOptions: o.ProcessOptions, Count: o.Jobs})
	if err != nil {
		return err
	}
	all := r.Node + r.Database
	t.add(Figure{Name: "CPU of the node a job", Unit: "ms", Value: r.Node, Bound: all, Of: "node and database together"})
	t.add(Figure{Name: "CPU of the database a job", Unit: "ms", Value: r.Database, Bound: all, Of: "node and database together"})
	return nil
}

func (o AllOptions) backlog(ctx context.Context, t *Table) error {
	r, err := Backlog(ctx, BacklogOptions{ProcessOptions: o.ProcessOptions, Rows: o.Rows, Watch: o.Idle / 2})
	if err != nil {
		return err
	}
	first, last := r.Sizes[0], r.Sizes[len(r.Sizes)-1]
	t.add(Figure{
		Name: fmt.Sprintf("a claim of 64 beside %s due jobs", thousands(last.Rows)), Unit: "ms", Value: last.Claim, Bound: first.Claim,
		Of: "beside " + thousands(first.Rows), Want: Want{MostRatio: 1.2},
	})
	t.add(Figure{Name: fmt.Sprintf("a look beside %s due jobs", thousands(last.Rows)), Unit: "ms", Value: last.Look, Bound: first.Look, Of: "beside " + thousands(first.Rows)})
	t.add(Figure{Name: fmt.Sprintf("node memory, %s due jobs", thousands(last.Rows)), Unit: "MiB", Value: last.Full.RSSMiB, Bound: r.Idle.RSSMiB, Of: "beside none"})
	t.add(Figure{Name: "CPU of an idle node", Unit: "% of a core", Value: r.Idle.NodeCPU})
	t.add(Figure{Name: "CPU of its database", Unit: "% of a core", Value: r.Idle.DatabaseCPU})
	return nil
}

func (o AllOptions) sleeping(ctx context.Context, t *Table) error {
	r, err := Sleeping(ctx, SleepingOptions{ProcessOptions: o.ProcessOptions, Instances: o.Sleeping, Watch: o.Idle / 2})
	if err != nil {
		return err
	}
	t.add(Figure{
		Name: fmt.Sprintf("node memory, %s instances asleep", thousands(r.Instances)), Unit: "MiB", Value: r.With.RSSMiB, Bound: r.Without.RSSMiB,
		Of: "beside none", Want: Want{Most: r.Without.RSSMiB + 20},
	})
	return nil
}

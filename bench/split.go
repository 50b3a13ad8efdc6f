package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// SplitOptions are those of [Split].
type SplitOptions struct {
	ProcessOptions
	// Count of jobs. Defaults to 5,000.
	Count int
}

// A SplitReport is where the CPU time of a job goes, in milliseconds of user and system time together. It
// is 0 where it can't be known.
type SplitReport struct {
	Count     int     `json:"count"`
	PerSecond float64 `json:"jobs_per_second"`
	Node      float64 `json:"node_ms_per_job"`
	Database  float64 `json:"database_ms_per_job"`
	// Bench writes the jobs and is the backend.
	Bench float64 `json:"bench_ms_per_job"`
}

// Split measures what node and database each spend on a job, from its insert to its success, with the node
// in a process of its own.
func Split(ctx context.Context, o SplitOptions) (SplitReport, error) {
	var err error
	if o.ProcessOptions, err = o.ProcessOptions.withDefaults(); err != nil {
		return SplitReport{}, err
	}
	if o.Count < 0 {
		return SplitReport{}, errors.New("counts must not be negative")
	}
	if o.Count == 0 {
		o.Count = 5000
	}
	report := SplitReport{Count: o.Count}
	err = onGround(ctx, o.DB, func(ctx context.Context, g *ground) error { return o.measure(ctx, g, &report) })
	return report, err
}

func (o SplitOptions) measure(ctx context.Context, g *ground, report *SplitReport) error {
	backend, err := newBackend()
	if err != nil {
		return err
	}
	defer backend.close()
	return withChild(ctx, o.ProcessOptions, g.table, backend.url, func(ctx context.Context, n *childNode) error {
		o.say("where the time goes")
		for _, count := range []int{min(o.Count, 500), o.Count} { // the first is for warmth
			from, err := n.clock()
			if err != nil {
				return err
			}
			if err := g.through(ctx, backend, count); err != nil {
				return err
			}
			to, err := n.clock()
			if err != nil {
				return err
			}
			spent := to.since(from)
			each := func(d time.Duration) float64 { return 1000 * d.Seconds() / float64(count) }
			report.PerSecond = float64(count) / to.at.Sub(from.at).Seconds()
			report.Node, report.Database, report.Bench = each(spent.node), each(spent.database), each(spent.bench)
		}
		return nil
	})
}

// through writes count jobs, ten at a time, and waits until all are a success.
func (g *ground) through(ctx context.Context, backend *backend, count int) error {
	requests := backend.requests.Load() + int64(count)
	for left := count; left > 0; left -= 10 {
		if err := g.insertOnce(ctx, min(left, 10), nil); err != nil {
			return err
		}
	}
	return g.untilDone(ctx, backend, requests, count)
}

// Write prints the report for people.
func (r SplitReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "CPU a job     node %.3f ms, database %.3f ms, bench and backend %.3f ms; %d jobs at %.0f/s\n", r.Node, r.Database, r.Bench, r.Count, r.PerSecond)
	return err
}

package main

import (
	"context"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/surreal"
)

func newBenchCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the configured database with jobs and workflows",
		Long: `Measure the whole way of a job or a workflow against the configured database:
with a node and a backend of its own in this process, tables of its own, which
are removed at the end, and ceilings taken in the same run, since absolute
figures say little about another machine.

"bench all" takes every figure once and prints one table. With --devdb the
benches that watch a node from outside (all, backlog, sleeping, soak) start a
development database of their own; its CPU time is told then too.`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newBenchJobsCommand(p), newBenchStepsCommand(p), newBenchInstancesCommand(p))
	cmd.AddCommand(newBenchAllCommand(p), newBenchLastCommand(p), newBenchBacklogCommand(p), newBenchSleepingCommand(p), newBenchSoakCommand(p), newBenchNodeCommand(p))
	return cmd
}

// A benchReport is what a bench answers with.
type benchReport interface{ Write(w io.Writer) error }

// measure runs a bench on the configured database and prints its report.
func (p *program) measure(ctx context.Context, asJSON bool, run func(db surreal.Config) (benchReport, error)) error {
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	_, closeDB, err := connect(ctx, cfg) // says what is wrong before anything is measured
	if err != nil {
		return err
	}
	closeDB()
	report, err := run(database(cfg))
	if err != nil {
		return err
	}
	return p.show(asJSON, report)
}

func (p *program) show(asJSON bool, report benchReport) error {
	if asJSON {
		return render.JSON(p.out, report)
	}
	return report.Write(p.out)
}

func newBenchJobsCommand(p *program) *cobra.Command {
	o := bench.Options{Progress: p.err}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Jobs a second against the ceiling, latency against a bare LIVE SELECT",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.measure(cmd.Context(), asJSON, func(db surreal.Config) (benchReport, error) {
				o.DB = db
				return bench.Jobs(cmd.Context(), o)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Count, "count", 5000, "how many jobs")
	f.IntVar(&o.Concurrency, "concurrency", 16, "the backend's slots")
	f.IntVar(&o.Inserters, "inserters", 8, "how many write jobs at the same time")
	f.IntVar(&o.Batch, "insert-batch", 10, "how many jobs one insert writes")
	f.Float64Var(&o.Rate, "rate", 20, "jobs a second while the latency is measured")
	f.IntVar(&o.Samples, "samples", 200, "how many jobs the latency is measured with")
	f.IntVar(&o.Backlog, "backlog", 0, "put this many jobs that are due tomorrow, and as many finished ones, beside")
	f.IntVar(&o.Partitions, "partitions", 0, "part the jobs by that many values, of which each runs one at a time")
	f.DurationVar(&o.Idle, "idle", 10*time.Second, "how long the idle node is watched; negative leaves it out")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newBenchStepsCommand(p *program) *cobra.Command {
	o := bench.WorkflowOptions{Progress: p.err}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "steps",
		Short: "One instance of many steps against as many bare commits; events",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.measure(cmd.Context(), asJSON, func(db surreal.Config) (benchReport, error) {
				o.DB = db
				return bench.Steps(cmd.Context(), o)
			})
		},
	}
	cmd.Flags().IntVar(&o.Steps, "steps", 200, "how many steps")
	cmd.Flags().IntVar(&o.Samples, "samples", 50, "how many events are sent")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newBenchInstancesCommand(p *program) *cobra.Command {
	o := bench.WorkflowOptions{Progress: p.err}
	var asJSON bool
	var backend string
	cmd := &cobra.Command{
		Use:   "instances",
		Short: "Many instances of a few steps at a time, and one alone",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if backend != "" {
				at, err := url.Parse(backend)
				if err != nil || at.Host == "" {
					return usagef("--backend %q is no URL; write for instance http://127.0.0.1:3000", backend)
				}
				o.Backend = at
			}
			return p.measure(cmd.Context(), asJSON, func(db surreal.Config) (benchReport, error) {
				o.DB = db
				return bench.Instances(cmd.Context(), o)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Count, "count", 500, "how many instances")
	f.IntVar(&o.Steps, "steps", 5, "steps of each")
	f.IntVar(&o.Concurrency, "concurrency", 50, "how many at a time")
	f.IntVar(&o.Samples, "samples", 50, "how many alone")
	f.StringVar(&backend, "backend", "", "measure the process at this URL, which serves the workflow BENCH on the same database")
	jsonFlag(cmd, &asJSON)
	return cmd
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/surreal"
)

// A processBench is what the benches share that watch a node from outside.
type processBench struct {
	bench.ProcessOptions
	ownDatabase bool
	json        bool
}

func (b *processBench) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&b.ownDatabase, "devdb", false, "measure a development database of its own, started for this and gone afterwards")
	f.StringVar(&b.Pprof, "pprof", "", "where the node serves its profiles, for instance 127.0.0.1:6060")
	f.IntVar(&b.Concurrency, "concurrency", 16, "the backend's slots")
	jsonFlag(cmd, &b.json)
}

// run runs a bench on the configured database or one of its own and prints its report.
func (b *processBench) run(ctx context.Context, p *program, measure func() (benchReport, error)) (err error) {
	b.Progress, b.Node = p.err, nodeProcess
	if !b.ownDatabase {
		return p.measure(ctx, b.json, func(db surreal.Config) (benchReport, error) {
			b.DB = db
			return measure()
		})
	}
	server, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0", Progress: p.err})
	if err != nil {
		return fmt.Errorf("start a development database: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	b.DatabasePID = server.PID()
	b.DB = surreal.Config{Endpoint: server.Endpoint(), Namespace: "bench", Database: "bench", Username: server.User(), Password: server.Password()}
	report, err := measure()
	if err != nil {
		return err
	}
	return p.show(b.json, report)
}

// nodeProcess is this program as nothing but a node.
func nodeProcess() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "bench", "node") //nolint:gosec,noctx // this program; it ends with its standard input
}

func newBenchNodeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "node", Short: "A node alone, for benches that watch one from outside", Hidden: true, Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return bench.RunNode(cmd.Context(), os.Stdin, p.out) },
	}
}

func newBenchBacklogCommand(p *program) *cobra.Command {
	var b processBench
	var o bench.BacklogOptions
	cmd := &cobra.Command{
		Use:   "backlog",
		Short: "What a growing backlog of due jobs costs: claims, a node's memory, CPU and statements",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.run(cmd.Context(), p, func() (benchReport, error) {
				o.ProcessOptions = b.ProcessOptions
				return bench.Backlog(cmd.Context(), o)
			})
		},
	}
	cmd.Flags().IntVar(&o.Rows, "rows", 100_000, "the largest backlog; a thousand and each ten times as many are measured on the way")
	cmd.Flags().BoolVar(&o.Ordered, "ordered", false, "give the jobs ids that grow, as CREATE job:ulid() does, instead of random ones")
	cmd.Flags().DurationVar(&o.Watch, "watch", 0, "how long a node is looked at beside each (default 5s)")
	b.flags(cmd)
	return cmd
}

func newBenchSleepingCommand(p *program) *cobra.Command {
	var b processBench
	var o bench.SleepingOptions
	cmd := &cobra.Command{
		Use:   "sleeping",
		Short: "What instances that sleep cost a node",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.run(cmd.Context(), p, func() (benchReport, error) {
				o.ProcessOptions = b.ProcessOptions
				return bench.Sleeping(cmd.Context(), o)
			})
		},
	}
	cmd.Flags().IntVar(&o.Instances, "instances", 100_000, "how many sleep")
	cmd.Flags().DurationVar(&o.Watch, "watch", 0, "how long the node is looked at, with and without them (default 5s)")
	b.flags(cmd)
	return cmd
}

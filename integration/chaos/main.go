package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sp00ky.cloud/spky/integration/chaos/backend"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/integration/chaos/world"
)

func main() {
	if os.Getenv(backend.Variable) != "" {
		os.Exit(backend.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errFindings):
		os.Exit(1) //nolint:gocritic // stop has nothing left to do
	}
	fmt.Fprintln(os.Stderr, "chaos:", err)
	os.Exit(2)
}

// command reads the command line and runs.
func command(ctx context.Context, args []string, out, log io.Writer) error {
	var r run
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(log)
	minutes := flags.Float64("minutes", 5, "how long work is created and faults are injected")
	flags.Uint64Var(&r.options.Seed, "seed", 42, "of the plan: the same seed, with the same other flags, is the same plan")
	flags.IntVar(&r.options.Jobs, "jobs", 10000, "how many jobs")
	flags.IntVar(&r.options.Workflows, "workflows", 500, "how many instances of workflows, every other in TypeScript")
	flags.DurationVar(&r.options.Gap, "gap", 2500*time.Millisecond, "mean time between two faults")
	flags.BoolVar(&r.options.Clock, "clock", true, "shift nodes' clocks; takes a minute more to build")
	flags.BoolVar(&r.race, "race", false, "build the nodes with the race detector; what it finds is a finding")
	flags.StringVar(&r.sabotage, "break", "", "break the program on purpose: "+strings.Join(world.Sabotages(), ", "))
	flags.StringVar(&r.dir, "dir", "", "where to keep everything; by default a temporary directory, removed if nothing is found")
	only := flags.Bool("plan", false, "print the plan's faults and do nothing")
	verbose := flags.Bool("v", false, "tell of every fault")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected %q; there are only flags: --help shows them", flags.Arg(0))
	}
	r.options.Length = time.Duration(*minutes * float64(time.Minute))
	p, err := plan.New(r.options)
	if err != nil {
		return err
	}
	if *only {
		for _, f := range p.Faults {
			fmt.Fprintln(out, f)
		}
		return nil
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	r.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	r.out, r.plan, r.patience = out, p, settlePatience
	if r.sabotage != "" {
		r.patience = brokenPatience
	}
	return r.do(ctx)
}

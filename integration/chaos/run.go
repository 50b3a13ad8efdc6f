package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/integration/chaos/check"
	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/load"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/integration/chaos/world"
)

// errFindings is a run that has found something.
var errFindings = errors.New("there are findings")

// A run is one performance of a plan.
type run struct {
	options  plan.Options
	plan     *plan.Plan
	sabotage string
	race     bool
	dir      string
	patience time.Duration // with what is left in the end
	out      io.Writer
	log      *slog.Logger

	world    *world.World
	driver   *journal.Writer
	loader   *load.Loader
	findings []check.Finding
}

// do performs the plan and reports.
func (r *run) do(ctx context.Context) (err error) {
	temporary := r.dir == ""
	if temporary {
		if r.dir, err = os.MkdirTemp("", "spky-chaos-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	defer func() {
		if temporary && err == nil {
			err = os.RemoveAll(r.dir)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.world, err = world.Start(ctx, world.Config{Dir: r.dir, Sabotage: r.sabotage, Clock: r.options.Clock, Race: r.race, Keep: r.options.Keep(), Backend: []string{self}, Log: r.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.world.Close()) }()
	if r.driver, err = journal.Open(filepath.Join(r.world.Journals(), "driver.jsonl"), "driver"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.driver.Close()) }()
	return r.perform(ctx)
}

func (r *run) perform(ctx context.Context) error {
	began := time.Now()
	r.loader = &load.Loader{Plan: r.plan, World: r.world, Journal: r.driver, Began: began}
	r.log.Info("begins", "seed", r.options.Seed, "length", r.options.Length, "jobs", r.options.Jobs, "workflows", r.options.Workflows, "faults", len(r.plan.Faults), "dir", r.dir)
	both, working := errgroup.WithContext(ctx)
	both.Go(func() error { return r.loader.Run(working) })
	both.Go(func() error { return r.injectAll(working, began) })
	if err := both.Wait(); err != nil {
		return err
	}
	if err := r.heal(ctx); err != nil {
		return err
	}
	healed := time.Now()
	if err := r.settle(ctx); err != nil {
		return err
	}
	r.log.Info("settled", "took", time.Since(healed).Round(time.Millisecond))
	r.stop() // what is read must not change meanwhile
	state, err := check.Read(ctx, r.world.DB.Retrying(), world.Tables(), r.world.Journals(), r.plan)
	if err != nil {
		return err
	}
	r.findings = append(r.findings, state.Findings()...)
	for _, text := range append(r.world.Faults(), r.world.Breakdowns()...) {
		r.findings = append(r.findings, check.Finding{Rule: "process", Text: text})
	}
	return r.report(state, time.Since(began))
}

// injectAll makes the plan's faults happen, each at its time, and returns when all are over.
func (r *run) injectAll(ctx context.Context, began time.Time) error {
	injecting, ctx := errgroup.WithContext(ctx)
	for _, f := range r.plan.Faults {
		injecting.Go(func() error {
			timer := time.NewTimer(time.Until(began.Add(f.At)))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return nil
			}
			r.log.Debug("fault", "is", f.String())
			r.driver.Write(journal.Entry{What: journal.Fault, Text: f.String()})
			if err := r.world.Inject(ctx, f); err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
			return nil
		})
	}
	return injecting.Wait()
}

// heal starts what does not run, and lets nothing begin any more. A process that ended by itself is a finding; the others go on without it until here.
func (r *run) heal(ctx context.Context) error {
	for _, name := range append(plan.Servers(), plan.Nodes()...) {
		if err := r.world.Process(name).Start(); err != nil {
			return err
		}
	}
	r.driver.Write(journal.Entry{What: journal.Fault, Text: "everything is mended"})
	if err := r.world.Works(ctx); err != nil {
		return err
	}
	return r.world.Rest(ctx)
}

// stop ends all processes in order, as an operator does.
func (r *run) stop() {
	var all errgroup.Group
	for _, name := range append(plan.Servers(), plan.Nodes()...) {
		all.Go(r.world.Process(name).Terminate)
	}
	if err := all.Wait(); err != nil {
		r.findings = append(r.findings, check.Finding{Rule: "process", Text: err.Error()})
	}
}

// report writes what was done and what is wrong.
func (r *run) report(state *check.State, took time.Duration) error {
	fmt.Fprintf(r.out, "seed %d, %s of faults, %s in all\n", r.options.Seed, r.options.Length, took.Round(time.Second))
	fmt.Fprintf(r.out, "faults     %s\n", r.injected())
	state.Figures(r.out)
	if len(r.findings) == 0 {
		fmt.Fprintln(r.out, "findings   none")
		return nil
	}
	state.Print(r.out, r.findings)
	fmt.Fprintf(r.out, "findings   %d: %s\n", len(r.findings), check.Rules(r.findings))
	fmt.Fprintf(r.out, "again      %s\nkept in    %s\n", r.again(), r.dir)
	return errFindings
}

// again is the command that repeats the run.
func (r *run) again() string {
	o := r.options
	text := fmt.Sprintf("go run ./integration/chaos --seed %d --minutes %.3f --jobs %d --workflows %d --gap %s", o.Seed, o.Length.Minutes(), o.Jobs, o.Workflows, r.plan.Gap)
	if !o.Clock {
		text += " --clock=false"
	}
	if r.race {
		text += " --race"
	}
	if r.sabotage != "" {
		text += " --break " + r.sabotage
	}
	return text
}

// injected counts the faults by kind and by what they happened to.
func (r *run) injected() string {
	counts := map[string]int{}
	var order []string
	for _, f := range r.plan.Faults {
		what := "node"
		switch {
		case f.Target == plan.Database:
			what = "database"
		case strings.Contains(f.Target, ">"):
			what = "link"
		case !strings.HasPrefix(f.Target, "n"):
			what = "backend"
		}
		name := what + " " + string(f.Kind)
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	text := fmt.Sprintf("%d:", len(r.plan.Faults))
	for _, name := range order {
		text += fmt.Sprintf(" %s %d,", name, counts[name])
	}
	return strings.TrimSuffix(text, ",")
}

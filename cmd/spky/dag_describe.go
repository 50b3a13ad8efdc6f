package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newDAGDescribeCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "describe <run|name>",
		Aliases: []string{"get"},
		Short:   "Show a run with its steps; of a DAG, the newest",
		Long: `Show a run with its steps; given the name of a DAG, its newest run.

  blocked     waits for the steps it depends on
  ready       may begin, and will at once
  dispatched  its job is under way: spky jobs get, spky explain
  success     its job succeeded
  failed      its job did not, or there could be none
  skipped     will not begin, since the run failed or was cancelled`,
		Example:           "  spky dag describe nightly",
		Args:              takes(1, "a run, or the name of a DAG"),
		ValidArgsFunction: p.completeDAG,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDAGs(cmd.Context(), func(d dagOps) error {
				run, err := findRun(cmd.Context(), d, args[0])
				if err != nil {
					return err
				}
				return p.printRun(run, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// findRun is the run of this id or, if there is none, the newest of the DAG of this name.
func findRun(ctx context.Context, d dagOps, name string) (admin.DetailedRun, error) {
	run, err := d.Run(ctx, name)
	if !errors.Is(err, admin.ErrNotFound) {
		return run, err
	}
	dag, missing := d.Get(ctx, name)
	switch {
	case errors.Is(missing, admin.ErrNotFound):
		return run, err
	case missing != nil:
		return run, missing
	case dag.LastRun == nil:
		return run, fmt.Errorf("describe DAG %s: it has had no run: run %w", name, admin.ErrNotFound)
	}
	return d.Run(ctx, dag.LastRun.ID)
}

func (p *program) printRun(r admin.DetailedRun, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, r)
	}
	o := p.fields(18)
	o.text("Run", r.ID)
	o.text("DAG", r.DAG)
	o.text("Key", r.Key)
	o.styled("Status", o.style.Status(runState(r.DAGRun)))
	if r.Error != nil {
		o.styled("Why", o.style.Red(render.Printable(runWhy(r.Error))))
	}
	o.text("Steps", fmt.Sprintf("%d of %d succeeded", r.StepsDone, r.StepsTotal))
	o.text("On failure", r.OnFailure)
	if r.RetryCount > 0 {
		o.text("Retried", fmt.Sprint(r.RetryCount))
	}
	o.moment("Start", &r.StartedAt)
	if r.FinishedAt == nil {
		o.moment("Ends at the latest", r.DeadlineAt)
	}
	o.moment("End", r.FinishedAt)
	fmt.Fprintln(p.out)
	now := time.Now()
	table := render.NewTable("STEP", "STATUS", "TOOK", "AFTER", "JOB", "WHY")
	table.Paint(1, o.style.Status)
	for _, s := range r.Steps {
		took := "-"
		if s.StartedAt != nil {
			took = render.Span(until(s.FinishedAt, now).Sub(*s.StartedAt))
		}
		table.Add(render.Cut(s.Name, 40), s.Status, took, render.Cut(strings.Join(s.DependsOn, ", "), 40), s.Job, render.Cut(runWhy(s.Error), 80))
	}
	return table.Write(p.out, o.style)
}

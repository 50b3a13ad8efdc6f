package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// dagOps is what commands on DAGs do: on the database, or through an admin API.
type dagOps interface {
	List(ctx context.Context) ([]admin.DAG, error)
	Get(ctx context.Context, name string) (admin.DAG, error)
	ListRuns(ctx context.Context, o admin.RunListOptions) (admin.RunPage, error)
	Run(ctx context.Context, id string) (admin.DetailedRun, error)
	Trigger(ctx context.Context, name string) (admin.StartedRuns, error)
	Cancel(ctx context.Context, id string) (string, error)
	Retry(ctx context.Context, id string) (admin.RetriedRun, error)
	Rerun(ctx context.Context, id string) (string, error)
}

func newDAGCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dag",
		Aliases: []string{"dags"},
		Short:   "Look at jobs that wait for one another, start, cancel and retry their runs",
		Long: `Look at jobs that wait for one another, start, cancel and retry their runs: the
top-level workflows: of sp00ky.yml, once a node has written them into the
database. Workflows in code are another thing: spky workflows.

Everything here works on the database alone. Each step of a run is a job: spky
jobs shows more of it. spky schedules pauses a DAG that has a clock.`,
		Example: `  spky dag trigger nightly
  spky dag describe nightly`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newDAGListCommand(p), newDAGRunsCommand(p), newDAGDescribeCommand(p))
	cmd.AddCommand(newDAGActCommands(p)...)
	return cmd
}

// withDAGs gives a command the DAGs.
func (p *program) withDAGs(ctx context.Context, do func(dagOps) error) error {
	return remediedDAG(reach(ctx, p, func(api *client.Client) dagOps { return api.DAGs() },
		func(db *surreal.Client, cfg *config.Config) dagOps { return admin.NewDAGs(db, redact.New(cfg.Redact)) }, do))
}

// remediedDAG gives an error its remedy.
func remediedDAG(err error) error {
	var refused *admin.StateError
	switch {
	case err == nil || hint.Of(err) != "":
	case errors.As(err, &refused) && refused.Status == admin.ScheduleRetired:
		return hint.Wrap(err, "no node's sp00ky.yml has it any more; a node that starts with one that has it brings it back")
	case errors.As(err, &refused) && strings.Contains(refused.Status, "not over"):
		return hint.Wrap(err, "wait until it is, or `spky dag cancel` it: `spky dag runs` shows the runs; `concurrency: allow` in sp00ky.yml lets them overlap")
	case errors.As(err, &refused):
		return hint.Wrap(err, "possible now: %s", joined(refused.Possible))
	case errors.Is(err, admin.ErrNotFound):
		return hint.Wrap(err, "`spky dag list` shows the DAGs there are, `spky dag runs <name>` their runs; a node that starts writes those of its sp00ky.yml")
	}
	return err
}

func newDAGListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the DAGs: when each is due, and what its newest run came to",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withDAGs(cmd.Context(), func(d dagOps) error {
				all, err := d.List(cmd.Context())
				if err != nil {
					return err
				}
				return p.printDAGs(all, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printDAGs(all []admin.DAG, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.out, "No DAGs. They stand under the top-level workflows: in sp00ky.yml; a node that starts writes them into the database.")
		return nil
	}
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("NAME", "STEPS", "WHEN", "NEXT", "LAST", "LAST RUN")
	table.Paint(5, style.Status)
	now := time.Now()
	for _, d := range all {
		when, next, last, status := "by hand", age(d.NextAt, now), "-", "-"
		if d.Cron != "" || d.EveryMS != 0 {
			when = scheduleClock(admin.Schedule{Cron: d.Cron, EveryMS: d.EveryMS, Timezone: d.Timezone})
		}
		switch {
		case d.State != admin.ScheduleActive:
			next = d.State
		case d.Late:
			next = "late"
		}
		if d.LastRun != nil {
			last, status = age(&d.LastRun.StartedAt, now), d.LastRun.Status
		}
		table.Add(render.Cut(d.Name, 40), fmt.Sprint(len(d.Steps)), when, next, last, status)
	}
	return table.Write(p.out, style)
}

func newDAGRunsCommand(p *program) *cobra.Command {
	var asJSON bool
	var o admin.RunListOptions
	cmd := &cobra.Command{
		Use:   "runs <name>",
		Short: "List runs of a DAG, newest first",
		Long: `List runs of a DAG, newest first. Where there are more, a cursor is told on
standard error: --cursor goes on from there.`,
		Args:              takes(1, "the name of a DAG"),
		ValidArgsFunction: p.completeDAG,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Limit < 1 || o.Limit > 200 {
				return usagef("--limit is %d; allowed: 1 to 200", o.Limit)
			}
			o.DAG = args[0]
			return p.withDAGs(cmd.Context(), func(d dagOps) error { return p.listRuns(cmd.Context(), d, o, asJSON) })
		},
	}
	cmd.Flags().StringVar(&o.Status, "status", "", "only runs in this state: "+strings.Join(admin.RunStatuses(), ", "))
	cmd.Flags().StringVar(&o.Cursor, "cursor", "", "go on where a list ended")
	cmd.Flags().IntVar(&o.Limit, "limit", 20, "how many runs to show")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) listRuns(ctx context.Context, d dagOps, o admin.RunListOptions, asJSON bool) error {
	if _, err := d.Get(ctx, o.DAG); err != nil {
		return err
	}
	page, err := d.ListRuns(ctx, o)
	if err != nil {
		return err
	}
	if err := p.printRuns(page.Runs, asJSON); err != nil || page.Next == "" {
		return err
	}
	fmt.Fprintf(p.err, "hint: there are more: --cursor %s\n", shellQuote(page.Next))
	return nil
}

func (p *program) printRuns(runs []admin.DAGRun, asJSON bool) error {
	switch {
	case asJSON:
		return render.JSON(p.out, runs)
	case len(runs) == 0:
		fmt.Fprintln(p.out, "No runs.")
		return nil
	}
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("RUN", "STATUS", "STEPS", "STARTED", "TOOK", "KEY", "WHY")
	table.Paint(1, style.Status)
	now := time.Now()
	for _, r := range runs {
		took := render.Span(until(r.FinishedAt, now).Sub(r.StartedAt))
		table.Add(r.ID, runState(r), fmt.Sprintf("%d/%d", r.StepsDone, r.StepsTotal), age(&r.StartedAt, now), took, render.Cut(r.Key, 40), render.Cut(runWhy(r.Error), 60))
	}
	return table.Write(p.out, style)
}

func runState(r admin.DAGRun) string {
	if r.Stopping {
		return "stopping"
	}
	return r.Status
}

func runWhy(e *admin.RunError) string {
	if e == nil {
		return ""
	}
	return strings.TrimSuffix(e.Code+": "+e.Reason, ": ")
}

func dagNames(cfg *config.Config) []string {
	names := make([]string, 0, len(cfg.Workflows))
	for _, d := range cfg.Workflows {
		names = append(names, d.Name)
	}
	return names
}

// completeDAG offers the DAGs of the configuration.
func (p *program) completeDAG(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completeFrom(dagNames)(cmd, args, text)
}

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newStatsCommand(p *program) *cobra.Command {
	var asJSON bool
	var hours int
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how many jobs and instances there are, and how the backends fare",
		Long: `Show how many jobs and workflow instances there are in each state, since when the
oldest due job waits, and how the backends fared in about the last minute. Half of
the attempts took at most P50, 99 of a hundred at most P99: upper bounds, up to a
fifth too long.

Each state is counted to 1,000 in each table, so that it costs little however
many there are; a + behind a number says that some were not counted.

With --hours: what finished in the last so many hours, the present one included,
by workflow or route of jobs. What retention has deleted since is counted too.
--json has the counts of each hour.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("hours") {
				return p.showAnalytics(cmd.Context(), hours, asJSON)
			}
			return p.showStats(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().IntVar(&hours, "hours", 0, "show what finished in the last so many hours, up to 744")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) showStats(ctx context.Context, asJSON bool) error {
	return p.withJobs(ctx, "", anyTables, func(d *desk) error {
		o, err := d.cluster.Overview(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return render.JSON(p.out, o)
		}
		backends, err := d.cluster.Backends(ctx)
		if err != nil {
			return err
		}
		return p.printStats(o, backends)
	})
}

func (p *program) printStats(o admin.Overview, backends []admin.Backend) error {
	style := render.StyleFor(p.out, p.env)
	jobs := render.NewTable("TABLE", "PENDING", "DUE", "OLDEST DUE", "PROCESSING", "STALLED", "SUCCESS", "FAILED", "CANCELLED")
	for _, t := range o.Tables {
		n := counted(t.More)
		jobs.Add(t.Table, n(t.Pending), n(t.Due), age(t.OldestDue, o.Now), n(t.Processing), n(t.Stalled), n(t.Success), n(t.Failed), n(t.Cancelled))
	}
	if err := jobs.Write(p.out, style); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	i, n := o.Instances, counted(o.Instances.More)
	instances := render.NewTable("INSTANCES", "QUEUED", "RUNNING", "WAITING", "PAUSED", "STALLED", "COMPLETE", "ERRORED", "TERMINATED")
	instances.Add("", n(i.Queued), n(i.Running), n(i.Waiting), n(i.Paused), n(i.Stalled), n(i.Complete), n(i.Errored), n(i.Terminated))
	if err := instances.Write(p.out, style); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	table := render.NewTable("BACKEND", "NODES", "BUSY", "QUEUED", "ATTEMPTS", "FAILED", "P50", "P99", "CIRCUIT")
	table.Paint(8, style.Status)
	for _, b := range backends {
		table.Add(b.Name, fmt.Sprint(len(b.Nodes)), fmt.Sprintf("%d/%d", b.Busy, b.Slots), fmt.Sprint(b.Queued),
			fmt.Sprint(b.Attempts), fmt.Sprint(b.Failures), quantile(b.P50MS, b.Attempts), quantile(b.P99MS, b.Attempts), b.Circuit)
	}
	return table.Write(p.out, style)
}

// quantile writes one as what it is, the upper edge of the step in which it lies; there is none without attempts.
func quantile(ms float64, attempts int) string {
	if attempts == 0 {
		return "-"
	}
	return "≤" + render.Span(time.Duration(math.Ceil(ms))*time.Millisecond)
}

// counted writes numbers; one that the counting stopped at has a + behind it.
func counted(more bool) func(int) string {
	return func(n int) string {
		if more && n > 0 && n%admin.MaxCounted == 0 {
			return fmt.Sprintf("%d+", n)
		}
		return fmt.Sprint(n)
	}
}

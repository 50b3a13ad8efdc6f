package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/outbox"
)

type listFlags struct {
	options admin.JobListOptions
	status  string
	limit   int
	json    bool
}

// maxList bounds --limit.
const maxList = 10_000

func newJobsListCommand(p *program) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List jobs, newest first",
		Long: `List jobs, newest first, of all outbox tables or of one.

Payloads, results and errors are not shown: spky jobs get shows them. Where there
are more, a cursor is told on standard error: --cursor goes on from there.

--query looks for a part of the path or of the id; it looks through a few thousand
jobs and then tells a cursor, even where it has found none.`,
		Example: "  spky jobs list --status failed --limit 50\n  spky jobs list --json | jq -r '.[].id'",
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listJobs(cmd.Context(), f) },
	}
	p.tableFlag(cmd, &f.options.Table)
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "only jobs in this state: "+strings.Join(statusWords(), ", "))
	flags.StringVar(&f.options.Backend, "backend", "", "only jobs of this backend")
	flags.StringVar(&f.options.Origin, "origin", "", "only jobs of this origin: durable for those that run workflow instances, app for others")
	flags.StringVarP(&f.options.Query, "query", "q", "", "only jobs with this in their path or id")
	flags.BoolVar(&f.options.Stalled, "stalled", false, "only jobs whose node fell silent while they ran")
	flags.StringVar(&f.options.Cursor, "cursor", "", "go on where a list ended")
	flags.IntVar(&f.limit, "limit", admin.DefaultPage, "how many jobs at most")
	complete(cmd, "status", statusWords()...)
	complete(cmd, "origin", admin.Origins()...)
	_ = cmd.RegisterFlagCompletionFunc("backend", p.completeFrom(backendNames))
	jsonFlag(cmd, &f.json)
	return cmd
}

func statusWords() []string {
	var words []string
	for _, s := range outbox.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func (p *program) listJobs(ctx context.Context, f listFlags) error {
	if f.status != "" && !slices.Contains(statusWords(), f.status) {
		return usagef("--status is %q; allowed: %s", f.status, strings.Join(statusWords(), ", "))
	}
	if f.limit < 1 || f.limit > maxList {
		return usagef("--limit is %d; allowed: 1 to %d", f.limit, maxList)
	}
	f.options.Status = outbox.Status(f.status)
	return p.withJobs(ctx, f.options.Table, nil, func(d *desk) error {
		page, err := d.upTo(ctx, f.options, f.limit)
		if err != nil {
			return err
		}
		switch {
		case f.json:
			err = render.JSON(p.out, page.Jobs)
		case len(page.Jobs) == 0 && page.Next == "":
			fmt.Fprintln(p.out, "No jobs.")
		default:
			err = p.printJobs(page)
		}
		if page.Next != "" {
			fmt.Fprintf(p.err, "hint: there may be more: --cursor %s\n", shellQuote(page.Next))
		}
		return err
	})
}

// upTo collects as many jobs as are wanted, page by page; a page that is short for having looked through
// enough ends it too.
func (d *desk) upTo(ctx context.Context, o admin.JobListOptions, limit int) (admin.JobPage, error) {
	all := admin.JobPage{Jobs: []admin.JobSummary{}}
	for {
		o.Limit = min(limit-len(all.Jobs), admin.MaxPage)
		page, err := d.jobs.List(ctx, o)
		if err != nil {
			return all, err
		}
		all.Jobs = append(all.Jobs, page.Jobs...)
		all.Next, all.Now = page.Next, page.Now
		if page.Next == "" || len(all.Jobs) >= limit || len(page.Jobs) < o.Limit {
			return all, nil
		}
		o.Cursor = page.Next
	}
}

func (p *program) printJobs(page admin.JobPage) error {
	table := render.NewTable("ID", "STATUS", "FAILED", "PATH", "CREATED", "UPDATED", "NEXT")
	style := render.StyleFor(p.out, p.env)
	table.Paint(1, style.Status)
	for _, job := range page.Jobs {
		table.Add(render.Cut(job.ID, 300), string(job.Status), tries(job), render.Cut(job.Path, 60),
			age(job.CreatedAt, page.Now), age(job.UpdatedAt, page.Now), next(job, page.Now))
	}
	return table.Write(p.out, style)
}

func age(at *time.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return render.Age(*at, now)
}

// tries is how many attempts failed of how many there are.
func tries(job admin.JobSummary) string { return fmt.Sprintf("%d/%d", job.Retries, job.MaxRetries) }

// next is what happens next to a job, and when.
func next(job admin.JobSummary, now time.Time) string {
	switch job.Status {
	case outbox.Pending:
		if job.RunAt != nil && job.RunAt.After(now) {
			return "runs " + render.Age(*job.RunAt, now)
		}
		return "due"
	case outbox.Processing:
		switch {
		case job.CancelRequested != nil:
			return "being cancelled"
		case job.Stalled:
			return "stalled: " + job.Assignee + " fell silent"
		}
		return "held by " + job.Assignee
	case outbox.Success, outbox.Failed, outbox.Cancelled:
	}
	return ""
}

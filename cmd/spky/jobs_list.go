package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

type listFlags struct {
	table, status string
	limit         int
	json          bool
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

Payloads, results and errors are not shown: spky jobs get shows them.`,
		Example: "  spky jobs list --status failed --limit 50\n  spky jobs list --json | jq -r '.[].id'",
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listJobs(cmd.Context(), f) },
	}
	p.tableFlag(cmd, &f.table)
	cmd.Flags().StringVar(&f.status, "status", "", "only jobs in this state: "+strings.Join(statusWords(), ", "))
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many jobs at most")
	complete(cmd, "status", statusWords()...)
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
	return p.withJobs(ctx, f.table, func(d *desk) error {
		rows, err := d.newest(ctx, outbox.Status(f.status), f.limit)
		if err != nil {
			return err
		}
		if f.json {
			return render.Rows(p.out, rows)
		}
		if len(rows) == 0 {
			fmt.Fprintln(p.out, "No jobs.")
			return nil
		}
		now, err := surreal.First[time.Time](ctx, d.db, "RETURN time::now()", nil)
		if err != nil {
			return err
		}
		return p.printJobs(rows, now)
	})
}

// newest are the newest rows of all tables.
func (d *desk) newest(ctx context.Context, status outbox.Status, limit int) ([]any, error) {
	tables, err := d.all()
	if err != nil {
		return nil, err
	}
	var all []outbox.Row
	for _, name := range tables {
		rows, err := d.table(name).List(ctx, status, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b outbox.Row) int {
		atA, _ := moment(a["created_at"])
		atB, _ := moment(b["created_at"])
		return atB.Compare(atA)
	})
	rows := []any{}
	for _, row := range all[:min(limit, len(all))] {
		rows = append(rows, row)
	}
	return rows, nil
}

func (p *program) printJobs(rows []any, now time.Time) error {
	table := render.NewTable("ID", "STATUS", "FAILED", "PATH", "CREATED", "UPDATED", "NEXT")
	style := render.StyleFor(p.out, p.env)
	table.Paint(1, style.Status)
	for _, one := range rows {
		row, ok := one.(outbox.Row)
		if !ok {
			continue
		}
		created, _ := moment(row["created_at"])
		updated, _ := moment(row["updated_at"])
		table.Add(idText(row), word(row["status"]), tries(row), render.Cut(word(row["path"]), 60),
			render.Age(created, now), render.Age(updated, now), next(row, now))
	}
	return table.Write(p.out, style)
}

func idText(row outbox.Row) string {
	if id, ok := row["id"].(surreal.RecordID); ok {
		return surreal.FormatID(id)
	}
	return "-"
}

// tries is how many attempts failed of how many there are.
func tries(row outbox.Row) string {
	failed, most := fmt.Sprint(row["retries"]), fmt.Sprint(row["max_retries"])
	if row["retries"] == nil {
		failed = "0"
	}
	if row["max_retries"] == nil {
		most = fmt.Sprint(outbox.DefaultAttempts)
	}
	return failed + "/" + most
}

// next is what happens next to a job, and when.
func next(row outbox.Row, now time.Time) string {
	switch outbox.Status(word(row["status"])) {
	case outbox.Pending:
		if at, ok := moment(row["run_at"]); ok && at.After(now) {
			return "runs " + render.Age(at, now)
		}
		return "due"
	case outbox.Processing:
		if _, asked := moment(row["cancel_requested"]); asked {
			return "being cancelled"
		}
		return "held by " + word(row["assignee"])
	}
	return ""
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newJobsWatchCommand(p *program) *cobra.Command {
	var table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch [id]",
		Short: "Watch jobs change, as it happens",
		Long: `Watch jobs change, as it happens. With an id: that job, until it is finished.
Without: every job, until Ctrl-C; changes that follow each other closely may be
shown as one, and those during a lost connection are not shown.

` + jobIDHelp,
		Example: "  spky jobs watch\n  spky jobs watch job:ab12 --json",
		Args:    takes(0, "the id of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withJobs(cmd.Context(), table, args, func(d *desk) error {
				w := &watcher{p: p, json: asJSON}
				if len(args) == 1 {
					_, _, err := w.job(cmd.Context(), d, d.id(args[0]))
					return remediedJob(err)
				}
				return w.all(cmd.Context(), d)
			})
		},
	}
	p.tableFlag(cmd, &table)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// A watcher prints changes.
type watcher struct {
	p           *program
	json, quiet bool
	seen        map[string]string // the states of jobs that are not finished
}

// job watches a job until it is finished or deleted.
func (w *watcher) job(ctx context.Context, d *desk, id string) (end admin.Job, deleted bool, err error) {
	last, known := admin.JobSummary{}, false
	end, err = d.jobs.Watch(ctx, id, func(job admin.Job) error {
		last, known = job.JobSummary, true
		return w.tell(admin.JobChange{JobSummary: last})
	})
	if known && errors.Is(err, admin.ErrNotFound) {
		return end, true, w.tell(admin.JobChange{JobSummary: admin.JobSummary{ID: last.ID, Table: last.Table}, Deleted: true})
	}
	return end, false, err
}

// all watches all jobs until ctx ends.
func (w *watcher) all(ctx context.Context, d *desk) error {
	if !w.json {
		what := d.table
		if what == "" {
			what = joined(d.tables)
		}
		fmt.Fprintf(w.p.err, "Watching %s. Ctrl-C ends it.\n", what)
	}
	return d.jobs.Changes(ctx, d.table, func(c admin.JobChange) error {
		if c.Gap {
			fmt.Fprintf(w.p.err, "spky: watch %s: the connection was lost; changes may have been missed\n", c.Table)
			return nil
		}
		return w.tell(c)
	})
}

// A changeLine is a change as one line of JSON.
type changeLine struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id"`
	Status  string    `json:"status"`
	Before  string    `json:"before,omitempty"`
	Path    string    `json:"path,omitempty"`
	Retries int       `json:"retries,omitempty"`
	Max     int       `json:"max_retries,omitempty"`
	Deleted bool      `json:"deleted,omitempty"`
}

// maxSeen bounds what is remembered of jobs that are not finished.
const maxSeen = 100_000

// tell prints a change, of the state or, where that was asked for, of one job's failed attempts.
func (w *watcher) tell(c admin.JobChange) error {
	if w.quiet {
		return nil
	}
	if w.seen == nil {
		w.seen = map[string]string{}
	}
	line := changeLine{
		At: time.Now().UTC(), ID: c.ID, Status: string(c.Status), Before: w.seen[c.ID], Path: c.Path, Retries: c.Retries, Max: c.MaxRetries, Deleted: c.Deleted,
	}
	state := fmt.Sprint(line.Status, " ", c.Retries)
	if !c.Deleted && w.seen[c.ID+" "] == state {
		return nil
	}
	delete(w.seen, c.ID)
	delete(w.seen, c.ID+" ")
	if !c.Deleted && !c.Status.Terminal() && len(w.seen) < maxSeen {
		w.seen[c.ID], w.seen[c.ID+" "] = line.Status, state
	}
	if w.json {
		return render.JSONLine(w.p.out, line)
	}
	style := render.StyleFor(w.p.out, w.p.env)
	status := style.Status(render.Printable(line.Status))
	tried := "failed " + tries(c.JobSummary)
	if line.Deleted {
		status, tried = style.Yellow("deleted"), ""
	}
	if line.Before != "" && line.Before != line.Status {
		status = render.Printable(line.Before) + " → " + status
	}
	_, err := fmt.Fprintf(w.p.out, "%s  %s  %s  %s  %s\n", style.Dim(line.At.Local().Format("15:04:05.000")),
		render.Printable(line.ID), status, tried, render.Printable(line.Path))
	return err
}

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/cmd/spky/internal/follow"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/surreal"
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
			return p.withJobs(cmd.Context(), table, func(d *desk) error {
				w := &watcher{p: p, json: asJSON}
				if len(args) == 1 {
					return w.job(cmd.Context(), d, args[0])
				}
				return w.tables(cmd.Context(), d)
			})
		},
	}
	p.tableFlag(cmd, &table)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// A watcher prints changes.
type watcher struct {
	p    *program
	json bool
	mu   sync.Mutex
}

func (w *watcher) job(ctx context.Context, d *desk, text string) error {
	id, err := d.id(text)
	if err != nil {
		return err
	}
	_, err = follow.Job(ctx, d.db, id, w.print)
	return orNotFound(err, id)
}

// tables watches all tables until ctx ends.
func (w *watcher) tables(ctx context.Context, d *desk) error {
	tables, err := d.all()
	if err != nil {
		return err
	}
	if !w.json {
		fmt.Fprintf(w.p.err, "Watching %s. Ctrl-C ends it.\n", joined(tables))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, table := range tables {
		group.Go(func() error {
			return follow.Table(ctx, d.db, table, w.print, func(err error) {
				fmt.Fprintf(w.p.err, "spky: watch %s: %v; changes may have been missed\n", table, err)
			})
		})
	}
	return group.Wait()
}

// A changeLine is a change as one line of JSON.
type changeLine struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id"`
	Status  string    `json:"status"`
	Before  string    `json:"before,omitempty"`
	Path    string    `json:"path,omitempty"`
	Retries any       `json:"retries,omitempty"`
	Max     any       `json:"max_retries,omitempty"`
	Deleted bool      `json:"deleted,omitempty"`
}

func (w *watcher) print(c follow.Change) error {
	line := changeLine{At: time.Now().UTC(), ID: surreal.FormatID(c.ID), Status: string(c.Status), Before: string(c.Before), Deleted: c.Deleted()}
	if !c.Deleted() {
		line.Path, line.Retries, line.Max = word(c.Row["path"]), c.Row["retries"], c.Row["max_retries"]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.json {
		return render.JSONLine(w.p.out, line)
	}
	style := render.StyleFor(w.p.out, w.p.env)
	status := style.Status(line.Status)
	if line.Deleted {
		status = style.Yellow("deleted")
	}
	if line.Before != "" && line.Before != line.Status {
		status = line.Before + " → " + status
	}
	tried := ""
	if !line.Deleted {
		tried = "failed " + tries(c.Row)
	}
	_, err := fmt.Fprintf(w.p.out, "%s  %s  %s  %s  %s\n", style.Dim(line.At.Local().Format("15:04:05.000")),
		render.Printable(line.ID), status, tried, render.Printable(line.Path))
	return err
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// Watch tells how a job is, and every change of its state or its failed attempts, until it is finished;
// changes that follow each other closely may be told as one. It is driven by LIVE SELECT: a notification
// says when to look, and what is told was read. A job that does not exist, or ceases to, is ErrNotFound.
func (j *Jobs) Watch(ctx context.Context, id string, tell func(Job) error) (Job, error) {
	record, err := j.ID(id)
	if err != nil {
		return Job{}, err
	}
	w := &jobWatch{jobs: j, id: record, tell: tell}
	for {
		done, err := w.subscribed(ctx)
		if done || err != nil && !surreal.IsUnreachable(err) {
			return w.last, err
		}
		if ctx.Err() != nil {
			return w.last, ctx.Err()
		}
	}
}

type jobWatch struct {
	jobs  *Jobs
	id    surreal.RecordID
	tell  func(Job) error
	last  Job
	known bool // whether last has been told
}

// subscribed watches until the job is finished, or until the connection is lost.
func (w *jobWatch) subscribed(ctx context.Context) (bool, error) {
	feed, err := listen(ctx, w.jobs.db, surreal.LiveConfig{Table: w.id.Table, Statement: jobStatement("live_job", w.id.Table, ""), Vars: map[string]any{"id": w.id}})
	switch {
	case surreal.IsNotFound(err):
		return false, noTable(w.id)
	case err != nil:
		return false, fmt.Errorf("watch %s: %w", surreal.FormatID(w.id), err)
	}
	defer closeFeed(ctx, feed)
	ticker := time.NewTicker(lookAnyway)
	defer ticker.Stop()
	for {
		if done, err := w.look(ctx); done || err != nil {
			return done, err
		}
		select {
		case <-feed.C():
			feed.Take()
			if err := feed.Err(); err != nil {
				return false, err
			}
		case <-ticker.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (w *jobWatch) look(ctx context.Context) (bool, error) {
	job, err := w.jobs.read(ctx, w.id)
	if err != nil {
		return false, err
	}
	same := w.known && job.Status == w.last.Status && job.Retries == w.last.Retries && (job.CancelRequested == nil) == (w.last.CancelRequested == nil)
	if same {
		return job.Status.Terminal(), nil
	}
	w.last, w.known = job, true
	return job.Status.Terminal(), w.tell(job)
}

// A JobChange is a job as it is after something happened to it.
type JobChange struct {
	JobSummary

	// Deleted says that the job is gone; of what it was only ID and Table are told.
	Deleted bool `json:"deleted,omitempty"`
	// Gap says that this is no job: changes in Table may have been missed. List what matters again.
	Gap bool `json:"gap,omitempty"`
}

// Changes tells of every change of a table's jobs, or those of all tables where it is "", until ctx
// ends. It is driven by LIVE SELECT alone, and best effort: changes that follow each other closely may
// be told as one, and those during a lost connection are not told, but the gap is. tell is called by
// one goroutine at a time.
func (j *Jobs) Changes(ctx context.Context, table string, tell func(JobChange) error) error {
	tables, err := j.chosen(table, "")
	if err != nil {
		return err
	}
	turn := make(chan struct{}, 1)
	one := func(c JobChange) error {
		turn <- struct{}{}
		defer func() { <-turn }()
		return tell(c)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, table := range tables {
		group.Go(func() error { return j.changes(ctx, table, one) })
	}
	return group.Wait()
}

func (j *Jobs) changes(ctx context.Context, table string, tell func(JobChange) error) error {
	// What a list says while nobody listens is out of date once somebody does: the gap is told at both ends.
	gap := func() error { return tell(JobChange{JobSummary: JobSummary{Table: table}, Gap: true}) }
	for again := false; ; again = true {
		feed, err := listen(ctx, j.db, surreal.LiveConfig{Table: table, Statement: jobStatement("live_jobs", table, "")})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case surreal.IsUnreachable(err):
			continue // having waited for the connection
		case err != nil:
			return fmt.Errorf("watch %s: %w", table, err)
		}
		if again {
			err = gap()
		}
		if err == nil {
			err = follow(ctx, j.db, table, feed, func(e surreal.Event) error { return j.tellEvent(ctx, e, tell) })
		}
		closeFeed(ctx, feed)
		if !errors.Is(err, errGap) && !errors.Is(err, surreal.ErrKilled) && !surreal.IsUnreachable(err) {
			return err
		}
		if err := gap(); err != nil {
			return err
		}
	}
}

func (j *Jobs) tellEvent(ctx context.Context, e surreal.Event, tell func(JobChange) error) error {
	name := surreal.FormatID(e.Record)
	if e.Action == "DELETE" {
		return tell(JobChange{JobSummary: JobSummary{ID: name, Table: e.Record.Table}, Deleted: true})
	}
	var row outbox.Row
	if err := e.Decode(&row); err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	row["id"] = e.Record
	from, err := j.originNow(ctx, row)
	if err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	return tell(JobChange{JobSummary: j.summary(row, from, time.Time{})})
}

// Package follow tells what happens to jobs while it happens.
//
// A live query says when to look; what is told is what was read. Live queries
// can miss changes, so a single job is also read once a second. A whole table is
// not, for that could be expensive: what is told of it is best effort, and a
// break in the live query is told as well.
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// lookAnyway is how often a job is read without having been announced.
const lookAnyway = time.Second

// A Change is a job as it is after something happened to it.
type Change struct {
	ID surreal.RecordID
	// Status is "" where the job was deleted.
	Status outbox.Status
	// Before is the status told last, "" where none was.
	Before outbox.Status
	// Row holds at least path, retries and max_retries; nil where the job was deleted.
	Row outbox.Row
}

// Deleted says that the job is gone.
func (c Change) Deleted() bool { return c.Row == nil }

// Job tells of one job: how it is, and every change, until it is finished or
// deleted. A job that does not exist is [outbox.ErrNotFound].
func Job(ctx context.Context, db *surreal.Client, id surreal.RecordID, tell func(Change) error) (Change, error) {
	j := &job{db: db, table: outbox.New(outbox.Config{DB: db, Name: id.Table}), id: id, tell: tell}
	for {
		live, err := db.Live(ctx, surreal.LiveConfig{
			Statement: "LIVE SELECT id, status, retries FROM `" + id.Table + "` WHERE id = $id",
			Vars:      map[string]any{"id": id},
		})
		if err != nil {
			return j.last, err
		}
		done, err := j.watch(ctx, live)
		if err := closeLive(ctx, live, err); err != nil || done {
			return j.last, err
		}
	}
}

// closeLive ends a live query, and forgives the loss of the connection: another
// one is made.
func closeLive(ctx context.Context, live *surreal.Live, err error) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	live.Close(closing)
	if surreal.IsUnreachable(err) {
		return nil
	}
	return err
}

type job struct {
	db    *surreal.Client
	table *outbox.Table
	id    surreal.RecordID
	tell  func(Change) error
	last  Change
	tries any
}

// watch looks whenever there may be something to see. It answers true when the
// job is finished.
func (j *job) watch(ctx context.Context, live *surreal.Live) (bool, error) {
	ticker := time.NewTicker(lookAnyway)
	defer ticker.Stop()
	for {
		if done, err := j.look(ctx); err != nil || done {
			return done, err
		}
		select {
		case <-live.C():
			live.Take()
			if err := live.Err(); err != nil {
				return false, err
			}
		case <-ticker.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (j *job) look(ctx context.Context) (bool, error) {
	row, err := j.table.Get(ctx, j.id)
	if errors.Is(err, outbox.ErrNotFound) && j.last.Status != "" {
		j.last = Change{ID: j.id, Before: j.last.Status}
		return true, j.tell(j.last)
	}
	if err != nil {
		return false, err
	}
	text, _ := row["status"].(string)
	status := outbox.Status(text)
	if status == j.last.Status && row["retries"] == j.tries {
		return false, nil
	}
	j.last = Change{ID: j.id, Status: status, Before: j.last.Status, Row: row}
	j.tries = row["retries"]
	return status.Terminal(), j.tell(j.last)
}

// Table tells of every change in a table until ctx ends. gap is called when
// changes may have been missed.
func Table(ctx context.Context, db *surreal.Client, table string, tell func(Change) error, gap func(error)) error {
	seen := map[string]outbox.Status{}
	for {
		live, err := db.Live(ctx, surreal.LiveConfig{
			Statement: "LIVE SELECT id, status, path, retries, max_retries FROM `" + table + "`",
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", table, err)
		}
		err = watchTable(ctx, live, seen, tell)
		if err := closeLive(ctx, live, err); err != nil {
			return err
		}
		gap(err)
	}
}

func watchTable(ctx context.Context, live *surreal.Live, seen map[string]outbox.Status, tell func(Change) error) error {
	for {
		select {
		case <-live.C():
		case <-ctx.Done():
			return ctx.Err()
		}
		events, overflow := live.Take()
		for _, e := range events {
			if err := tellEvent(e, seen, tell); err != nil {
				return err
			}
		}
		if err := live.Err(); err != nil {
			return err
		}
		if overflow {
			return fmt.Errorf("%w: more changes than could be kept", surreal.ErrDisconnected)
		}
	}
}

// maxSeen bounds what is remembered of jobs that are not finished.
const maxSeen = 100_000

func tellEvent(e surreal.Event, seen map[string]outbox.Status, tell func(Change) error) error {
	key := surreal.FormatID(e.Record)
	before := seen[key]
	if e.Action == "DELETE" {
		delete(seen, key)
		return tell(Change{ID: e.Record, Before: before})
	}
	var row outbox.Row
	if err := e.Decode(&row); err != nil {
		return fmt.Errorf("watch %s: %w", key, err)
	}
	text, _ := row["status"].(string)
	status := outbox.Status(text)
	if status == before {
		return nil
	}
	if delete(seen, key); !status.Terminal() && len(seen) < maxSeen {
		seen[key] = status
	}
	return tell(Change{ID: e.Record, Status: status, Before: before, Row: row})
}

package admin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/live_table.surql
var liveTableStatement string

// The tables beside the outbox tables whose changes [Cluster.Changes] tells.
const (
	TableInstances    = instanceTable
	TableSchedules    = "_00_schedule"
	TableScheduleRuns = "_00_schedule_run"
	TableScheduleKeys = "_00_schedule_key"
	TableRuns         = "_00_workflow_run"
	TableStepRuns     = "_00_step_run"
	TableNodes        = "_00_node"
	TableAudit        = "_00_audit"
	TableTokens       = "_00_admin_token" //nolint:gosec // no credential
)

// A LIVE SELECT costs every write of its table about as much as the write itself. So a table that changes more often
// than busyRate in a second is not listened to for busyRest: it is told of once in busyTell instead.
const (
	busyRate = 50
	busyRest = 10 * time.Second
	busyTell = time.Second
)

// A TableChange says that something happened to rows of a table.
type TableChange struct {
	Table string
	// Key is the id of the row that was written or deleted, or the first part of an id of several. It is "" where rows
	// are not told one by one: changes may have been missed, or are too many.
	Key string
}

// Changes tells of every change of a table until ctx ends. It is driven by LIVE SELECT, and best effort: what it may have
// missed, while there was no connection or a subscription was deaf, is told without a key. Of a table that changes
// often it tells about once a second, without a key, and costs the database nothing then; of any other it costs each
// write a little. A table that does not exist changes once it does.
func (c *Cluster) Changes(ctx context.Context, table string, tell func(TableChange) error) error {
	if !slices.Contains(c.jobs.tables, table) && !slices.Contains(watchable(), table) {
		return inputf("table %q; allowed: %s", table, strings.Join(append(slices.Clone(c.jobs.tables), watchable()...), ", "))
	}
	w := tableWatch{db: c.db, table: table, tell: tell, rest: busyRest}
	for {
		err := w.listen(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBusy), surreal.IsNotFound(err):
			err = w.pause(ctx)
		case errors.Is(err, errGap), errors.Is(err, surreal.ErrKilled), surreal.IsUnreachable(err):
			err = w.something()
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", table, err)
		}
	}
}

func watchable() []string {
	return []string{TableInstances, TableSchedules, TableScheduleRuns, TableScheduleKeys, TableRuns, TableStepRuns, TableNodes, TableAudit, TableTokens}
}

// errBusy is a table that changes too often to be listened to.
var errBusy = errors.New("the table changes often")

// A tableWatch listens to one table.
type tableWatch struct {
	db    *surreal.Client
	table string
	tell  func(TableChange) error
	rest  time.Duration

	since   time.Time // of changes
	changes int
}

// listen tells of changes until the subscription ends, or they come too fast.
func (w *tableWatch) listen(ctx context.Context) error {
	feed, err := listen(ctx, w.db, surreal.LiveConfig{Table: w.table, Statement: strings.ReplaceAll(liveTableStatement, "{{table}}", w.table)})
	if err != nil {
		return err
	}
	defer closeFeed(ctx, feed)
	if err := w.something(); err != nil { // what was read before it listened is out of date
		return err
	}
	return follow(ctx, w.db, w.table, feed, w.change, w.something)
}

func (w *tableWatch) change(e surreal.Event) error {
	if now := time.Now(); now.Sub(w.since) > time.Second {
		w.since, w.changes = now, 0
	}
	if w.changes++; w.changes > busyRate {
		return errBusy
	}
	return w.tell(TableChange{Table: w.table, Key: leading(e.Record)})
}

func (w *tableWatch) something() error { return w.tell(TableChange{Table: w.table}) }

// pause tells now and then, without listening.
func (w *tableWatch) pause(ctx context.Context) error {
	end := time.NewTimer(w.rest)
	defer end.Stop()
	again := time.NewTicker(busyTell)
	defer again.Stop()
	for {
		if err := w.something(); err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leading is a row's id where that is a text, or the first of its parts.
func leading(id surreal.RecordID) string {
	if parts, ok := id.ID.([]any); ok && len(parts) > 0 {
		return textIn(parts[0])
	}
	return textIn(id.ID)
}

package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// lookAnyway is how often a watched instance is read without having been announced: live queries can
// go deaf.
const lookAnyway = time.Second

// A Progress is an instance as it is after something happened to it.
type Progress struct {
	Instance Summary `json:"instance"`
	// Steps are all that have been reached, without outputs, and Changed those that are not as they were
	// told last.
	Steps   []Step `json:"-"`
	Changed []Step `json:"changed,omitempty"`
}

// Watch tells how an instance is, and every change, until it has ended; changes that follow each other
// closely may be told as one. It is driven by LIVE SELECT: a notification says when to look, and what
// is told was read. An instance that does not exist, or ceases to, is ErrNotFound.
func (d *Durable) Watch(ctx context.Context, id string, tell func(Progress) error) (Progress, error) {
	w := &watch{durable: d, id: id, tell: tell, told: map[string]Step{}}
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

type watch struct {
	durable *Durable
	id      string
	tell    func(Progress) error
	last    Progress
	known   bool            // whether last has been told
	told    map[string]Step // by id
}

// subscribed watches until the end, or until the connection is lost.
func (w *watch) subscribed(ctx context.Context) (bool, error) {
	instance, err := w.feed(ctx, instanceTable, liveInstanceStatement)
	if err != nil {
		return false, err
	}
	defer closeFeed(ctx, instance)
	steps, err := w.feed(ctx, stepTable, liveStepsStatement)
	if err != nil {
		return false, err
	}
	defer closeFeed(ctx, steps)
	ticker := time.NewTicker(lookAnyway)
	defer ticker.Stop()
	done, err := w.look(ctx, nil)
	for !done && err == nil {
		select {
		case <-instance.C():
		case <-steps.C():
		case <-ticker.C:
			done, err = w.look(ctx, nil)
			continue
		case <-ctx.Done():
			return false, ctx.Err()
		}
		done, err = w.announced(ctx, instance, steps)
	}
	return done, err
}

func (w *watch) feed(ctx context.Context, table, statement string) (*surreal.Live, error) {
	feed, err := listen(ctx, w.durable.db, surreal.LiveConfig{Table: table, Statement: statement, Vars: map[string]any{"instance": instanceID(w.id)}})
	if err != nil {
		return nil, fmt.Errorf("watch instance %s: %w", w.id, err)
	}
	return feed, nil
}

func closeFeed(ctx context.Context, feed *surreal.Live) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	feed.Close(closing)
}

// announced looks at what the feeds name.
func (w *watch) announced(ctx context.Context, instance, steps *surreal.Live) (bool, error) {
	_, lost := instance.Take()
	events, overflow := steps.Take()
	for _, feed := range []*surreal.Live{instance, steps} {
		if err := feed.Err(); err != nil {
			return false, err
		}
	}
	named := []surreal.RecordID{}
	for _, e := range events {
		if e.Action == "DELETE" { // of a restart, or of a step that failed and is to be retried
			delete(w.told, surreal.FormatID(e.Record))
			continue
		}
		named = append(named, e.Record)
	}
	if lost || overflow {
		named = nil
	}
	return w.look(ctx, named)
}

// look reads the instance and the steps named, or all steps where nil is given and there is cause to,
// and tells what is new. It answers true when the instance has ended.
func (w *watch) look(ctx context.Context, named []surreal.RecordID) (bool, error) {
	rows, err := surreal.First[[]summaryRow](ctx, w.durable.db, summariesStatement, map[string]any{"ids": []surreal.RecordID{instanceID(w.id)}})
	if err != nil {
		return false, fmt.Errorf("watch instance %s: %w", w.id, err)
	}
	if len(rows) == 0 {
		return false, fmt.Errorf("watch instance %s: %w", w.id, ErrNotFound)
	}
	now := rows[0].summary()
	if err := w.durable.hider.summaries(ctx, now); err != nil {
		return false, fmt.Errorf("watch instance %s: %w", w.id, err)
	}
	same := w.known && now.UpdatedAt.Equal(w.last.Instance.UpdatedAt) && now.Status == w.last.Instance.Status
	anew := !w.known || now.Incarnation != w.last.Instance.Incarnation
	if anew {
		clear(w.told)
	}
	var changed []Step
	if anew || !now.Live() || named == nil && !same {
		changed, err = w.all(ctx, now.Incarnation)
	} else {
		changed, err = w.named(ctx, named, now.Incarnation)
	}
	if err != nil {
		return false, err
	}
	if same && len(changed) == 0 {
		return false, nil
	}
	w.last = Progress{Instance: now, Steps: w.steps(), Changed: changed}
	w.known = true
	return !now.Live(), w.tell(w.last)
}

func (w *watch) all(ctx context.Context, incarnation int) ([]Step, error) {
	rows, err := surreal.First[[]stepRow](ctx, w.durable.db, bareStepsStatement, map[string]any{"id": w.id, "incarnation": incarnation})
	if err != nil {
		return nil, fmt.Errorf("watch steps of %s: %w", w.id, err)
	}
	return w.take(ctx, rows, incarnation)
}

func (w *watch) named(ctx context.Context, ids []surreal.RecordID, incarnation int) ([]Step, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := surreal.First[[]stepRow](ctx, w.durable.db, changedStatement, map[string]any{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("watch steps of %s: %w", w.id, err)
	}
	return w.take(ctx, rows, incarnation)
}

// take notes steps and answers with those that are news.
func (w *watch) take(ctx context.Context, rows []stepRow, incarnation int) ([]Step, error) {
	var changed []Step
	told := maps.Clone(w.told)
	for _, row := range rows {
		if of, ok := incarnationOf(row.ID); !ok || of != incarnation {
			continue
		}
		step := row.step(nil)
		id := surreal.FormatID(row.ID)
		was, known := told[id]
		if known && was.Status == step.Status && len(was.Attempts) == len(step.Attempts) {
			continue
		}
		told[id] = step
		changed = append(changed, step)
	}
	if err := w.durable.hider.steps(ctx, life{w.id, incarnation}, changed); err != nil {
		return nil, fmt.Errorf("watch steps of %s: %w", w.id, err)
	}
	w.told = told // not before: what could not be hidden is not kept
	sortSteps(changed)
	return changed, nil
}

// incarnationOf reads a step's id: [instance, incarnation, kind, name, occurrence].
func incarnationOf(id surreal.RecordID) (int, bool) {
	parts, ok := id.ID.([]any)
	if !ok || len(parts) != 5 {
		return 0, false
	}
	n, ok := parts[1].(uint64)
	return int(n), ok //nolint:gosec // counts restarts
}

func (w *watch) steps() []Step {
	all := make([]Step, 0, len(w.told))
	for _, step := range w.told {
		all = append(all, step)
	}
	sortSteps(all)
	return slices.Clip(all)
}

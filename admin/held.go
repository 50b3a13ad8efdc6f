package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// What an instance holds is read some rows at a time, since a row may have a mebibyte of JSON, which is up to 2.25 on the
// wire, and no answer of the database beyond 128 MiB is read.
const (
	heldRows = 32
	// maxShown is how many bytes of JSON of outputs, or of payloads, one answer has: what comes after them is left out.
	maxShown = 64 << 20
)

// Steps answers with the steps of an instance that have been reached, in that order; with what they
// came to, and where they panicked, where outputs is true: the first 64 MiB of it, by the steps' kinds and names.
// incarnation is the instance's own, as Get has it: an older one's steps are forgotten.
func (d *Durable) Steps(ctx context.Context, id string, incarnation int, outputs bool) ([]Step, error) {
	read := d.bareSteps
	if outputs {
		read = d.fullSteps
	}
	of := life{id, incarnation}
	steps, err := read(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("read steps of %s: %w", id, err)
	}
	sortSteps(steps)
	return steps, d.hider.steps(ctx, of, steps)
}

func (d *Durable) bareSteps(ctx context.Context, of life) ([]Step, error) {
	rows, err := surreal.First[[]stepRow](ctx, d.db, bareStepsStatement, map[string]any{"id": of.ID, "incarnation": of.Incarnation})
	steps := make([]Step, len(rows))
	for i, row := range rows {
		steps[i] = row.step(nil)
	}
	return steps, err
}

func (d *Durable) fullSteps(ctx context.Context, of life) ([]Step, error) {
	steps, left := []Step{}, cmp.Or(d.most, maxShown)
	err := pages(ctx, d.db, of, []any{surreal.None, surreal.None, surreal.None}, func() string {
		if left < 0 {
			return restStepsStatement
		}
		return stepsStatement
	}, func(row stepRow) surreal.RecordID {
		step := row.step(&d.hider.rules)
		if row.Output != nil {
			left -= len(step.Output)
		}
		if step.OutputLeftOut = row.HasOutput || row.Output != nil && left < 0; step.OutputLeftOut {
			step.Output = nil
		}
		steps = append(steps, step)
		return row.ID
	})
	return steps, err
}

// An Event is one that was sent to an instance.
type Event struct {
	Type string `json:"type"`
	// Payload is JSON, null where PayloadLeftOut says that those before it filled the answer.
	Payload        json.RawMessage `json:"payload"`
	PayloadLeftOut bool            `json:"payload_left_out,omitempty"`
	SentAt         time.Time       `json:"sent_at"`
	// Consumed says whether a step has taken it.
	Consumed bool `json:"consumed"`
}

type eventRow struct {
	ID         surreal.RecordID  `json:"id"`
	Type       string            `json:"type"`
	Payload    any               `json:"payload"`
	SentAt     time.Time         `json:"sent_at"`
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
}

func (r eventRow) event(rules redact.Rules) Event {
	return Event{Type: r.Type, SentAt: r.SentAt, Consumed: r.ConsumedBy != nil, Payload: rules.Value("payload", r.Payload)}
}

// Events answers with the events sent to an instance, in that order, with the first 64 MiB of their payloads.
func (d *Durable) Events(ctx context.Context, id string, incarnation int) ([]Event, error) {
	events, err := d.eventsAfter(ctx, life{id, incarnation}, []any{surreal.None})
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", id, err)
	}
	return events, nil
}

// NewestEvents answers with so many of the events sent to an instance, the newest first, and with how many there are. Of
// the others no payload is read.
func (d *Durable) NewestEvents(ctx context.Context, id string, incarnation, most int) (newest []Event, total int, err error) {
	of, start := life{id, incarnation}, []any{surreal.None}
	var keys [][]any
	err = pages(ctx, d.db, of, start, func() string { return restEventsStatement }, func(row eventRow) surreal.RecordID {
		key, _ := row.ID.ID.([]any) // which pages looks at
		keys = append(keys, key)
		return row.ID
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read events of %s: %w", id, err)
	}
	others := max(len(keys)-most, 0)
	if others > 0 {
		start = keys[others-1][2:]
	}
	if newest, err = d.eventsAfter(ctx, of, start); err != nil {
		return nil, 0, fmt.Errorf("read events of %s: %w", id, err)
	}
	total = others + len(newest)
	slices.Reverse(newest)
	return newest[:min(most, len(newest))], total, nil
}

// eventsAfter are the events after one of them.
func (d *Durable) eventsAfter(ctx context.Context, of life, after []any) ([]Event, error) {
	events, left := []Event{}, cmp.Or(d.most, maxShown)
	err := pages(ctx, d.db, of, after, func() string {
		if left < 0 {
			return restEventsStatement
		}
		return eventsStatement
	}, func(row eventRow) surreal.RecordID {
		rest, event := left < 0, row.event(d.hider.rules)
		if left -= len(event.Payload); left < 0 {
			event.Payload, event.PayloadLeftOut = nil, rest || len(event.Payload) > 0
		}
		events = append(events, event)
		return row.ID
	})
	return events, err
}

// pages reads rows of an instance by a statement for each page, and takes each row, which answers with its id: what
// its id has after the instance's id and incarnation is where the next page begins.
func pages[R any](ctx context.Context, db surreal.Querier, of life, after []any, statement func() string, take func(R) surreal.RecordID) error {
	for {
		vars := map[string]any{"id": of.ID, "incarnation": of.Incarnation, "after": after, "rows": heldRows}
		rows, err := surreal.First[[]R](ctx, db, statement(), vars)
		if err != nil {
			return err
		}
		for _, row := range rows {
			key, ok := take(row).ID.([]any)
			if !ok || len(key) != 2+len(after) {
				return fmt.Errorf("a row's id has %d parts, not %d", len(key), 2+len(after))
			}
			after = key[2:]
		}
		if len(rows) < heldRows {
			return nil
		}
	}
}

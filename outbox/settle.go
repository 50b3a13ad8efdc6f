package outbox

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// maxReason bounds an error's text in bytes.
const maxReason = 8 << 10

// A Failure is one entry of a job's errors.
type Failure struct {
	// Code is an HTTP status, 0 for transport or timeout, or a word.
	Code any
	// Reason is cut at 8 KiB and stripped of what is not UTF-8.
	Reason string
	// Attempt it belongs to, from 1.
	Attempt int
}

// Words that stand as an error's code.
const (
	CodeCancelled    = "cancelled"
	CodeLeaseExpired = "lease_expired"
	CodeRefused      = "refused"
)

// An Outcome ends one attempt.
type Outcome struct {
	ID    surreal.RecordID
	Epoch int64
	// Status the job has from now on; Pending makes it due again after Wait, unless somebody asked
	// for its cancellation meanwhile: then it is cancelled.
	Status Status
	Wait   time.Duration
	// Counts adds a failed attempt to retries.
	Counts bool
	// Result is stored as it is; nil is NONE.
	Result any
	// Failure is appended to errors.
	Failure *Failure
}

// A Settled says what became of an Outcome.
type Settled struct {
	// Written is false where the job was no longer held under the outcome's epoch.
	Written bool
	// Status is what was written or, without Written, found: "" for a row that is gone.
	Status Status
	// Err is what the database refused about the outcome. With Written, the state was stored
	// without its result and error entry; without, nothing was.
	Err error
}

const (
	settleCall  = "RETURN fn::spky::job::settle($outcomes)"
	succeedCall = "RETURN fn::spky::job::succeed($outcomes)"
)

// Settle writes outcomes; the answer has one element for each, in their order. An error means that
// the database was not reached and nothing is known: settling again is safe, for an outcome that
// had been written is found written.
func (t *Table) Settle(ctx context.Context, outcomes []Outcome) ([]Settled, error) {
	settled, err := divide(ctx, outcomes, t.settleAll, func(o Outcome, err error) ([]Settled, error) {
		return t.settleBare(ctx, o, err)
	})
	if err != nil {
		return nil, fmt.Errorf("settle in %s: %w", t.cfg.Name, err)
	}
	return settled, nil
}

type settledRow struct {
	OK     bool   `json:"ok"`
	Status string `json:"status"`
	Epoch  int64  `json:"epoch"`
}

func (t *Table) settleAll(ctx context.Context, outcomes []Outcome) ([]Settled, error) {
	if plain(outcomes) {
		return t.settlePlain(ctx, outcomes)
	}
	call, encode := settleCall, t.encode
	if !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Status != Success || o.Counts || o.Failure != nil }) {
		call, encode = succeedCall, encodeSuccess
	}
	args := make([]map[string]any, len(outcomes))
	for i, o := range outcomes {
		args[i] = encode(o)
	}
	rows, err := surreal.First[[]settledRow](ctx, t.cfg.DB, call, map[string]any{"outcomes": args})
	if err != nil {
		return nil, err
	}
	if len(rows) != len(outcomes) {
		return nil, fmt.Errorf("%d answers to %d outcomes", len(rows), len(outcomes))
	}
	settled := make([]Settled, len(rows))
	for i, o := range outcomes {
		settled[i] = t.judge(o, rows[i])
	}
	return settled, nil
}

// plain says whether outcomes are successes of one epoch and with one result, as backends give that
// answer nothing, or the same to every job.
func plain(outcomes []Outcome) bool {
	first := outcomes[0]
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool {
		return o.Status != Success || o.Counts || o.Failure != nil || o.Epoch != first.Epoch || !reflect.DeepEqual(o.Result, first.Result)
	})
}

// settlePlain writes plain outcomes: one statement for all their rows is the cheapest there is.
func (t *Table) settlePlain(ctx context.Context, outcomes []Outcome) ([]Settled, error) {
	ids := make([]surreal.RecordID, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.ID
	}
	written, err := surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.succeed, map[string]any{
		"ids": ids, "epoch": outcomes[0].Epoch, "result": stored(outcomes[0].Result),
	})
	if err != nil {
		return nil, err
	}
	ours := make(map[string]bool, len(written))
	for _, id := range written {
		ours[surreal.FormatID(id)] = true
	}
	settled := make([]Settled, len(outcomes))
	for i, o := range outcomes {
		if settled[i] = (Settled{Written: true, Status: Success}); ours[surreal.FormatID(o.ID)] {
			continue
		}
		if settled[i], err = t.found(ctx, o); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// found says what became of a job that an outcome was not written to.
func (t *Table) found(ctx context.Context, o Outcome) (Settled, error) {
	row, err := surreal.First[settledRow](ctx, t.cfg.DB, "RETURN fn::spky::job::found($id)", map[string]any{"id": o.ID})
	return t.judge(o, row), err
}

// judge reads one answer. A row found just as the outcome wanted it was written by an earlier call
// whose answer was lost.
func (t *Table) judge(o Outcome, row settledRow) Settled {
	found := Status(row.Status)
	again := row.Epoch == o.Epoch && (found == t.status(o) || o.Status == Pending && found == t.cfg.Cancelled)
	return Settled{Written: row.OK || again, Status: found}
}

// settleBare stores a state whose result or error entry the table's own definitions refuse.
func (t *Table) settleBare(ctx context.Context, o Outcome, cause error) ([]Settled, error) {
	o.Result, o.Failure = nil, nil
	settled, err := t.settleAll(ctx, []Outcome{o})
	switch {
	case err == nil:
		settled[0].Err = cause
		return settled, nil
	case unknown(ctx, err):
		return nil, err
	}
	return []Settled{{Err: cause}}, nil
}

func (t *Table) status(o Outcome) Status {
	if o.Status == Cancelled {
		return t.cfg.Cancelled
	}
	return o.Status
}

func encodeSuccess(o Outcome) map[string]any {
	return map[string]any{"id": o.ID, "epoch": o.Epoch, "result": stored(o.Result)}
}

func stored(result any) any {
	if result == nil {
		return surreal.None
	}
	return result
}

func (t *Table) encode(o Outcome) map[string]any {
	args := map[string]any{
		"id": o.ID, "epoch": o.Epoch, "status": string(t.status(o)), "cancelled": string(t.cfg.Cancelled), "retries": 0,
		"wait": surreal.Duration(max(o.Wait, 0)), "result": stored(o.Result), "error": surreal.None,
	}
	if o.Counts {
		args["retries"] = 1
	}
	if f := o.Failure; f != nil {
		args["error"] = map[string]any{"code": f.Code, "reason": clean(f.Reason), "attempt": f.Attempt}
	}
	return args
}

// cutMark ends a text that was longer.
const cutMark = " … (cut)"

// clean makes a text UTF-8 and cuts it, the mark included, at maxReason bytes.
func clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 2*maxReason)], "\uFFFD") // which may triple it
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason-len(cutMark)], "") + cutMark
}

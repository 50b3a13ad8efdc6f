package wf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// DB is the database as the engine sees it: one request at a time, repeated on a conflict.
type DB interface {
	Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error)
}

// database is the protocol over the functions fn::spky::wf::…
type database struct {
	db    DB
	calls *group
	// readers are those of large histories: a few at a time, for memory's sake, and that of everybody else's calls.
	readers chan struct{}
}

func newDatabase(db DB) *database {
	d := &database{db: db, readers: make(chan struct{}, 2)}
	d.calls = newGroup(d.perform)
	return d
}

func (d *database) Acquire(ctx context.Context, id, binding, job, token string) (protocol.Acquired, error) {
	ask := map[string]any{"id": id, "binding": binding, "job": jobOp(job), "run": token, "ttl": surreal.Duration(protocol.LeaseTTL), "apart": "large"}
	got, err := d.calls.do(ctx, call{acquire: ask})
	if errors.Is(err, surreal.ErrAnswerTooLarge) { // of an instance that has not been counted from its beginning
		ask["apart"] = "always"
		got, err = d.calls.do(ctx, call{acquire: ask})
	}
	if err == nil && got.apart {
		got.acquired, err = d.readApart(ctx, got.acquired)
	}
	if err != nil {
		return protocol.Acquired{}, fmt.Errorf("acquire instance %s: %w", id, err)
	}
	return got.acquired, nil
}

// acquired is the answer with the events' ids, which hold their numbers.
type acquired struct {
	history

	State    string    `json:"state"`
	Status   string    `json:"status"`
	Now      time.Time `json:"now"`
	Instance heldRow   `json:"instance"`
	Apart    bool      `json:"apart"`
}

func (a acquired) plain() protocol.Acquired {
	out := protocol.Acquired{State: a.State, Status: a.Status, Now: a.Now, Instance: a.Instance.Instance}
	out.Instance.ID, _ = a.Instance.ID.ID.(string)
	a.addTo(&out)
	return out
}

// A heldRow is an instance with the id that its row has.
type heldRow struct {
	protocol.Instance
	ID surreal.RecordID `json:"id"`
}

type eventRow struct {
	ID         surreal.RecordID  `json:"id"`
	Type       string            `json:"type"`
	Payload    any               `json:"payload"`
	SentAt     time.Time         `json:"sent_at"`
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
}

func (r eventRow) event() protocol.Event {
	e := protocol.Event{Type: r.Type, Payload: r.Payload, SentAt: r.SentAt}
	if key, ok := r.ID.ID.([]any); ok && len(key) == 3 {
		if n, ok := key[2].(uint64); ok {
			e.Number = int(n) //nolint:gosec // counts events
		}
	}
	return e
}

func (d *database) Begin(ctx context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	return d.ack(ctx, "RETURN fn::spky::wf::begin_step($op, $row)", map[string]any{"op": stepOp(w), "row": stepRow(w)})
}

func (d *database) Commit(ctx context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	if w.Event > 0 {
		vars := map[string]any{"op": stepOp(w), "row": stepRow(w), "event": w.Event}
		return d.ack(ctx, "RETURN fn::spky::wf::commit_step($op, $row, $event)", vars)
	}
	got, err := d.calls.do(ctx, call{commit: stepOp(w), row: stepRow(w)})
	return got.ack, err
}

func (d *database) Renew(ctx context.Context, id string, fence int) (protocol.Ack, error) {
	vars := map[string]any{"id": id, "fence": fence, "ttl": surreal.Duration(protocol.LeaseTTL)}
	return d.ack(ctx, "RETURN fn::spky::wf::renew($id, $fence, $ttl)", vars)
}

func (d *database) Suspend(ctx context.Context, id string, fence int, waits []protocol.Wait) (protocol.Ack, error) {
	op := map[string]any{"id": id, "fence": fence, "waiting_for": surreal.None, "wake_at": surreal.None, "events": []string{}}
	if len(waits) > 0 {
		first, types := earliest(waits)
		op["wake_at"], op["events"] = first.WakeAt, types
		op["waiting_for"] = map[string]any{"kind": first.Kind, "name": first.Name, "types": types, "waits": len(waits)}
	}
	return d.ack(ctx, "RETURN fn::spky::wf::suspend($op)", map[string]any{"op": op})
}

func earliest(waits []protocol.Wait) (protocol.Wait, []string) {
	first, types := waits[0], []string{}
	for _, w := range waits {
		if w.WakeAt.Before(first.WakeAt) {
			first = w
		}
		types = append(types, w.Types...)
	}
	return first, types
}

func (d *database) Finish(ctx context.Context, f protocol.Finish) (protocol.Ack, error) {
	op := map[string]any{
		"id": f.Instance, "fence": f.Fence, "status": f.Status, "output": f.Output,
		"error": errorOp(f.Error), "warning": surreal.None,
	}
	if f.Warning != nil {
		op["warning"] = f.Warning
	}
	got, err := d.calls.do(ctx, call{finish: op})
	return got.ack, err
}

func (d *database) Warn(ctx context.Context, id string, fence int, warning map[string]any, stalled bool) (protocol.Ack, error) {
	vars := map[string]any{"id": id, "fence": fence, "warning": warning, "stalled": stalled}
	return d.ack(ctx, "RETURN fn::spky::wf::warn($id, $fence, $warning, $stalled)", vars)
}

func (d *database) ack(ctx context.Context, call string, vars map[string]any) (protocol.Ack, error) {
	return surreal.First[protocol.Ack](ctx, d.db, call, vars)
}

const (
	instanceTable = "_00_wf_instance"
	stepTable     = "_00_wf_step"
)

// stepOp and stepRow are what the functions take that write steps.
func stepOp(w protocol.StepWrite) map[string]any {
	return map[string]any{
		"instance": surreal.NewRecordID(instanceTable, w.Instance), "fence": w.Fence,
		"ttl": surreal.Duration(protocol.LeaseTTL), "name": w.Step.Name, "size": weight(w.Step.Output),
	}
}

func stepID(w protocol.StepWrite) surreal.RecordID {
	return surreal.NewRecordID(stepTable, []any{w.Instance, w.Incarnation, w.Step.Kind, w.Step.Name, w.Step.Occurrence})
}

func stepRow(w protocol.StepWrite) map[string]any {
	s := w.Step
	row := map[string]any{
		"id": stepID(w), "instance": surreal.NewRecordID(instanceTable, w.Instance),
		"seq": s.Seq, "kind": s.Kind, "name": s.Name, "occurrence": s.Occurrence, "status": s.Status,
		"attempts": attemptRows(s.Attempts), "output": s.Output, "started_at": s.StartedAt,
	}
	for name, at := range map[string]*time.Time{"retry_at": s.RetryAt, "wake_at": s.WakeAt, "finished_at": w.FinishedAt} {
		if at != nil {
			row[name] = *at
		}
	}
	if s.AttemptsBefore > 0 {
		row["attempts_before"] = s.AttemptsBefore
	}
	if w.Owner != nil {
		row["owner"] = w.Owner
	}
	if e := s.Error; e != nil { // the stack goes into a column that owners can't see
		row["error"] = map[string]any{"name": e.Name, "message": e.Message}
		if e.Stack != "" {
			row["stack"] = e.Stack
		}
	}
	if c := s.Config; c != nil {
		row["config"] = map[string]any{
			"timeout": c.Timeout,
			"retries": map[string]any{"limit": c.Retries.Limit, "delay": c.Retries.Delay, "backoff": c.Retries.Backoff},
		}
	}
	return row
}

func attemptRows(attempts []protocol.Attempt) []map[string]any {
	rows := make([]map[string]any, len(attempts))
	for i, a := range attempts {
		rows[i] = map[string]any{"started_at": a.StartedAt}
		if a.EndedAt != nil {
			rows[i]["ended_at"] = *a.EndedAt
		}
		if a.Error != nil {
			rows[i]["error"] = errorOp(a.Error)
		}
	}
	return rows
}

func errorOp(e *protocol.Error) any {
	if e == nil {
		return surreal.None
	}
	op := map[string]any{"name": e.Name, "message": e.Message}
	if e.Stack != "" {
		op["stack"] = e.Stack
	}
	return op
}

func jobOp(job string) any {
	if job == "" {
		return surreal.None
	}
	return job
}

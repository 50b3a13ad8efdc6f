package wf

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Status is the state of an instance.
type Status string

// The states of an instance. Waiting says for what in waiting_for: a sleep, an event type, a retry.
const (
	Queued     Status = "queued"
	Running    Status = "running"
	Waiting    Status = "waiting"
	Paused     Status = "paused"
	Complete   Status = "complete"
	Errored    Status = "errored"
	Terminated Status = "terminated"
)

// maxBatch is the most instances that CreateBatch takes.
const maxBatch = 100

// An Instance is a handle of one instance. Its methods work from any process, whether or not it runs
// the workflow, and with the sync processor down.
type Instance struct {
	engine *Engine
	id     string
}

// ID of the instance.
func (i *Instance) ID() string { return i.id }

// latest is what nothing is called: on command lines it stands for a workflow's newest instance.
const latest = "latest"

// A CreateOption configures a new instance.
type CreateOption func(*createOptions)

type createOptions struct {
	id, owner string
	record    *surreal.RecordID
}

// ID names the new instance, instead of a random id: 1 to 100 letters, digits, _ and -, not starting
// with -, and not "latest", which stands for a workflow's newest instance. Ids are used once, across all
// workflows.
func ID(id string) CreateOption { return func(o *createOptions) { o.id = id } }

// Owner is the record, such as "user:abc", whose user may read the instance and its steps.
func Owner(record string) CreateOption { return func(o *createOptions) { o.owner = record } }

// OwnerRecord is [Owner] for a record id at hand.
func OwnerRecord(id surreal.RecordID) CreateOption { return func(o *createOptions) { o.record = &id } }

// Create writes an instance and its first job, in one transaction, and returns at once. A used id is
// [ErrExists], and the first instance stays as it is.
func (w *Workflow[P]) Create(ctx context.Context, params P, opts ...CreateOption) (*Instance, error) {
	row, err := w.newRow(params, opts)
	if err != nil {
		return nil, fmt.Errorf("create instance of %s: %w", w.binding, err)
	}
	ctx, span := traceCreation(ctx, w.binding, row)
	defer span.End()
	made, err := w.engine.create(ctx, row)
	if err != nil {
		return nil, fmt.Errorf("create instance of %s: %w", w.binding, err)
	}
	if !made {
		return nil, fmt.Errorf("create instance %s of %s: %w", row["id"], w.binding, ErrExists)
	}
	return &Instance{engine: w.engine, id: row["id"].(string)}, nil //nolint:forcetypeassert // set by newRow
}

// A NewInstance is one of a batch.
type NewInstance[P any] struct {
	// Params are the instance's, as for [Workflow.Create].
	Params P
	// Options name it, or give it an owner.
	Options []CreateOption
}

// CreateBatch creates 1 to 100 instances in one transaction and returns those it made, in order: one
// whose id is used already is left out.
func (w *Workflow[P]) CreateBatch(ctx context.Context, batch []NewInstance[P]) ([]*Instance, error) {
	if len(batch) == 0 || len(batch) > maxBatch {
		return nil, fmt.Errorf("create batch of %s: %w: %d instances; allowed: 1 to %d", w.binding, ErrConfig, len(batch), maxBatch)
	}
	rows := make([]map[string]any, len(batch))
	for i, one := range batch {
		row, err := w.newRow(one.Params, one.Options)
		if err != nil {
			return nil, fmt.Errorf("create batch of %s: instance %d: %w", w.binding, i, err)
		}
		rows[i] = row
	}
	ctx, span := traceCreation(ctx, w.binding, rows...)
	defer span.End()
	answers, err := w.engine.createAll(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("create batch of %s: %w", w.binding, err)
	}
	var made []*Instance
	for i, ok := range answers {
		if ok {
			made = append(made, &Instance{engine: w.engine, id: rows[i]["id"].(string)}) //nolint:forcetypeassert // set by newRow
		}
	}
	return made, nil
}

// createAll creates instances in one transaction, and says which of them there were not.
func (e *Engine) createAll(ctx context.Context, rows []map[string]any) ([]bool, error) {
	d, err := e.database()
	if err != nil {
		return nil, err
	}
	calls := make([]call, len(rows))
	for i, row := range rows {
		calls[i].create = row
	}
	answers, err := d.perform(ctx, calls)
	if err != nil {
		return nil, err
	}
	made := make([]bool, len(answers))
	for i, a := range answers {
		made[i] = a.made
	}
	return made, nil
}

func (e *Engine) create(ctx context.Context, row map[string]any) (bool, error) {
	d, err := e.database()
	if err != nil {
		return false, err
	}
	return d.create(ctx, row)
}

func (w *Workflow[P]) newRow(params P, opts []CreateOption) (map[string]any, error) {
	o := createOptions{id: rand.Text()}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case !instanceID.MatchString(o.id):
		return nil, fmt.Errorf("%w: instance id %q; 1 to 100 letters, digits, _ and -, not starting with -", ErrName, o.id)
	case o.id == latest:
		return nil, fmt.Errorf("%w: instance id %q stands for a workflow's newest instance; choose another", ErrName, o.id)
	}
	value, err := encode("params", params)
	if err != nil {
		return nil, err
	}
	owner, err := o.ownerValue()
	if err != nil {
		return nil, err
	}
	cfg := w.engine.cfg
	return map[string]any{
		"id": o.id, "binding": w.binding, "params": value, "owner": owner,
		"backend": textOp(cfg.Backend), "job_table": cfg.OutboxTable, "version": textOp(cfg.Version),
	}, nil
}

func (o createOptions) ownerValue() (any, error) {
	switch {
	case o.record != nil:
		return *o.record, nil
	case o.owner == "":
		return surreal.None, nil
	}
	id, err := surreal.ParseID(o.owner)
	if err != nil {
		return nil, fmt.Errorf("owner %q: %w", o.owner, err)
	}
	return id, nil
}

func textOp(text string) any {
	if text == "" {
		return surreal.None
	}
	return text
}

// Get finds an instance of the workflow; an unknown id is [ErrNotFound].
func (w *Workflow[P]) Get(ctx context.Context, id string) (*Instance, error) {
	i := &Instance{engine: w.engine, id: id}
	row, err := i.row(ctx)
	if err != nil {
		return nil, err
	}
	if row.Binding != w.binding {
		return nil, fmt.Errorf("get instance %s of %s: %w", id, w.binding, ErrNotFound)
	}
	return i, nil
}

// A Report is an instance as it is at the moment.
type Report struct {
	// ID names the instance, Binding its workflow.
	ID, Binding string
	Status      Status
	// StepsDone counts the steps that are finished, CurrentStep names the one that last began or was.
	StepsDone   int
	CurrentStep string
	// WaitingFor says for what it waits: its kind is sleep, event, retry or pause; name, types and
	// waits say more. Nil while it doesn't.
	WaitingFor map[string]any
	// WakeAt is when the wait ends at the latest.
	WakeAt *time.Time
	// Error is what an errored instance ended with.
	Error     *StepError
	CreatedAt time.Time
	// FinishedAt is set once it is complete, errored or terminated.
	FinishedAt *time.Time
	// Warning says that the workflow's code did not fit the stored steps: code, message and unreached.
	Warning map[string]any
	output  any
}

// Output decodes what a complete workflow returned.
func (r Report) Output(into any) error { return decodeInto("output", r.output, into) }

// Status reads the instance.
func (i *Instance) Status(ctx context.Context) (Report, error) {
	row, err := i.row(ctx)
	if err != nil {
		return Report{}, err
	}
	report := Report{
		ID: i.id, Binding: row.Binding, Status: Status(row.Status), StepsDone: row.StepsDone, CurrentStep: row.CurrentStep,
		WaitingFor: row.WaitingFor, WakeAt: row.WakeAt, CreatedAt: row.CreatedAt, FinishedAt: row.FinishedAt, Warning: row.Warning, output: row.Output,
	}
	if row.Error != nil {
		report.Error = &StepError{Name: row.Error.Name, Message: row.Error.Message, Stack: row.Stack}
	}
	return report, nil
}

type instanceRow struct {
	Binding     string          `json:"binding"`
	Status      string          `json:"status"`
	StepsDone   int             `json:"steps_done"`
	CurrentStep string          `json:"current_step"`
	WaitingFor  map[string]any  `json:"waiting_for"`
	WakeAt      *time.Time      `json:"wake_at"`
	Output      any             `json:"output"`
	Error       *protocol.Error `json:"error"`
	Stack       string          `json:"stack"`
	CreatedAt   time.Time       `json:"created_at"`
	FinishedAt  *time.Time      `json:"finished_at"`
	Warning     map[string]any  `json:"warning"`
}

func (i *Instance) row(ctx context.Context) (instanceRow, error) {
	rows, err := surreal.First[[]instanceRow](ctx, i.engine.db, "SELECT * FROM $id", map[string]any{"id": i.record()})
	if err != nil {
		return instanceRow{}, fmt.Errorf("get instance %s: %w", i.id, err)
	}
	if len(rows) == 0 {
		return instanceRow{}, fmt.Errorf("get instance %s: %w", i.id, ErrNotFound)
	}
	return rows[0], nil
}

func (i *Instance) record() surreal.RecordID {
	return surreal.RecordID{Table: "_00_wf_instance", ID: i.id}
}

// SendEvent sends an event of a type to the instance, and wakes it at once if it waits for one. To a
// finished instance it is a [*StateError], to an unknown one [ErrNotFound].
func (i *Instance) SendEvent(ctx context.Context, typ string, payload any) error {
	if !eventType.MatchString(typ) {
		return fmt.Errorf("send event to %s: %w: event type %q; 1 to 100 letters, digits, _ and -", i.id, ErrName, typ)
	}
	value, err := encode("payload of event "+typ, payload)
	if err != nil {
		return fmt.Errorf("send event to %s: %w", i.id, err)
	}
	return i.call(ctx, "send an event", "RETURN fn::spky::wf::send_event($id, $type, $payload)", map[string]any{"type": typ, "payload": value})
}

// Pause lets no further step begin. A running step finishes and is stored; then the instance is paused.
func (i *Instance) Pause(ctx context.Context) error {
	return i.call(ctx, "pause", "RETURN fn::spky::wf::pause($id)", nil)
}

// Resume goes on after Pause; sleeps and deadlines move by the time it lasted.
func (i *Instance) Resume(ctx context.Context) error {
	return i.call(ctx, "resume", "RETURN fn::spky::wf::resume($id)", nil)
}

// Terminate ends a live instance at once.
func (i *Instance) Terminate(ctx context.Context) error {
	return i.call(ctx, "terminate", "RETURN fn::spky::wf::terminate($id)", nil)
}

// Retry goes on with an errored instance from the steps that made it fail; failed steps that the workflow
// caught stay as they are.
func (i *Instance) Retry(ctx context.Context) error {
	return i.call(ctx, "retry", "RETURN fn::spky::wf::retry($id)", nil)
}

func (i *Instance) call(ctx context.Context, verb, call string, vars map[string]any) error {
	all := map[string]any{"id": i.id}
	for k, v := range vars {
		all[k] = v
	}
	answer, err := surreal.First[struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	}](ctx, i.engine.db, call, all)
	switch {
	case err != nil:
		return fmt.Errorf("%s instance %s: %w", verb, i.id, err)
	case answer.OK:
		return nil
	case answer.Reason == reasonNoStep:
		return fmt.Errorf("%s instance %s: %w", verb, i.id, ErrStepNotFound)
	case answer.Status == "":
		return fmt.Errorf("%s instance %s: %w", verb, i.id, ErrNotFound)
	}
	return &StateError{Verb: verb, Status: Status(answer.Status)}
}

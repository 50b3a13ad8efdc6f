package outbox

import (
	"context"
	"errors"
	"fmt"

	"sp00ky.cloud/spky/surreal"
)

// ErrNotFound is a job that does not exist.
var ErrNotFound = errors.New("job not found")

// A StateError is a verb that makes no sense in the state a job is in.
type StateError struct {
	Verb   string
	Status Status
	// Possible names the verbs that this state allows.
	Possible []string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%s: the job is %s; possible now: %v", e.Verb, e.Status, e.Possible)
}

type changed struct {
	Status  string `json:"status"`
	Changed bool   `json:"changed"`
}

// Cancel ends a pending job at once, and asks the holder of a running one to abort its request.
// The answer is the state the job was found in.
func (t *Table) Cancel(ctx context.Context, id surreal.RecordID) (Status, error) {
	return t.operate(ctx, "cancel", "RETURN fn::spky::job::cancel($id, $cancelled)", id, []string{"retry"})
}

// Retry makes a finished job run again from its first attempt. The answer is the state it was in.
func (t *Table) Retry(ctx context.Context, id surreal.RecordID) (Status, error) {
	return t.operate(ctx, "retry", "RETURN fn::spky::job::retry($id)", id, []string{"cancel"})
}

func (t *Table) operate(ctx context.Context, verb, call string, id surreal.RecordID, possible []string) (Status, error) {
	if id.Table != t.cfg.Name {
		return "", fmt.Errorf("%s %s: not a job of table %s: %w", verb, surreal.FormatID(id), t.cfg.Name, ErrNotFound)
	}
	was, err := insist(ctx, singlePatience, func() (changed, error) {
		return surreal.First[changed](ctx, t.cfg.DB, call, map[string]any{"id": id, "cancelled": string(t.cfg.Cancelled)})
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("%s %s: %w", verb, surreal.FormatID(id), err)
	case was.Status == "":
		return "", fmt.Errorf("%s %s: %w", verb, surreal.FormatID(id), ErrNotFound)
	case !was.Changed:
		return Status(was.Status), &StateError{Verb: verb, Status: Status(was.Status), Possible: possible}
	}
	return Status(was.Status), nil
}

// A Draft is a job to be written.
type Draft struct {
	// ID of the row; a zero ID is chosen by the database.
	ID surreal.RecordID
	// Path and Payload of the request. Payload is a value that SurrealDB stores.
	Path    string
	Payload any
	// Columns holds further columns, such as max_retries, retry_strategy, timeout, delay, assigned_to.
	Columns map[string]any
}

// Create writes a job and answers with its id.
func (t *Table) Create(ctx context.Context, d Draft) (surreal.RecordID, error) {
	content := map[string]any{"path": d.Path, "payload": d.Payload}
	for name, value := range d.Columns {
		content[name] = value
	}
	if d.ID.ID != nil {
		content["id"] = d.ID
	}
	rows, err := surreal.First[[]struct {
		ID surreal.RecordID `json:"id"`
	}](ctx, t.cfg.DB, t.create, map[string]any{"content": content})
	if err != nil {
		return surreal.RecordID{}, fmt.Errorf("create job in %s: %w", t.cfg.Name, err)
	}
	if len(rows) == 0 {
		return surreal.RecordID{}, fmt.Errorf("create job in %s: the table's permissions refuse it", t.cfg.Name)
	}
	return rows[0].ID, nil
}

// A Row is a whole job as stored, by column.
type Row = map[string]any

// Get reads one job.
func (t *Table) Get(ctx context.Context, id surreal.RecordID) (Row, error) {
	rows, err := surreal.First[[]Row](ctx, t.cfg.DB, t.get, map[string]any{"id": id})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", surreal.FormatID(id), err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("get %s: %w", surreal.FormatID(id), ErrNotFound)
	}
	return rows[0], nil
}

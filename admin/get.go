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

// Get answers with one instance; ErrNotFound where there is none.
func (d *Durable) Get(ctx context.Context, id string) (Instance, error) {
	rows, err := surreal.First[[]instanceRow](ctx, d.db, instanceStatement, map[string]any{"id": instanceID(id)})
	switch {
	case err != nil:
		return Instance{}, fmt.Errorf("get instance %s: %w", id, err)
	case len(rows) == 0:
		return Instance{}, fmt.Errorf("get instance %s: %w", id, ErrNotFound)
	}
	i := rows[0].instance(d.hider.rules)
	return i, d.hider.summaries(ctx, i.Summary)
}

// A Step is one step of an instance.
type Step struct {
	// Seq orders the steps by when they were first reached.
	Seq int `json:"seq"`
	// Kind is do, sleep or waitForEvent. Occurrence counts the steps of one kind and name, from 1.
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Occurrence int    `json:"occurrence"`
	// Status is running, retrying, waiting, complete or errored; of a step that the end of its instance cut off, what it was then.
	Status string `json:"status"`
	// Attempts are the last 50 of them, AttemptsBefore how many came before those.
	Attempts       []Attempt   `json:"attempts"`
	AttemptsBefore int         `json:"attempts_before,omitempty"`
	Config         *StepConfig `json:"config,omitempty"`
	// Output is JSON, absent where outputs were not asked for. OutputLeftOut says that there is one, but that those before it
	// filled the answer.
	Output        json.RawMessage `json:"output,omitempty"`
	OutputLeftOut bool            `json:"output_left_out,omitempty"`
	Error         *Error          `json:"error,omitempty"`
	// RetryAt is when the next attempt is due, WakeAt when a sleep or a wait for an event ends.
	RetryAt    *time.Time `json:"retry_at,omitempty"`
	WakeAt     *time.Time `json:"wake_at,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Done says whether the step runs no more.
func (s Step) Done() bool { return s.Status == "complete" || s.Status == "errored" }

// Tried is how many attempts of the step have begun.
func (s Step) Tried() int { return s.AttemptsBefore + len(s.Attempts) }

// Label is the step's name, with its number where it is not the first of that name.
func (s Step) Label() string {
	if s.Occurrence > 1 {
		return fmt.Sprintf("%s #%d", s.Name, s.Occurrence)
	}
	return s.Name
}

// An Attempt is one call of a step's function.
type Attempt struct {
	StartedAt time.Time `json:"started_at"`
	// EndedAt is nil while it is under way.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	Error   *Error     `json:"error,omitempty"`
}

// A StepConfig is what was stored when the step first started.
type StepConfig struct {
	Retries Retries `json:"retries"`
	// Timeout of an attempt, in milliseconds.
	Timeout int64 `json:"timeout"`
}

// Retries say how often and when a failed attempt is followed by another.
type Retries struct {
	Limit int `json:"limit"`
	// Delay in milliseconds; Backoff is constant, linear or exponential.
	Delay   int64  `json:"delay"`
	Backoff string `json:"backoff"`
}

type stepRow struct {
	ID         surreal.RecordID `json:"id"`
	Seq        int              `json:"seq"`
	Kind       string           `json:"kind"`
	Name       string           `json:"name"`
	Occurrence int              `json:"occurrence"`
	Status     string           `json:"status"`
	Attempts   []Attempt        `json:"attempts"`
	Before     int              `json:"attempts_before"`
	Config     *StepConfig      `json:"config"`
	Output     any              `json:"output"`
	HasOutput  bool             `json:"has_output"` // said where it is not read
	Error      *Error           `json:"error"`
	Stack      string           `json:"stack"`
	RetryAt    *time.Time       `json:"retry_at"`
	WakeAt     *time.Time       `json:"wake_at"`
	StartedAt  time.Time        `json:"started_at"`
	FinishedAt *time.Time       `json:"finished_at"`
}

// step is what a row says, with its output where rules is not nil.
func (r stepRow) step(rules *redact.Rules) Step {
	s := Step{
		Seq: r.Seq, Kind: r.Kind, Name: r.Name, Occurrence: r.Occurrence, Status: r.Status, Attempts: r.Attempts, AttemptsBefore: r.Before, Config: r.Config,
		Error: r.Error, RetryAt: r.RetryAt, WakeAt: r.WakeAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
	if s.Error != nil {
		s.Error.Stack = r.Stack
	}
	if s.Attempts == nil {
		s.Attempts = []Attempt{}
	}
	if rules != nil {
		s.Output = rules.Value("output", r.Output)
	}
	return s
}

func sortSteps(steps []Step) {
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.StartedAt.Compare(b.StartedAt)) })
}

// Expected is how many steps the workflow's newest complete instance had: a guess at how many others
// have. 0 where none is complete.
func (d *Durable) Expected(ctx context.Context, binding string) (int, error) {
	page, err := d.List(ctx, ListOptions{Binding: binding, Status: "complete", Limit: 1})
	if err != nil || len(page.Instances) == 0 {
		return 0, err
	}
	return page.Instances[0].StepsDone, nil
}

// Now is the database's clock, by which all its times are.
func (d *Durable) Now(ctx context.Context) (time.Time, error) {
	now, err := surreal.First[time.Time](ctx, d.db, "RETURN time::now()", nil)
	if err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

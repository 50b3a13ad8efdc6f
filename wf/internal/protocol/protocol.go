// Package protocol is what a durable run says to the database: the rows it reads, the calls it
// makes, and what they answer. docs/protocol.md describes the same for any language.
//
// Two stores speak it: the database's functions, and the memory of package wftest.
package protocol

import (
	"context"
	"slices"
	"time"
)

// Times of the protocol.
const (
	// LeaseTTL is how long a run holds its instance after its last write.
	LeaseTTL = 15 * time.Second
	// RenewEvery is the time between two heartbeats of a run.
	RenewEvery = 5 * time.Second
)

// Limits of the protocol.
const (
	// MaxValue bounds params, results, outputs and payloads, in bytes of JSON.
	MaxValue = 1 << 20
	// MaxSleep bounds sleeps and the waits for events.
	MaxSleep = 365 * 24 * time.Hour
)

// Kinds of steps.
const (
	KindDo    = "do"
	KindSleep = "sleep"
	KindEvent = "waitForEvent"
)

// States of a step.
const (
	StepRunning  = "running"
	StepRetrying = "retrying"
	StepWaiting  = "waiting"
	StepComplete = "complete"
	StepErrored  = "errored"
)

// An Acquired is the answer to a request for an instance's lease.
type Acquired struct {
	// State is missing, done, paused, superseded, busy or acquired; the rest is set for the last.
	State    string    `json:"state"`
	Status   string    `json:"status"`
	Now      time.Time `json:"now"`
	Instance Instance  `json:"instance"`
	Steps    []Step    `json:"steps"`
	Events   []Event   `json:"events"`
}

// An Instance is the part of its row that a run needs.
type Instance struct {
	ID          string    `json:"-"`
	Binding     string    `json:"binding"`
	Params      any       `json:"params"`
	Incarnation int       `json:"incarnation"`
	Runs        int       `json:"runs"`
	Fence       int       `json:"fence"`
	CreatedAt   time.Time `json:"created_at"`
	// Owner is the record whose user may read the instance, as the store has it; nil for nobody.
	Owner any `json:"owner"`
	// PauseRequested is set where somebody asked for a pause that has not happened yet.
	PauseRequested *time.Time `json:"pause_requested"`
}

// A Step is one step's row.
type Step struct {
	Seq        int    `json:"seq"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Occurrence int    `json:"occurrence"`
	Status     string `json:"status"`
	// Attempts are the last KeptAttempts of them, AttemptsBefore how many came before those.
	Attempts       []Attempt  `json:"attempts"`
	AttemptsBefore int        `json:"attempts_before"`
	Config         *Config    `json:"config"`
	Output         any        `json:"output"`
	Error          *Error     `json:"error"`
	RetryAt        *time.Time `json:"retry_at"`
	WakeAt         *time.Time `json:"wake_at"`
	StartedAt      time.Time  `json:"started_at"`
	// Stack of the error as its row keeps it; a store gives it back in Error.
	Stack string `json:"stack"`
}

// KeptAttempts is how many attempts a step's row keeps: it is written at each of them, and there may be
// thousands.
const KeptAttempts = 50

// Tried is how many attempts of the step have begun.
func (s Step) Tried() int { return s.AttemptsBefore + len(s.Attempts) }

// Attempt notes that another attempt begins.
func (s *Step) Attempt(at time.Time) {
	s.Attempts = append(s.Attempts, Attempt{StartedAt: at})
	if over := len(s.Attempts) - KeptAttempts; over > 0 {
		s.Attempts, s.AttemptsBefore = slices.Clone(s.Attempts[over:]), s.AttemptsBefore+over
	}
}

// Done says whether the step runs no more.
func (s Step) Done() bool { return s.Status == StepComplete || s.Status == StepErrored }

// An Attempt is one call of a step's function.
type Attempt struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Error     *Error     `json:"error"`
}

// A Config is a step's retries and timeout as stored when it first started.
type Config struct {
	Retries Retries `json:"retries"`
	// Timeout of an attempt in milliseconds.
	Timeout int64 `json:"timeout"`
}

// Retries says how often and when a failed attempt is followed by another.
type Retries struct {
	Limit int `json:"limit"`
	// Delay in milliseconds.
	Delay int64 `json:"delay"`
	// Backoff is constant, linear or exponential.
	Backoff string `json:"backoff"`
}

// An Error is an error as stored.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
}

// An Event is an event that no step has consumed.
type Event struct {
	Number  int       `json:"-"`
	Type    string    `json:"type"`
	Payload any       `json:"payload"`
	SentAt  time.Time `json:"sent_at"`
}

// An Ack is the answer to a fenced write.
type Ack struct {
	// OK is false where the instance is not this run's any more.
	OK bool `json:"ok"`
	// Pause asks the run to start no further step.
	Pause bool `json:"pause"`
	// Repeated is true where the step was finished before: its row stays what it was.
	Repeated bool `json:"repeated"`
}

// A StepWrite writes a step's row.
type StepWrite struct {
	// Instance, Incarnation and Owner are those that the run has acquired, with Fence.
	Instance    string
	Incarnation int
	Owner       any
	Fence       int
	Step        Step
	// FinishedAt is by the store's clock, nil for a step that is not done.
	FinishedAt *time.Time
	// Done is true for a step that runs no more.
	Done bool
	// Event numbers the event that the step consumed, 0 for none.
	Event int
}

// A Wait is what a suspended instance waits for.
type Wait struct {
	// Kind is sleep, event or retry.
	Kind string
	// Name of the step.
	Name string
	// WakeAt is when the wait ends at the latest.
	WakeAt time.Time
	// Types are the event types that end it earlier.
	Types []string
}

// A Finish ends an instance.
type Finish struct {
	Instance string
	Fence    int
	// Status is complete or errored.
	Status  string
	Output  any
	Error   *Error
	Warning map[string]any
}

// A From is the step that a restart begins from.
type From struct {
	Name string `json:"name"`
	// Count is which of that name and type, from 1; 0 is the first.
	Count int `json:"count,omitempty"`
	// Type is its kind; "" is do where a do has the name, else sleep, else waitForEvent.
	Type string `json:"type,omitempty"`
}

// A Store keeps instances. All writes are fenced; an error means that the store was not reached and
// nothing is known, and each call may then be repeated.
type Store interface {
	Acquire(ctx context.Context, id, binding, job, token string) (Acquired, error)
	Begin(ctx context.Context, w StepWrite) (Ack, error)
	Commit(ctx context.Context, w StepWrite) (Ack, error)
	Renew(ctx context.Context, id string, fence int) (Ack, error)
	// Suspend ends a run: with waits until the first of them ends, without, to go on at once.
	Suspend(ctx context.Context, id string, fence int, waits []Wait) (Ack, error)
	Finish(ctx context.Context, f Finish) (Ack, error)
	// Warn notes steps that a pass did not reach; stalled ends the run over it.
	Warn(ctx context.Context, id string, fence int, warning map[string]any, stalled bool) (Ack, error)
}

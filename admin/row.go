package admin

import (
	"encoding/json"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// A Summary is an instance as lists show it: without params, output and stack.
type Summary struct {
	ID      string    `json:"id"`
	Binding string    `json:"binding"`
	Status  wf.Status `json:"status"`
	// Owner is the record whose user may read the instance, "" for nobody.
	Owner   string `json:"owner,omitempty"`
	Backend string `json:"backend,omitempty"`
	Version string `json:"version,omitempty"`
	// StepsDone counts the steps that have finished, CurrentStep names the last one written.
	StepsDone   int    `json:"steps_done"`
	CurrentStep string `json:"current_step,omitempty"`
	// WaitingFor and WakeAt are set while the status is waiting or paused.
	WaitingFor *Wait      `json:"waiting_for,omitempty"`
	WakeAt     *time.Time `json:"wake_at,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	UpdatedAt  time.Time  `json:"updated_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	// PauseRequested is set while a running step keeps a pause waiting.
	PauseRequested *time.Time `json:"pause_requested,omitempty"`
	// StalledAt is set while nothing runs a live instance that should run: its jobs failed too often,
	// or its code no longer fits. It is tried again by itself, Stalls times so far.
	StalledAt *time.Time `json:"stalled_at,omitempty"`
	Stalls    int        `json:"stalls,omitempty"`
	// Runs counts the requests that ran it, Incarnation the restarts.
	Runs        int      `json:"runs"`
	Incarnation int      `json:"incarnation"`
	Error       *Error   `json:"error,omitempty"`
	Warning     *Warning `json:"warning,omitempty"`
}

// Live says whether the instance has an end before it.
func (s Summary) Live() bool { return !Terminal(s.Status) }

// Stalled says whether nothing runs the instance although something should.
func (s Summary) Stalled() bool { return s.StalledAt != nil && s.Live() && s.Status != wf.Paused }

// A Wait is what an instance waits for.
type Wait struct {
	// Kind is sleep, event, retry or pause.
	Kind string `json:"kind"`
	// Name of the step.
	Name string `json:"name,omitempty"`
	// Types of the events that would end it.
	Types []string `json:"types,omitempty"`
}

// An Error is why an instance, a step or an attempt failed.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Stack is where it panicked; only where a single instance is looked at.
	Stack string `json:"stack,omitempty"`
}

// A Warning says that the workflow's code took another way than the steps stored before.
type Warning struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Unreached []string `json:"unreached,omitempty"`
}

// An Instance is everything an instance's row holds but its lease. Params and Output are JSON, null
// where there is none.
type Instance struct {
	Summary

	Params json.RawMessage `json:"params"`
	Output json.RawMessage `json:"output"`
	// Job is the outbox job that runs the instance next, or did last.
	Job string `json:"job,omitempty"`
	// LeasedUntil is until when a run holds it, by the database's clock.
	LeasedUntil *time.Time `json:"leased_until,omitempty"`
	// TraceID names the trace of what created it, which its runs go on with; "" where that had none.
	TraceID string `json:"trace_id,omitempty"`
}

// summaryRow and the rows below are the database's.
type summaryRow struct {
	ID             surreal.RecordID  `json:"id"`
	Newest         int64             `json:"newest"`
	Binding        string            `json:"binding"`
	Status         wf.Status         `json:"status"`
	Owner          *surreal.RecordID `json:"owner"`
	Backend        string            `json:"backend"`
	Version        string            `json:"version"`
	StepsDone      int               `json:"steps_done"`
	CurrentStep    string            `json:"current_step"`
	WaitingFor     *Wait             `json:"waiting_for"`
	WakeAt         *time.Time        `json:"wake_at"`
	CreatedAt      time.Time         `json:"created_at"`
	StartedAt      *time.Time        `json:"started_at"`
	UpdatedAt      time.Time         `json:"updated_at"`
	FinishedAt     *time.Time        `json:"finished_at"`
	PauseRequested *time.Time        `json:"pause_requested"`
	StalledAt      *time.Time        `json:"stalled_at"`
	Stalls         int               `json:"stalls"`
	Runs           int               `json:"runs"`
	Incarnation    int               `json:"incarnation"`
	Error          *Error            `json:"error"`
	Warning        *Warning          `json:"warning"`
}

func (r summaryRow) summary() Summary {
	s := Summary{
		ID: key(r.ID), Binding: r.Binding, Status: r.Status, Backend: r.Backend, Version: r.Version,
		StepsDone: r.StepsDone, CurrentStep: r.CurrentStep, WaitingFor: r.WaitingFor, WakeAt: r.WakeAt,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, FinishedAt: r.FinishedAt,
		PauseRequested: r.PauseRequested, StalledAt: r.StalledAt, Stalls: r.Stalls, Runs: r.Runs, Incarnation: r.Incarnation,
		Error: r.Error, Warning: r.Warning,
	}
	if r.Owner != nil {
		s.Owner = surreal.FormatID(*r.Owner)
	}
	return s
}

// key is an instance's id without its table.
func key(id surreal.RecordID) string {
	text, _ := id.ID.(string) // the protocol makes no others
	return text
}

type instanceRow struct {
	summaryRow

	Params     any               `json:"params"`
	Output     any               `json:"output"`
	Stack      string            `json:"stack"`
	Job        *surreal.RecordID `json:"job"`
	LeaseToken string            `json:"lease_token"`
	LeaseUntil *time.Time        `json:"lease_until"`
	Trace      any               `json:"traceparent"`
}

func (r instanceRow) instance(rules redact.Rules) Instance {
	i := Instance{Summary: r.summary(), Params: rules.Value("params", r.Params), Output: rules.Value("output", r.Output), TraceID: traceID(r.Trace)}
	if i.Error != nil {
		i.Error.Stack = r.Stack
	}
	if r.Job != nil {
		i.Job = surreal.FormatID(*r.Job)
	}
	if r.LeaseToken != "" {
		i.LeasedUntil = r.LeaseUntil
	}
	return i
}

package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// An Instance is the row of an instance. Values that workflows see are JSON.
type Instance struct {
	ID, Binding, Status      string
	Params, Output           []byte
	Error                    *protocol.Error
	StepsDone                int
	CurrentStep              string
	WaitingFor               *WaitingFor
	WakeAt                   *time.Time
	CreatedAt                time.Time
	StartedAt, FinishedAt    *time.Time
	Runs, Incarnation        int
	Warning                  map[string]any
	PauseRequested, PausedAt *time.Time
	StalledAt                *time.Time
	Stalls, EventsSent       int
	Job, Previous            string
	LeaseToken               string
	LeaseUntil               time.Time
	Fence                    int
}

// A WaitingFor says what an instance waits for.
type WaitingFor struct {
	Kind, Name string
	Types      []string
	Waits      int
}

// An instance is its row with the rows that belong to it, in its present incarnation.
type instance struct {
	Instance
	steps  map[stepKey]*stepRow
	events []*eventRow
	dead   int // the fence of a run that crashed: whatever it still says is not heard
}

type stepKey struct {
	kind, name string
	occurrence int
}

type stepRow struct {
	step     protocol.Step // without its output
	output   []byte
	finished *time.Time
	run      int // the run that began it
}

type eventRow struct {
	number   int
	typ      string
	payload  []byte
	sentAt   time.Time
	consumed bool
	by       stepKey // the step that consumed it
}

func (i *instance) over() bool {
	return i.Status == complete || i.Status == errored || i.Status == terminated
}

// release gives the lease back.
func (i *instance) release() { i.LeaseToken, i.LeaseUntil = "", time.Time{} }

// come says whether an unconsumed event of one of the types is there.
func (i *instance) come(types []string) bool {
	return slices.ContainsFunc(i.events, func(e *eventRow) bool { return !e.consumed && slices.Contains(types, e.typ) })
}

func (i *instance) consume(number int, by stepKey) {
	for _, e := range i.events {
		if e.number == number {
			e.consumed, e.by = true, by
		}
	}
}

// acquired is the answer to whoever has taken the lease.
func (i *instance) acquired(now time.Time) (protocol.Acquired, error) {
	params, err := unpack(i.Params)
	if err != nil {
		return protocol.Acquired{}, err
	}
	got := protocol.Acquired{State: "acquired", Now: now, Instance: protocol.Instance{
		ID: i.ID, Binding: i.Binding, Params: params,
		Incarnation: i.Incarnation, Runs: i.Runs, Fence: i.Fence, CreatedAt: i.CreatedAt, PauseRequested: i.PauseRequested,
	}}
	for _, row := range i.sorted() {
		step, err := row.unpack()
		if err != nil {
			return protocol.Acquired{}, err
		}
		got.Steps = append(got.Steps, step)
	}
	for _, e := range i.events {
		if e.consumed {
			continue
		}
		payload, err := unpack(e.payload)
		if err != nil {
			return protocol.Acquired{}, err
		}
		got.Events = append(got.Events, protocol.Event{Number: e.number, Type: e.typ, Payload: payload, SentAt: e.sentAt})
	}
	return got, nil
}

// sorted are the steps in the order of their record ids.
func (i *instance) sorted() []*stepRow {
	rows := make([]*stepRow, 0, len(i.steps))
	for _, row := range i.steps {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *stepRow) int {
		return cmp.Or(cmp.Compare(a.step.Kind, b.step.Kind), cmp.Compare(a.step.Name, b.step.Name), cmp.Compare(a.step.Occurrence, b.step.Occurrence))
	})
	return rows
}

// pack makes a step a row that shares nothing with it.
func pack(s protocol.Step) (*stepRow, error) {
	output, err := surreal.ToJSON(s.Output)
	if err != nil {
		return nil, fmt.Errorf("keep output of step %q: %w", s.Name, err)
	}
	s.Output = nil
	copied, err := clone(s)
	if err != nil {
		return nil, fmt.Errorf("keep step %q: %w", s.Name, err)
	}
	return &stepRow{step: copied, output: output}, nil
}

func (r *stepRow) unpack() (protocol.Step, error) {
	s, err := clone(r.step)
	if err != nil {
		return s, fmt.Errorf("load step %q: %w", r.step.Name, err)
	}
	s.Output, err = unpack(r.output)
	return s, err
}

func unpack(data []byte) (any, error) {
	if data == nil {
		return nil, nil
	}
	value, err := surreal.FromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("load value: %w", err)
	}
	return value, nil
}

// clone copies a step by way of JSON, which its row could be kept in as well.
func clone(s protocol.Step) (protocol.Step, error) {
	var out protocol.Step
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

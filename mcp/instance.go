package mcp

import (
	"context"
	"strconv"
	"time"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxSteps and maxEvents are how many of them an answer about an instance shows.
	maxSteps  = 20
	maxEvents = 5
)

type instanceIn struct {
	ID        string `json:"id" jsonschema:"the instance's id, as lists have it"`
	StepsFrom *int   `json:"steps_from,omitempty" jsonschema:"show 20 steps from this place on, counted from 0; by default the last 20"`
	pick
}

// An instanceOut is either an instance or one value of it.
type instanceOut struct {
	Instance *admin.Summary `json:"instance,omitempty"`
	Job      string         `json:"job,omitempty" jsonschema:"the outbox job that runs the instance next, or did last; job_get shows it"`
	Leased   *time.Time     `json:"leased_until,omitempty" jsonschema:"until when a run holds it, by the database's clock"`
	Params   *value         `json:"params,omitempty"`
	Output   *value         `json:"output,omitempty"`
	Steps    *stepsPart     `json:"steps,omitempty"`
	Events   *eventsPart    `json:"events,omitempty"`
	Value    *value         `json:"value,omitempty" jsonschema:"what pointer chose"`
}

type stepsPart struct {
	Total int       `json:"total"`
	Rows  []stepRow `json:"rows"`
}

// A stepRow is a step in an answer about its instance.
type stepRow struct {
	Place    int          `json:"place" jsonschema:"counted from 0: /steps/<place>/output is the pointer to its output"`
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	Status   string       `json:"status" jsonschema:"running, retrying, waiting, complete, errored, or cut off: the instance ended before it"`
	Attempts int          `json:"attempts"`
	Error    *admin.Error `json:"error,omitempty"`
	RetryAt  *time.Time   `json:"retry_at,omitempty"`
	WakeAt   *time.Time   `json:"wake_at,omitempty"`
	Started  string       `json:"started_at"`
	Finished string       `json:"finished_at,omitempty"`
}

type eventsPart struct {
	Total int        `json:"total"`
	Rows  []eventRow `json:"rows"`
}

// An eventRow is an event without its payload.
type eventRow struct {
	Place    int    `json:"place" jsonschema:"counted from 0: /events/<place>/payload is the pointer to its payload"`
	Type     string `json:"type"`
	SentAt   string `json:"sent_at"`
	Consumed bool   `json:"consumed"`
}

func (s *Server) offerInstanceGet() {
	offer(s, tool[instanceIn, instanceOut]{
		name: "durable_instance_get", title: "Look at a workflow instance",
		when: "Shows one durable workflow instance: state, what it waits for, params, output, error, its steps with attempts, and the events sent to it. " +
			"Long values are cut; with pointer it shows one value in pieces, for instance /output, /params/customer, /steps/3/output, /steps/3/attempts, " +
			"/events/0/payload or /error/stack.",
		narrow: func(p properties) {
			p.longest("id", 100)
			p.between("steps_from", 0, 1_000_000)
			narrowPick(p)
		},
		call: s.getInstance,
	})
}

func narrowPick(p properties) {
	p.longest("pointer", 1000)
	p["pointer"].Pattern = "^/"
	p.between("offset", 0, 1<<30)
	p.limit(defaultPiece, maxPiece)
}

func (s *Server) getInstance(ctx context.Context, in instanceIn) (instanceOut, error) {
	i, err := s.cfg.Instances.Get(ctx, in.ID)
	if err != nil {
		return instanceOut{}, err
	}
	if in.Pointer != "" {
		return s.pickOfInstance(ctx, i, in.pick)
	}
	out, err := instanceFacts(i)
	if err != nil {
		return out, err
	}
	steps, err := s.cfg.Instances.Steps(ctx, i.ID, i.Incarnation, false)
	if err != nil {
		return out, err
	}
	events, err := s.cfg.Instances.Events(ctx, i.ID, i.Incarnation)
	if err != nil {
		return out, err
	}
	out.Steps, out.Events = newStepsPart(i, steps, in.StepsFrom), newEventsPart(events)
	return out, nil
}

func instanceFacts(i admin.Instance) (instanceOut, error) {
	params, err := whole(i.Params, "/params")
	if err != nil {
		return instanceOut{}, err
	}
	output, err := whole(i.Output, "/output")
	if err != nil {
		return instanceOut{}, err
	}
	summary := i.Summary
	summary.Error = shortError(summary.Error, 500)
	summary.CurrentStep = cut(summary.CurrentStep, 200)
	summary.WaitingFor = shortWait(summary.WaitingFor)
	summary.Warning = shortWarning(summary.Warning)
	return instanceOut{Instance: &summary, Job: i.Job, Leased: i.LeasedUntil, Params: &params, Output: &output}, nil
}

func shortWait(w *admin.Wait) *admin.Wait {
	if w == nil {
		return nil
	}
	short := admin.Wait{Kind: w.Kind, Name: cut(w.Name, 200)}
	for _, typ := range w.Types[:min(len(w.Types), 10)] {
		short.Types = append(short.Types, cut(typ, 100))
	}
	return &short
}

func shortWarning(w *admin.Warning) *admin.Warning {
	if w == nil {
		return nil
	}
	short := admin.Warning{Code: w.Code, Message: cut(w.Message, 500)}
	for _, step := range w.Unreached[:min(len(w.Unreached), 10)] {
		short.Unreached = append(short.Unreached, cut(step, 100))
	}
	return &short
}

func newStepsPart(of admin.Instance, steps []admin.Step, from *int) *stepsPart {
	first := max(0, len(steps)-maxSteps)
	if from != nil {
		first = min(*from, len(steps))
	}
	part := stepsPart{Total: len(steps), Rows: []stepRow{}}
	for n, step := range steps[first:min(first+maxSteps, len(steps))] {
		part.Rows = append(part.Rows, newStepRow(of, first+n, step))
	}
	return &part
}

func newStepRow(of admin.Instance, place int, step admin.Step) stepRow {
	row := stepRow{
		Place: place, Name: cut(step.Label(), 100), Kind: step.Kind, Status: step.State(of.Status), Attempts: step.Tried(),
		Error: shortError(stepError(step), 200), Started: seconds(step.StartedAt),
	}
	if row.Status != admin.CutOff { // nothing wakes it any more
		row.RetryAt, row.WakeAt = step.RetryAt, step.WakeAt
	}
	if step.FinishedAt != nil {
		row.Finished = seconds(*step.FinishedAt)
	}
	return row
}

// stepError is why a step failed, or why its last attempt did.
func stepError(step admin.Step) *admin.Error {
	if step.Error != nil || step.Done() || len(step.Attempts) == 0 {
		return step.Error
	}
	for n := len(step.Attempts) - 1; n >= 0; n-- {
		if step.Attempts[n].Error != nil {
			return step.Attempts[n].Error
		}
	}
	return nil
}

func newEventsPart(events []admin.Event) *eventsPart {
	first := max(0, len(events)-maxEvents)
	part := eventsPart{Total: len(events), Rows: []eventRow{}}
	for n, e := range events[first:] {
		part.Rows = append(part.Rows, eventRow{Place: first + n, Type: cut(e.Type, 100), SentAt: seconds(e.SentAt), Consumed: e.Consumed})
	}
	return &part
}

// pickOfInstance shows one value of everything that there is about an instance.
func (s *Server) pickOfInstance(ctx context.Context, i admin.Instance, p pick) (instanceOut, error) {
	document := struct {
		admin.Instance

		Steps  []admin.Step  `json:"steps"`
		Events []admin.Event `json:"events"`
	}{Instance: i}
	var err error
	switch parts := p.parts(); parts[0] {
	case "steps":
		document.Steps, err = s.stepsWith(ctx, i, parts[1:])
	case "events":
		document.Events, err = s.cfg.Instances.Events(ctx, i.ID, i.Incarnation)
	}
	if err != nil {
		return instanceOut{}, err
	}
	picked, err := p.of(document)
	return instanceOut{Value: &picked}, err
}

// A stepReader reads a single step.
type stepReader interface {
	Step(ctx context.Context, id string, incarnation int, like admin.Step) (admin.Step, error)
}

// stepsWith are the steps of an instance, with the output of the one whose place comes first in rest:
// all outputs together may be large.
func (s *Server) stepsWith(ctx context.Context, i admin.Instance, rest []string) ([]admin.Step, error) {
	one, ok := s.cfg.Instances.(stepReader)
	steps, err := s.cfg.Instances.Steps(ctx, i.ID, i.Incarnation, !ok && len(rest) > 0)
	if err != nil || !ok || len(rest) == 0 {
		return steps, err
	}
	place, err := strconv.Atoi(rest[0])
	if err != nil || place < 0 || place >= len(steps) {
		return steps, nil // the pointer leads nowhere, and is told so
	}
	steps[place], err = one.Step(ctx, i.ID, i.Incarnation, steps[place])
	return steps, err
}

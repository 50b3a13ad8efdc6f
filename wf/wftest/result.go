package wftest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Result is what a workflow came to.
type Result struct {
	t        T
	instance memory.Instance
	start    time.Time
	end      time.Time
	steps    []Step
	notes    []note
}

// A Step is one step as it is stored.
type Step struct {
	// Kind is do, sleep or waitForEvent.
	Kind, Name string
	// Occurrence counts the steps of that kind and name from 1.
	Occurrence int
	// Status is complete or errored, or, in a workflow that was terminated or paused, running, retrying
	// or waiting.
	Status string
	// Attempts is how often a do step was tried, and Failed what the attempts that failed came to.
	Attempts int
	Failed   []*wf.StepError
	// Err is the error of a step that failed for good.
	Err *wf.StepError
	// Started and Finished are times of the virtual clock; Finished is zero in a step that is not.
	Started, Finished time.Time

	t      T
	output []byte
	run    int
	seq    int
	until  *time.Time
	plain  bool
}

func (d *driver) result() *Result {
	i, _ := d.store.Instance(d.plan.id)
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &Result{t: d.t, instance: i, start: d.plan.start, end: d.store.Now(), notes: slices.Clone(d.notes)}
	for _, s := range d.store.Steps(i.ID) {
		r.steps = append(r.steps, d.stepOf(s))
	}
	slices.SortFunc(r.steps, inOrder)
	return r
}

func (d *driver) stepOf(s memory.Step) Step {
	out := Step{
		Kind: s.Kind, Name: s.Name, Occurrence: s.Occurrence, Status: s.Status, Attempts: s.Tried(),
		Err: stepError(s.Name, s.Error), Started: s.StartedAt, t: d.t, output: s.Output, run: s.Run, seq: s.Seq, until: s.WakeAt, plain: !d.plan.replay,
	}
	if s.FinishedAt != nil {
		out.Finished = *s.FinishedAt
	}
	for _, a := range s.Attempts {
		if a.Error != nil {
			out.Failed = append(out.Failed, stepError(s.Name, a.Error))
		}
	}
	return out
}

// inOrder puts steps in the order in which they began. Those that began in the same run with forced
// replays are parallel, and in the order of their names.
func inOrder(a, b Step) int {
	if a.plain {
		return cmp.Compare(a.seq, b.seq)
	}
	return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Occurrence, b.Occurrence))
}

func stepError(step string, e *protocol.Error) *wf.StepError {
	if e == nil {
		return nil
	}
	return &wf.StepError{Step: step, Name: e.Name, Message: e.Message, Stack: e.Stack}
}

// Status is complete, errored or terminated; paused where [Pause] left it so.
func (r *Result) Status() wf.Status { return wf.Status(r.instance.Status) }

// Output decodes what the workflow returned. It fails the test where the workflow is not complete.
func (r *Result) Output(into any) {
	r.t.Helper()
	if r.Status() != wf.Complete {
		r.t.Fatalf("wftest: there is no output: the workflow is %s: %v", r.Status(), r.Err())
	}
	if err := json.Unmarshal(r.instance.Output, into); err != nil {
		r.t.Fatalf("wftest: the output %s does not fit: %v", r.instance.Output, err)
	}
}

// Err is the error that the workflow ended with, as it is stored: a [*wf.StepError], nil without one.
func (r *Result) Err() error {
	if r.instance.Error == nil {
		return nil
	}
	return stepError("", r.instance.Error)
}

// Steps are the workflow's steps in the order in which they began.
func (r *Result) Steps() []Step { return slices.Clone(r.steps) }

// Step is the first step of a name. It fails the test where there is none.
func (r *Result) Step(name string) Step {
	r.t.Helper()
	for _, s := range r.steps {
		if s.Name == name {
			return s
		}
	}
	r.t.Fatalf("wftest: there was no step %q; the steps were %s", name, r.names())
	return Step{}
}

// Attempts is how often the steps of a name were tried, all together.
func (r *Result) Attempts(name string) int {
	n := 0
	for _, s := range r.steps {
		if s.Name == name {
			n += s.Attempts
		}
	}
	return n
}

// Slept is how long the workflow slept in all its sleeps together.
func (r *Result) Slept() time.Duration {
	var sum time.Duration
	for _, s := range r.steps {
		if s.Kind == protocol.KindSleep && !s.Finished.IsZero() {
			sum += s.Finished.Sub(s.Started)
		}
	}
	return sum
}

// Elapsed is how long the workflow took on the virtual clock: its sleeps, its waits, and the pauses
// between attempts. Steps take no time.
func (r *Result) Elapsed() time.Duration { return r.end.Sub(r.start) }

// Runs is how many runs the workflow took.
func (r *Result) Runs() int { return r.instance.Runs }

func (r *Result) names() string {
	if len(r.steps) == 0 {
		return "none"
	}
	var names []string
	for _, s := range r.steps {
		names = append(names, label(s.Kind, s.Name, s.Occurrence))
	}
	return strings.Join(names, ", ")
}

// Output decodes the result of a step; of a wait for an event, {type, payload, timestamp}. It fails
// the test where the step is not complete.
func (s Step) Output(into any) {
	s.t.Helper()
	if s.Status != protocol.StepComplete {
		s.t.Fatalf("wftest: step %q has no result: it is %s: %v", s.Name, s.Status, s.Err)
	}
	if err := json.Unmarshal(s.output, into); err != nil {
		s.t.Fatalf("wftest: the result %s of step %q does not fit: %v", s.output, s.Name, err)
	}
}

package memory

import (
	"fmt"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Step is the row of a step.
type Step struct {
	protocol.Step
	// Output is JSON.
	Output     []byte
	FinishedAt *time.Time
	// Run is the run that began the step.
	Run int
}

// An Event is the row of an event.
type Event struct {
	Number   int
	Type     string
	Payload  []byte
	SentAt   time.Time
	Consumed bool
	// Consumer is the key of the step that got it: incarnation, kind, name and occurrence; "" for none.
	Consumer string
}

// Instance reads the row of an instance.
func (s *Store) Instance(id string) (Instance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil {
		return Instance{}, false
	}
	return i.Instance, true
}

// Job reads the job that will run, or is running, an instance.
func (s *Store) Job(id string) (Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil || s.jobs[i.Job] == nil {
		return Job{}, false
	}
	return *s.jobs[i.Job], true
}

// Steps reads the steps of an instance, in the order of their record ids.
func (s *Store) Steps(id string) []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil {
		return nil
	}
	var steps []Step
	for _, row := range i.sorted() {
		steps = append(steps, Step{Step: row.step, Output: row.output, FinishedAt: row.finished, Run: row.run})
	}
	return steps
}

// Events reads the events of an instance in the order in which they were sent.
func (s *Store) Events(id string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil {
		return nil
	}
	var events []Event
	for _, e := range i.events {
		event := Event{Number: e.number, Type: e.typ, Payload: e.payload, SentAt: e.sentAt, Consumed: e.consumed}
		if e.consumed {
			event.Consumer = fmt.Sprint(i.Incarnation, e.by.kind, e.by.name, e.by.occurrence)
		}
		events = append(events, event)
	}
	return events
}

// Crash makes the store deaf to the run that holds the instance, as if its process had died: the
// lease stays until it runs out.
func (s *Store) Crash(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.instances[id]; i != nil {
		i.dead = i.Fence
	}
}

// Reopen is a store of its own with a copy of the instance that is to be run again, with all its
// steps.
func (s *Store) Reopen(id string) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := New(s.now)
	i := s.instances[id]
	if i == nil {
		return again
	}
	copied := *i
	copied.Status, copied.Output, copied.Error, copied.FinishedAt, copied.Warning = queued, nil, nil, nil, nil
	copied.Job = again.enqueue(s.now)
	copied.steps = map[stepKey]*stepRow{}
	for key, row := range i.steps {
		copied.steps[key] = row // rows are replaced, never changed, but by Resume
	}
	copied.events = nil
	again.instances[id] = &copied
	return again
}

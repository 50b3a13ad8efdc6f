package memory

import (
	"maps"
	"slices"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Restart is fn::spky::wf::restart; without from it begins at the beginning.
func (s *Store) Restart(id string, from *protocol.From) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil {
		return verdict
	}
	again := Instance{
		ID: i.ID, Binding: i.Binding, Status: queued, Params: i.Params, CreatedAt: i.CreatedAt,
		Incarnation: i.Incarnation + 1, Fence: i.Fence + 1,
	}
	if from == nil {
		i.steps, i.events = map[stepKey]*stepRow{}, nil
	} else {
		found := i.named(*from)
		if found == nil {
			return Verdict{Reason: "step_not_found"}
		}
		i.keepBefore(found.step.Seq)
		if i.PausedAt != nil {
			i.postpone(s.now.Sub(*i.PausedAt))
		}
		again.Runs, again.StartedAt, again.StepsDone, again.EventsSent = i.Runs, i.StartedAt, i.done(), i.lastEvent()
	}
	old := i.Job
	again.Job = s.enqueue(s.now)
	i.Instance = again
	s.revoke(old)
	verdict.OK = true
	return verdict
}

// named is the step that a restart begins from, nil where there is none: without a type a do where one has
// the name, else a sleep, else a waitForEvent.
func (i *instance) named(from protocol.From) *stepRow {
	kind := from.Type
	for key := range i.steps {
		if from.Type == "" && key.name == from.Name && (kind == "" || key.kind < kind) {
			kind = key.kind
		}
	}
	return i.steps[stepKey{kind, from.Name, max(from.Count, 1)}]
}

// keepBefore forgets the steps from seq on, and the events that none of the others got.
func (i *instance) keepBefore(seq int) {
	maps.DeleteFunc(i.steps, func(_ stepKey, row *stepRow) bool { return row.step.Seq >= seq })
	i.events = slices.DeleteFunc(i.events, func(e *eventRow) bool { return !e.consumed || i.steps[e.by] == nil })
}

// lastEvent is the number of the last event, 0 for none.
func (i *instance) lastEvent() int {
	if len(i.events) == 0 {
		return 0
	}
	return i.events[len(i.events)-1].number
}

// done counts the steps that are finished.
func (i *instance) done() int {
	n := 0
	for _, row := range i.steps {
		if row.step.Done() {
			n++
		}
	}
	return n
}

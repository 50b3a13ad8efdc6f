package memory

import (
	"strings"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Verdict is the answer to a verb: the status found, empty without an instance, and whether the
// verb makes sense in it.
type Verdict struct {
	OK     bool
	Status string
	// Reason is step_not_found where a restart names a step that the instance does not have.
	Reason string
}

// Create is fn::spky::wf::create: params are JSON. It is false where the id is used.
func (s *Store) Create(id, binding string, params []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instances[id] != nil {
		return false
	}
	s.instances[id] = &instance{Instance: Instance{
		ID: id, Binding: binding, Status: queued, Params: params, CreatedAt: s.now,
		Job: s.enqueue(s.now),
	}, steps: map[stepKey]*stepRow{}}
	return true
}

// find is the instance that a verb is for, and the verdict as long as it says no.
func (s *Store) find(id string) (*instance, Verdict) {
	i := s.instances[id]
	if i == nil {
		return nil, Verdict{}
	}
	return i, Verdict{Status: i.Status}
}

// SendEvent is fn::spky::wf::send_event: payload is JSON.
func (s *Store) SendEvent(id, typ string, payload []byte) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil || i.over() {
		return verdict
	}
	i.EventsSent++
	i.events = append(i.events, &eventRow{number: i.EventsSent, typ: typ, payload: payload, sentAt: s.now})
	if job := s.jobs[i.Job]; i.Status == waiting && i.WaitingFor.names(typ) && job != nil && !job.Claimed {
		job.Due = s.now
	}
	return Verdict{OK: true, Status: i.Status}
}

func (w *WaitingFor) names(typ string) bool {
	if w == nil {
		return false
	}
	for _, t := range w.Types {
		if t == typ {
			return true
		}
	}
	return false
}

// Pause is fn::spky::wf::pause.
func (s *Store) Pause(id string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil || i.over() || i.Status == paused {
		return verdict
	}
	verdict.OK = true
	if i.LeaseToken != "" && i.LeaseUntil.After(s.now) {
		i.PauseRequested = s.moment()
		return verdict
	}
	s.dequeue(i.Job)
	i.Status, i.PausedAt, i.WaitingFor, i.PauseRequested = paused, s.moment(), &WaitingFor{Kind: "pause"}, nil
	i.Fence++
	i.Job = ""
	i.release()
	return verdict
}

// Resume is fn::spky::wf::resume.
func (s *Store) Resume(id string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	switch {
	case i != nil && i.Status == running && i.PauseRequested != nil:
		i.PauseRequested = nil
		verdict.OK = true
		return verdict
	case i == nil || i.Status != paused:
		return verdict
	}
	i.postpone(s.now.Sub(*i.PausedAt))
	i.Status, i.PausedAt, i.WaitingFor, i.WakeAt = queued, nil, nil, nil
	i.Job = s.enqueue(s.now)
	verdict.OK = true
	return verdict
}

// postpone is fn::spky::wf::postpone.
func (i *instance) postpone(by time.Duration) {
	for _, row := range i.steps {
		if row.step.Status == protocol.StepWaiting || row.step.Status == protocol.StepRetrying {
			row.step.WakeAt, row.step.RetryAt = later(row.step.WakeAt, by), later(row.step.RetryAt, by)
		}
	}
}

func later(t *time.Time, by time.Duration) *time.Time {
	if t == nil {
		return nil
	}
	at := t.Add(by)
	return &at
}

// Terminate is fn::spky::wf::terminate.
func (s *Store) Terminate(id string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil || i.over() {
		return verdict
	}
	i.Status, i.FinishedAt = terminated, s.moment()
	i.Fence++
	i.WaitingFor, i.WakeAt, i.CurrentStep, i.PauseRequested, i.PausedAt, i.StalledAt = nil, nil, "", nil, nil, nil
	i.release()
	s.revoke(i.Job)
	verdict.OK = true
	return verdict
}

// Retry is fn::spky::wf::retry.
func (s *Store) Retry(id string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil || i.Status != errored && (i.StalledAt == nil || i.over() || i.Status == paused) {
		return verdict
	}
	if i.Status == errored {
		i.forgetFailed()
	}
	s.dequeue(i.Job)
	i.Status, i.Error, i.FinishedAt, i.StalledAt, i.Stalls, i.Previous = queued, nil, nil, nil, 0, ""
	i.WaitingFor, i.WakeAt = nil, nil // of a stalled instance that waits
	i.Fence++
	i.release()
	i.Job = s.enqueue(s.now)
	verdict.OK = true
	return verdict
}

// forgetFailed deletes the steps that made the instance fail: those that failed, but for those after
// which the workflow went on and began another, unless their error is the instance's own.
func (i *instance) forgetFailed() {
	var last time.Time
	for _, row := range i.steps {
		if row.step.StartedAt.After(last) {
			last = row.step.StartedAt
		}
	}
	for key, row := range i.steps {
		if row.step.Status != protocol.StepErrored {
			continue
		}
		own := i.Error != nil && row.step.Error != nil && strings.Contains(i.Error.Message, row.step.Error.Message)
		if own || !row.finished.Before(last) {
			delete(i.steps, key)
			i.StepsDone--
		}
	}
}

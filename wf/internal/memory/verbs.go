package memory

import (
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Verdict is the answer to a verb: the status found, empty without an instance, and whether the
// verb makes sense in it.
type Verdict struct {
	OK     bool
	Status string
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
	lasted := s.now.Sub(*i.PausedAt)
	for _, row := range i.steps {
		if row.step.Status == protocol.StepWaiting || row.step.Status == protocol.StepRetrying {
			row.step.WakeAt, row.step.RetryAt = later(row.step.WakeAt, lasted), later(row.step.RetryAt, lasted)
		}
	}
	i.Status, i.PausedAt, i.WaitingFor, i.WakeAt = queued, nil, nil, nil
	i.Job = s.enqueue(s.now)
	verdict.OK = true
	return verdict
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

// Restart is fn::spky::wf::restart.
func (s *Store) Restart(id string) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, verdict := s.find(id)
	if i == nil {
		return verdict
	}
	old := i.Job
	i.Instance = Instance{
		ID: i.ID, Binding: i.Binding, Status: queued, Params: i.Params, CreatedAt: i.CreatedAt,
		Incarnation: i.Incarnation + 1, Fence: i.Fence + 1, Job: s.enqueue(s.now),
	}
	i.steps, i.events = map[stepKey]*stepRow{}, nil
	s.revoke(old)
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
		for key, row := range i.steps {
			if row.step.Status == protocol.StepErrored {
				delete(i.steps, key)
				i.StepsDone--
			}
		}
	}
	s.dequeue(i.Job)
	i.Status, i.Error, i.FinishedAt, i.StalledAt, i.Stalls, i.Previous = queued, nil, nil, nil, 0, ""
	i.Fence++
	i.release()
	i.Job = s.enqueue(s.now)
	verdict.OK = true
	return verdict
}

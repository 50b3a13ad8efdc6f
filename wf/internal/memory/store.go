package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Store is a database of instances. Its methods may be called from any number of goroutines.
type Store struct {
	mu        sync.Mutex
	now       time.Time
	instances map[string]*instance
	jobs      map[string]*Job
	made      int // jobs so far
}

// States of an instance.
const (
	queued     = "queued"
	running    = "running"
	waiting    = "waiting"
	paused     = "paused"
	complete   = "complete"
	errored    = "errored"
	terminated = "terminated"
)

// A Job is the outbox row of an instance's run.
type Job struct {
	ID  string
	Due time.Time
	// Claimed is set while somebody runs it, Cancelled when he was asked to abort it.
	Claimed, Cancelled bool
}

// New makes an empty store whose clock shows now.
func New(now time.Time) *Store {
	return &Store{now: now, instances: map[string]*instance{}, jobs: map[string]*Job{}}
}

// Now is what the store's clock shows.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Advance moves the clock; one that shows a later time already stays.
func (s *Store) Advance(to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.After(s.now) {
		s.now = to
	}
}

func (s *Store) enqueue(at time.Time) string {
	s.made++
	id := fmt.Sprintf("job:%d", s.made)
	s.jobs[id] = &Job{ID: id, Due: at}
	return id
}

// dequeue takes an unstarted job away.
func (s *Store) dequeue(id string) {
	if job := s.jobs[id]; job != nil && !job.Claimed {
		delete(s.jobs, id)
	}
}

// revoke is dequeue that also asks a running job's holder to abort it.
func (s *Store) revoke(id string) {
	s.dequeue(id)
	if job := s.jobs[id]; job != nil {
		job.Cancelled = true
	}
}

// Claim marks an instance's job as running, as the sync processor does before it asks for a run.
func (s *Store) Claim(id string) (Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil || s.jobs[i.Job] == nil {
		return Job{}, false
	}
	job := s.jobs[i.Job]
	job.Claimed = true
	return *job, true
}

// Acquire is fn::spky::wf::acquire.
func (s *Store) Acquire(_ context.Context, id, binding, job, token string) (protocol.Acquired, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	switch {
	case i == nil || i.Binding != binding:
		return protocol.Acquired{State: "missing"}, nil
	case i.over():
		return protocol.Acquired{State: "done", Status: i.Status}, nil
	case i.Status == paused:
		return protocol.Acquired{State: "paused"}, nil
	case job != "" && i.Job != "" && i.Job != job:
		return protocol.Acquired{State: "superseded"}, nil
	case i.LeaseToken != "" && i.LeaseToken != token && i.LeaseUntil.After(s.now):
		return protocol.Acquired{State: "busy"}, nil
	}
	i.Fence++
	i.LeaseToken, i.LeaseUntil = token, s.now.Add(protocol.LeaseTTL)
	i.Status, i.WaitingFor, i.WakeAt, i.StalledAt = running, nil, nil, nil
	if i.Warning["stalled"] == true {
		i.Warning = nil // it will say so again, if it does not fit yet
	}
	i.Runs++
	if i.StartedAt == nil {
		i.StartedAt = s.moment()
	}
	return i.acquired(s.now)
}

// moment is the present as a field of its own.
func (s *Store) moment() *time.Time { now := s.now; return &now }

// held finds an instance that is still held under a fence, else nothing.
func (s *Store) held(id string, fence int) *instance {
	i := s.instances[id]
	if i == nil || i.Fence != fence || i.LeaseToken == "" || i.dead == fence {
		return nil
	}
	return i
}

// Begin is fn::spky::wf::begin_step, and fail_attempt.
func (s *Store) Begin(_ context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	w.Done = false
	return s.put(w)
}

// Commit is fn::spky::wf::commit_step.
func (s *Store) Commit(_ context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	w.Done = true
	return s.put(w)
}

func (s *Store) put(w protocol.StepWrite) (protocol.Ack, error) {
	row, err := pack(w.Step)
	if err != nil {
		return protocol.Ack{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.held(w.Instance, w.Fence)
	if i == nil {
		return protocol.Ack{}, nil
	}
	key := stepKey{w.Step.Kind, w.Step.Name, w.Step.Occurrence}
	was := i.steps[key]
	repeated := was != nil && was.step.Done()
	if w.Done {
		i.Stalls = 0
		if !repeated {
			i.StepsDone++
		}
	}
	i.CurrentStep, i.LeaseUntil = w.Step.Name, s.now.Add(protocol.LeaseTTL)
	if !repeated {
		row.run = i.Runs
		if was != nil {
			row.run = was.run
		}
		if w.Done {
			row.finished = s.moment()
		}
		i.steps[key] = row
		i.consume(w.Event, key)
	}
	return protocol.Ack{OK: true, Pause: i.PauseRequested != nil, Repeated: repeated}, nil
}

// Renew is fn::spky::wf::renew.
func (s *Store) Renew(_ context.Context, id string, fence int) (protocol.Ack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.held(id, fence)
	if i == nil {
		return protocol.Ack{}, nil
	}
	i.LeaseUntil = s.now.Add(protocol.LeaseTTL)
	return protocol.Ack{OK: true, Pause: i.PauseRequested != nil}, nil
}

// Suspend is fn::spky::wf::suspend.
func (s *Store) Suspend(_ context.Context, id string, fence int, waits []protocol.Wait) (protocol.Ack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.held(id, fence)
	if i == nil {
		return protocol.Ack{}, nil
	}
	var waitingFor *WaitingFor
	at := s.now
	if len(waits) > 0 {
		first, types := earliest(waits)
		waitingFor = &WaitingFor{Kind: first.Kind, Name: first.Name, Types: types, Waits: len(waits)}
		at = first.WakeAt
	}
	i.release()
	i.Previous = i.Job
	if i.PauseRequested != nil {
		i.Status, i.PausedAt, i.PauseRequested = paused, s.moment(), nil
		i.WaitingFor, i.Job, i.WakeAt = &WaitingFor{Kind: "pause"}, "", nil
		if waitingFor != nil {
			i.WakeAt = &at
		}
		return protocol.Ack{OK: true, Pause: true}, nil
	}
	if waitingFor != nil && i.come(waitingFor.Types) {
		at = s.now
	}
	i.Status, i.WaitingFor, i.WakeAt = queued, nil, nil
	if waitingFor != nil && at.After(s.now) {
		i.Status, i.WaitingFor, i.WakeAt = waiting, waitingFor, &at
	}
	i.Job = s.enqueue(at)
	return protocol.Ack{OK: true}, nil
}

func earliest(waits []protocol.Wait) (protocol.Wait, []string) {
	first := slices.MinFunc(waits, func(a, b protocol.Wait) int { return a.WakeAt.Compare(b.WakeAt) })
	types := []string{}
	for _, w := range waits {
		types = append(types, w.Types...)
	}
	return first, types
}

// Finish is fn::spky::wf::finish.
func (s *Store) Finish(_ context.Context, f protocol.Finish) (protocol.Ack, error) {
	output, err := surreal.ToJSON(f.Output)
	if err != nil {
		return protocol.Ack{}, fmt.Errorf("keep output: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.held(f.Instance, f.Fence)
	if i == nil {
		return protocol.Ack{}, nil
	}
	i.Status, i.Output, i.Error, i.FinishedAt = f.Status, output, f.Error, s.moment()
	if f.Warning != nil {
		i.Warning = f.Warning
	}
	i.CurrentStep, i.WaitingFor, i.WakeAt, i.PauseRequested = "", nil, nil, nil
	i.release()
	return protocol.Ack{OK: true}, nil
}

// Warn is fn::spky::wf::warn.
func (s *Store) Warn(_ context.Context, id string, fence int, warning map[string]any, stalled bool) (protocol.Ack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.held(id, fence)
	if i == nil {
		return protocol.Ack{}, nil
	}
	i.Warning = maps.Clone(warning)
	i.Warning["stalled"] = stalled
	if stalled {
		i.StalledAt = s.moment()
		wait := min(300, 5<<min(i.Stalls, 8))
		i.Stalls++
		i.Status, i.Previous = queued, i.Job
		i.Job = s.enqueue(s.now.Add(time.Duration(wait) * time.Second))
		i.release()
	}
	return protocol.Ack{OK: true}, nil
}

package model

// ask is what anybody may ask for, outside a run.
func (s InstanceState) ask(verb InstanceVerb) (instanceOutcome, bool) {
	switch verb {
	case Send:
		return s.send()
	case Pause:
		return s.pause(), true
	case Resume:
		return s.resume(), true
	case Terminate:
		return s.terminate(), true
	case Restart:
		return s.restart(), true
	case Rewind:
		return s.rewind(), true
	case RetryIt:
		return s.retry(), true
	default:
		return s.rescue()
	}
}

// agreed and refused are answers, with the status found.
func agreed(status string) string  { return "ok: " + status }
func refused(status string) string { return "refused: " + status }

func (s InstanceState) send() (instanceOutcome, bool) {
	if s.terminal() {
		return instanceOutcome{To: s, Answer: refused(s.Status)}, true
	}
	if s.Event != Unsent {
		return instanceOutcome{}, false
	}
	s.Event = Kept
	if s.Status == Waiting && s.Waits == "event" && s.Job != Processing {
		s.Job = Due // woken, or made anew
	}
	return instanceOutcome{To: s, Answer: agreed(s.Status)}, true
}

func (s InstanceState) pause() instanceOutcome {
	was := s.Status
	switch {
	case !s.ready():
		return instanceOutcome{To: s, Answer: refused(was)}
	case s.Lease == Held:
		s.Pausing = true
		return instanceOutcome{To: s, Answer: agreed(was)}
	}
	s.Status, s.Waits, s.Job, s.Holder, s.Lease, s.Pausing = Paused, "pause", NoJob, Nobody, NoLease, false
	return instanceOutcome{To: s, Answer: agreed(was), Effect: InstanceEffect{Fences: 1}}
}

func (s InstanceState) resume() instanceOutcome {
	was := s.Status
	switch {
	case was == Running && s.Pausing:
		s.Pausing = false
	case was == Paused:
		s.Status, s.Waits, s.Job = Queued, "", Due
	default:
		return instanceOutcome{To: s, Answer: refused(was)}
	}
	return instanceOutcome{To: s, Answer: agreed(was)}
}

func (s InstanceState) terminate() instanceOutcome {
	was := s.Status
	if s.terminal() {
		return instanceOutcome{To: s, Answer: refused(was)}
	}
	if s.Job == Later || s.Job == Due {
		s.Job = Gone
	}
	s.Status, s.Waits, s.Holder, s.Lease, s.Pausing, s.Stalled = Terminated, "", Nobody, NoLease, false, false
	return instanceOutcome{To: s, Answer: agreed(was), Effect: InstanceEffect{Fences: 1}}
}

func (s InstanceState) restart() instanceOutcome {
	to := InstanceState{Status: Queued, Job: Due}
	return instanceOutcome{To: to, Answer: agreed(s.Status), Effect: InstanceEffect{Fences: 1, Incarnations: 1, Anew: true}}
}

// rewind is a restart from the one step that there is.
func (s InstanceState) rewind() instanceOutcome {
	if s.Step == "" {
		return instanceOutcome{To: s, Answer: refused("")}
	}
	effect := InstanceEffect{Fences: 1, Incarnations: 1, Progress: true}
	if s.Step == Complete || s.Step == Errored {
		effect.Steps = -1
	}
	return instanceOutcome{To: InstanceState{Status: Queued, Job: Due}, Answer: agreed(s.Status), Effect: effect}
}

func (s InstanceState) retry() instanceOutcome {
	was := s.Status
	if was != Errored && !(s.Stalled && s.ready()) {
		return instanceOutcome{To: s, Answer: refused(was)}
	}
	effect := InstanceEffect{Fences: 1, Progress: true}
	if was == Errored && s.Step == Errored {
		s.Step, effect.Steps = "", -1
	}
	s.Status, s.Waits, s.Job, s.Holder, s.Lease, s.Stalled = Queued, "", Due, Nobody, NoLease, false
	return instanceOutcome{To: s, Answer: agreed(was), Effect: effect}
}

// rescue is for what a sweep looks at: live instances, none that is paused.
func (s InstanceState) rescue() (instanceOutcome, bool) {
	switch {
	case !s.ready():
		return instanceOutcome{}, false
	case s.Job == Later || s.Job == Due || s.Job == Processing || s.Lease == Held:
		return instanceOutcome{To: s, Answer: "left alone"}, true
	}
	if s.Status == Running {
		s.Status = Queued
	}
	s.Job, s.Stalled, s.Holder, s.Lease = Later, true, Nobody, NoLease
	return instanceOutcome{To: s, Answer: "rescued", Effect: InstanceEffect{Rescued: true}}, true
}

// happen is what time, nodes and clients do to what belongs to the instance.
func (s InstanceState) happen(verb InstanceVerb) (instanceOutcome, bool) {
	was, answer := s, ""
	switch {
	case verb == RunsOut && s.Lease == Held:
		s.Lease = RunOut
	case verb == Comes && s.Job == Later:
		s.Job = Due
	case verb == ClaimJob && s.Job == Due:
		s.Job, answer = Processing, "granted"
	case verb == EndJob && s.Job == Processing:
		s.Job = Over
	case verb == LoseJob && s.Job != NoJob:
		s.Job = Gone
	}
	return instanceOutcome{To: s, Answer: answer}, s != was
}

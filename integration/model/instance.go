package model

import "fmt"

// The states of an instance.
const (
	Queued     = "queued"
	Running    = "running"
	Waiting    = "waiting"
	Paused     = "paused"
	Complete   = "complete"
	Errored    = "errored"
	Terminated = "terminated"
)

// A Lease is how a run holds an instance.
type Lease int

// A lease that has run out still holds until somebody else takes the instance.
const (
	NoLease Lease = iota
	Held
	RunOut
)

// A JobPlace is where the job is that the instance points at.
type JobPlace int

// The places. A job that is gone has no row any more, but the instance still names it.
const (
	NoJob JobPlace = iota
	Later
	Due
	Processing
	Over
	Gone
)

// An EventPlace is where the one event is.
type EventPlace int

// The places.
const (
	Unsent EventPlace = iota
	Kept
	Consumed
)

// An InstanceState is one instance with two runs of it, one step, one event and its job.
type InstanceState struct {
	Status string
	// Holder is the run whose fence is the instance's and whose lease it has.
	Holder Party
	Lease  Lease
	// Pausing is whether a pause is asked for.
	Pausing bool
	// Waits is the kind of wait the instance shows: "", sleep, event, pause.
	Waits string
	Job   JobPlace
	// Step is the status of the step's row, "" for none.
	Step    string
	Event   EventPlace
	Stalled bool
}

// An InstanceVerb is what can happen to an instance.
type InstanceVerb string

// What runs do, what anybody may ask for, and what happens by itself.
const (
	Acquire      InstanceVerb = "acquire"         // for any job
	AcquireAgain InstanceVerb = "acquire again"   // with the token of its last run
	AcquireOwn   InstanceVerb = "acquire own"     // for the job that the instance points at
	AcquireOther InstanceVerb = "acquire foreign" // for another job
	AcquireWrong InstanceVerb = "acquire wrong"   // as another workflow
	Begin        InstanceVerb = "begin"
	Commit       InstanceVerb = "commit"
	CommitError  InstanceVerb = "commit error"
	CommitEvent  InstanceVerb = "commit event" // the step consumes the event
	Renew        InstanceVerb = "renew"
	Sleep        InstanceVerb = "suspend for a sleep"
	WaitEvent    InstanceVerb = "suspend for the event"
	HandOver     InstanceVerb = "hand over"
	Finish       InstanceVerb = "finish"
	FinishError  InstanceVerb = "finish with an error"

	Send      InstanceVerb = "send event"
	Pause     InstanceVerb = "pause"
	Resume    InstanceVerb = "resume"
	Terminate InstanceVerb = "terminate"
	Restart   InstanceVerb = "restart"
	Rewind    InstanceVerb = "restart from the step"
	RetryIt   InstanceVerb = "retry"
	Rescue    InstanceVerb = "rescue" // what the sweep does with instances it finds

	RunsOut  InstanceVerb = "the lease runs out"
	Comes    InstanceVerb = "the job becomes due"
	ClaimJob InstanceVerb = "the job is claimed"
	EndJob   InstanceVerb = "the job ends"
	LoseJob  InstanceVerb = "the job is deleted"
)

// An InstanceAction is a verb, and the run that does it where it is a run's.
type InstanceAction struct {
	Verb InstanceVerb
	By   Party
}

func (a InstanceAction) String() string {
	if a.By == Nobody {
		return string(a.Verb)
	}
	return fmt.Sprintf("%s: %s", a.By, a.Verb)
}

// An InstanceEffect is what an action changes in columns that are not part of the state.
type InstanceEffect struct {
	Fences, Runs, Steps, Incarnations int
	// Anew is whether counters of the incarnation begin again.
	Anew bool
	// Rescued is whether the sweep gave it a job; Progress, whether that is forgotten.
	Rescued, Progress bool
}

type instanceOutcome = Outcome[InstanceState, InstanceEffect]

// byRuns are the verbs of runs, from outside those of anybody else.
func byRuns() []InstanceVerb {
	return []InstanceVerb{
		Acquire, AcquireAgain, AcquireOwn, AcquireOther, AcquireWrong, Begin, Commit, CommitError, CommitEvent, Renew,
		Sleep, WaitEvent, HandOver, Finish, FinishError,
	}
}

func fromOutside() []InstanceVerb {
	return []InstanceVerb{Send, Pause, Resume, Terminate, Restart, Rewind, RetryIt, Rescue, RunsOut, Comes, ClaimJob, EndJob, LoseJob}
}

// Instances is the life of one instance with two runs, as far as these verbs make it: a life of all of
// them has more states than can be tried in a minute.
func Instances(verbs ...InstanceVerb) System[InstanceState, InstanceAction, InstanceEffect] {
	chosen := map[InstanceVerb]bool{}
	for _, verb := range verbs {
		chosen[verb] = true
	}
	var actions []InstanceAction
	for _, verb := range byRuns() {
		if chosen[verb] {
			actions = append(actions, InstanceAction{verb, A}, InstanceAction{verb, B})
		}
	}
	for _, verb := range fromOutside() {
		if chosen[verb] {
			actions = append(actions, InstanceAction{Verb: verb})
		}
	}
	return System[InstanceState, InstanceAction, InstanceEffect]{
		Start: InstanceState{Status: Queued, Job: Due}, Actions: actions, Step: stepInstance,
	}
}

func stepInstance(s InstanceState, a InstanceAction) (instanceOutcome, bool) {
	switch a.Verb {
	case Acquire, AcquireAgain, AcquireOwn, AcquireOther, AcquireWrong:
		return s.acquire(a)
	case Begin, Commit, CommitError, CommitEvent:
		return s.step(a)
	case Renew, Sleep, WaitEvent, HandOver, Finish, FinishError:
		return s.end(a), true
	case RunsOut, Comes, ClaimJob, EndJob, LoseJob:
		return s.happen(a.Verb)
	default:
		return s.ask(a.Verb)
	}
}

// terminal is whether it has ended.
func (s InstanceState) terminal() bool {
	return s.Status == Complete || s.Status == Errored || s.Status == Terminated
}

// ready is whether a run may take it, but for another's lease.
func (s InstanceState) ready() bool {
	return s.Status == Queued || s.Status == Running || s.Status == Waiting
}

func (s InstanceState) acquire(a InstanceAction) (instanceOutcome, bool) {
	refused := func(state string) (instanceOutcome, bool) { return instanceOutcome{To: s, Answer: state}, true }
	mine := a.Verb == AcquireAgain && s.Holder == a.By
	switch {
	case a.Verb == AcquireOwn && s.Job == NoJob:
		return instanceOutcome{}, false // it names no job
	case a.Verb == AcquireWrong:
		return refused("missing")
	case s.terminal():
		return refused("done")
	case s.Status == Paused:
		return refused("paused")
	case a.Verb == AcquireOther && s.Job != NoJob:
		return refused("superseded")
	case s.Lease == Held && !mine:
		return refused("busy")
	}
	s.Status, s.Holder, s.Lease, s.Waits, s.Stalled = Running, a.By, Held, "", false
	return instanceOutcome{To: s, Answer: "acquired", Effect: InstanceEffect{Fences: 1, Runs: 1}}, true
}

// ack is the answer to a fenced write that was made.
func ack(pause, repeated bool) string {
	return fmt.Sprintf("ok, pause %t, repeated %t", pause, repeated)
}

// lost is the answer to one that was not.
const lost = "lost"

// holds is whether the run's fence is the instance's, which a lease that has run out does not change.
func (s InstanceState) holds(run Party) bool { return s.Holder == run && s.Lease != NoLease }

func (s InstanceState) step(a InstanceAction) (instanceOutcome, bool) {
	if a.Verb == CommitEvent && s.Event == Unsent {
		return instanceOutcome{}, false // there is none that a run could have seen
	}
	if !s.holds(a.By) {
		return instanceOutcome{To: s, Answer: lost}, true
	}
	s.Lease = Held
	if s.Step == Complete || s.Step == Errored {
		out := instanceOutcome{To: s, Answer: ack(s.Pausing, true)}
		out.Effect.Progress = a.Verb != Begin
		return out, true
	}
	switch a.Verb {
	case Begin:
		s.Step = Running
		return instanceOutcome{To: s, Answer: ack(s.Pausing, false)}, true
	case CommitError:
		s.Step = Errored
	case CommitEvent:
		s.Step, s.Event = Complete, Consumed
	case Commit:
		s.Step = Complete
	}
	return instanceOutcome{To: s, Answer: ack(s.Pausing, false), Effect: InstanceEffect{Steps: 1, Progress: true}}, true
}

// end is what a run says of itself: that it goes on, waits, or is over.
func (s InstanceState) end(a InstanceAction) instanceOutcome {
	if !s.holds(a.By) {
		return instanceOutcome{To: s, Answer: lost}
	}
	if a.Verb == Renew {
		s.Lease = Held
		return instanceOutcome{To: s, Answer: ack(s.Pausing, false)}
	}
	s.Holder, s.Lease = Nobody, NoLease
	switch {
	case a.Verb == Finish || a.Verb == FinishError:
		s.Status = Complete
		if a.Verb == FinishError {
			s.Status = Errored
		}
		s.Pausing, s.Waits = false, ""
	case s.Pausing:
		s.Status, s.Pausing, s.Waits, s.Job = Paused, false, "pause", NoJob
		return instanceOutcome{To: s, Answer: ack(true, false)}
	case a.Verb == Sleep:
		s.Status, s.Waits, s.Job = Waiting, "sleep", Later
	case a.Verb == WaitEvent && s.Event != Kept:
		s.Status, s.Waits, s.Job = Waiting, "event", Later
	default:
		s.Status, s.Waits, s.Job = Queued, "", Due
	}
	return instanceOutcome{To: s, Answer: ack(false, false)}
}

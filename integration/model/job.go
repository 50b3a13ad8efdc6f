package model

import (
	"fmt"

	"sp00ky.cloud/spky/outbox"
)

// A Party is one of two: of nodes that compete for a job, or of runs of an instance.
type Party int

// The parties. Nobody stands for one whose claim is not the present one any more.
const (
	Nobody Party = iota
	A
	B
)

func (p Party) String() string { return [...]string{"nobody", "a", "b"}[p] }

// Bounds of the jobs that are explored.
const (
	// MaxRetries is what the job's creator wrote: after three more lost attempts it ends.
	MaxRetries = 1
	// MostRetries is one attempt more than that, so that the end is reached in each way.
	MostRetries = 4
)

// A JobState is one job with two nodes.
type JobState struct {
	Status outbox.Status
	// Due is whether a pending job's time has come.
	Due bool
	// Fresh is the node whose claim the row's epoch is, even after the attempt has ended.
	Fresh Party
	// Expired is whether the lease of a job in processing has run out.
	Expired bool
	// DeadA and DeadB are nodes that have fallen silent.
	DeadA, DeadB bool
	// Cancel is whether a running job's cancellation was asked for.
	Cancel  bool
	Retries int
}

// A JobVerb is what can happen to a job.
type JobVerb string

// What nodes, operators, clients and time do. Settle verbs are named after what becomes of the job.
const (
	Claim     JobVerb = "claim"
	Succeed   JobVerb = "succeed"
	Fail      JobVerb = "fail"        // an attempt failed, and it was the last
	Repeat    JobVerb = "repeat"      // an attempt failed, and another is due at once
	RepeatIn  JobVerb = "repeat in"   // an attempt failed, and another is due in an hour
	Release   JobVerb = "release"     // the attempt does not count
	CancelOff JobVerb = "cancel off"  // the holder has aborted the request
	Cancel    JobVerb = "cancel"      // somebody asks for it
	Retry     JobVerb = "retry"       // a finished job runs again
	ByHand    JobVerb = "by hand"     // a client sets a finished job to pending
	Reap      JobVerb = "reap"        // a node takes the job from a holder that is gone
	Expire    JobVerb = "expire"      // the lease runs out
	Await     JobVerb = "await"       // the wait until the job is due is over
	Die       JobVerb = "fall silent" // a node has no heartbeat any more
	Revive    JobVerb = "revive"
)

// A JobAction is a verb, and the node that does it where it is a node's.
type JobAction struct {
	Verb JobVerb
	By   Party
}

func (a JobAction) String() string {
	if a.By == Nobody {
		return string(a.Verb)
	}
	return fmt.Sprintf("%s: %s", a.By, a.Verb)
}

// A JobEffect is what an action changes in columns that are not part of the state.
type JobEffect struct {
	// Epochs is by how much the epoch grows.
	Epochs int
	// Errors are codes of entries that are appended.
	Errors []string
	// Forget clears the errors.
	Forget bool
	// Result is whether the row has a result from now on; nil where that stays as it was.
	Result *bool
}

type jobOutcome = Outcome[JobState, JobEffect]

// Jobs is the life of one job between two nodes.
func Jobs() System[JobState, JobAction, JobEffect] {
	var actions []JobAction
	for _, verb := range []JobVerb{Cancel, Retry, ByHand, Reap, Expire, Await} {
		actions = append(actions, JobAction{Verb: verb})
	}
	for _, verb := range []JobVerb{Claim, Succeed, Fail, Repeat, RepeatIn, Release, CancelOff, Die, Revive} {
		actions = append(actions, JobAction{verb, A}, JobAction{verb, B})
	}
	return System[JobState, JobAction, JobEffect]{
		Start: JobState{Status: outbox.Pending, Due: true}, Actions: actions, Step: stepJob,
	}
}

func stepJob(s JobState, a JobAction) (jobOutcome, bool) {
	switch a.Verb {
	case Claim:
		return s.claim(a.By), true
	case Succeed, Fail, Repeat, RepeatIn, Release, CancelOff:
		return s.settle(a)
	case Cancel:
		return s.cancel(), true
	case Retry:
		return s.retry(), true
	case Reap:
		return s.reap()
	default:
		return s.happen(a)
	}
}

// held is whether the node's claim is the one that the row is held under.
func (s JobState) held(by Party) bool { return s.Status == outbox.Processing && s.Fresh == by }

// dead is whether the holder has fallen silent.
func (s JobState) dead() bool { return s.Fresh == A && s.DeadA || s.Fresh == B && s.DeadB }

func (s JobState) claim(by Party) jobOutcome {
	if s.Status != outbox.Pending || !s.Due {
		return jobOutcome{To: s, Answer: "nothing"}
	}
	answer := fmt.Sprintf("attempt %d", s.Retries+1)
	s.Status, s.Due, s.Fresh, s.Expired = outbox.Processing, false, by, false
	return jobOutcome{To: s, Answer: answer, Effect: JobEffect{Epochs: 1}}
}

// outcomes are what each settle verb writes.
func outcomes() map[JobVerb]outbox.Status {
	return map[JobVerb]outbox.Status{
		Succeed: outbox.Success, Fail: outbox.Failed, Repeat: outbox.Pending, RepeatIn: outbox.Pending,
		Release: outbox.Pending, CancelOff: outbox.Cancelled,
	}
}

// settle writes under the epoch of the node's last claim, which is an old one where it is not Fresh. An
// outcome that is found as it was to be written counts as written: its answer may have been lost before.
func (s JobState) settle(a JobAction) (jobOutcome, bool) {
	status := outcomes()[a.Verb]
	if !s.held(a.By) {
		again := s.Fresh == a.By && (s.Status == status || status == outbox.Pending && s.Status == outbox.Cancelled)
		return jobOutcome{To: s, Answer: settled(again, s.Status)}, true
	}
	effect := JobEffect{Result: new(a.Verb == Succeed)}
	if a.Verb == Fail || a.Verb == Repeat || a.Verb == RepeatIn {
		effect.Errors = append(effect.Errors, "500")
		s.Retries++
	}
	if status == outbox.Pending && s.Cancel {
		effect.Errors = append(effect.Errors, outbox.CodeCancelled)
		status = outbox.Cancelled
	}
	s.Status, s.Cancel, s.Expired = status, false, false
	s.Due = status == outbox.Pending && a.Verb != RepeatIn
	return jobOutcome{To: s, Answer: settled(true, status), Effect: effect}, s.Retries <= MostRetries
}

func settled(written bool, status outbox.Status) string {
	if written {
		return "written: " + string(status)
	}
	return "found: " + string(status)
}

func (s JobState) cancel() jobOutcome {
	was := s.Status
	switch s.Status {
	case outbox.Pending:
		s.Status, s.Due = outbox.Cancelled, false
		return jobOutcome{To: s, Answer: operated(true, was), Effect: JobEffect{Errors: []string{outbox.CodeCancelled}}}
	case outbox.Processing:
		s.Cancel = true
		return jobOutcome{To: s, Answer: operated(true, was)}
	}
	return jobOutcome{To: s, Answer: operated(false, was)}
}

func (s JobState) retry() jobOutcome {
	was := s.Status
	if !was.Terminal() {
		return jobOutcome{To: s, Answer: operated(false, was)}
	}
	s.Status, s.Due, s.Retries, s.Fresh = outbox.Pending, true, 0, Nobody
	return jobOutcome{To: s, Answer: operated(true, was), Effect: JobEffect{Epochs: 1, Forget: true, Result: new(false)}}
}

func operated(done bool, status outbox.Status) string {
	if done {
		return "was " + string(status)
	}
	return "refused: " + string(status)
}

func (s JobState) reap() (jobOutcome, bool) {
	if s.Status != outbox.Processing || !s.Expired && !s.dead() {
		return jobOutcome{To: s, Answer: "nothing"}, true
	}
	code := outbox.CodeLeaseExpired
	switch {
	case s.Cancel:
		s.Status, code = outbox.Cancelled, outbox.CodeCancelled
	case s.Retries >= MaxRetries+2:
		s.Status = outbox.Failed
	default:
		s.Status, s.Due = outbox.Pending, true
	}
	s.Retries++
	s.Fresh, s.Expired, s.Cancel = Nobody, false, false
	out := jobOutcome{To: s, Answer: "taken: " + string(s.Status), Effect: JobEffect{Epochs: 1, Errors: []string{code}}}
	return out, s.Retries <= MostRetries
}

// happen is what time and others do; each only where it makes a difference.
func (s JobState) happen(a JobAction) (jobOutcome, bool) {
	was := s
	switch a.Verb {
	case Expire:
		s.Expired = s.Status == outbox.Processing
	case Await:
		s.Due = s.Status == outbox.Pending
	case ByHand:
		if s.Status.Terminal() {
			s.Status, s.Due = outbox.Pending, true
		}
	case Die, Revive:
		dead := &s.DeadA
		if a.By == B {
			dead = &s.DeadB
		}
		*dead = a.Verb == Die
	}
	return jobOutcome{To: s}, s != was
}

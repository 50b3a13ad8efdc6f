package model

import (
	"time"

	"github.com/anishathalye/porcupine"

	"sp00ky.cloud/spky/outbox"
)

// slack is how far two readings of one clock may seem apart, since a daemon may be adjusting it.
const slack = 20 * time.Millisecond

// Moments are when a call was made and when its answer was there, on the clock of the history. The
// database looked at its own clock, which is the same one, somewhere between.
type Moments struct{ Call, Return time.Duration }

// A Term is what is known of when a lease runs out: after Soonest, before Latest.
type Term struct{ Soonest, Latest time.Duration }

// lasting is the term of a lease that a call took.
func (m Moments) lasting(lease time.Duration) Term {
	return Term{Soonest: m.Call + lease, Latest: m.Return + lease}
}

// over and running are whether a call may have found the lease run out, and whether it may have not.
func (t Term) over(m Moments) bool    { return m.Return+slack >= t.Soonest }
func (t Term) running(m Moments) bool { return m.Call <= t.Latest+slack }

// A JobCall is one call of a job's verbs, of many by several clients at once.
type JobCall struct {
	// Job tells jobs apart: each has a history of its own.
	Job  int
	Verb JobVerb
	// Epoch under which an outcome is settled.
	Epoch int64
	Call  time.Duration
}

// A JobAnswer is what the caller was told: the words of [JobState], and the epoch of a claim or a reading.
type JobAnswer struct {
	Text   string
	Epoch  int64
	Return time.Duration
}

// Read is a call that reads the row.
const Read JobVerb = "read"

// A jobMoment is a job in the course of a history. Its Fresh is A where its present epoch is a claim's.
type jobMoment struct {
	JobState
	epoch int64
	term  Term
}

// JobHistory says which histories of calls on jobs there can be, where a lease lasts that long and all
// nodes are alive: those that some order of the calls explains, each between its beginning and its end.
func JobHistory(lease time.Duration) porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Partition: partition(func(input any) int { return input.(JobCall).Job }),
		Init: func() []any {
			return []any{jobMoment{JobState: Jobs().Start}}
		},
		Step: func(state, input, output any) []any {
			return state.(jobMoment).after(input.(JobCall), output.(JobAnswer), lease)
		},
	}).ToModel()
}

// after are the moments that can follow when the call gets this answer.
func (s jobMoment) after(call JobCall, answer JobAnswer, lease time.Duration) []any {
	if call.Verb == Read {
		if answer.Text != string(s.Status) || answer.Epoch != s.epoch {
			return nil
		}
		return []any{s}
	}
	when := Moments{call.Call, answer.Return}
	var next []any
	for _, from := range s.found(when) {
		out, _ := stepJob(from, JobAction{Verb: call.Verb, By: s.caller(call)}) // histories have no bounds
		to := jobMoment{JobState: out.To, epoch: s.epoch + int64(out.Effect.Epochs), term: s.term}
		to.Expired = false // the term says whether it may be
		if out.Answer != answer.Text || call.Verb == Claim && answer.Epoch != 0 && answer.Epoch != to.epoch {
			continue
		}
		if to.Status == outbox.Processing && s.Status != outbox.Processing {
			to.term = when.lasting(lease)
		}
		next = append(next, to)
	}
	return next
}

// found are the states that a call may have found the job in: its lease run out, or not.
func (s jobMoment) found(when Moments) []JobState {
	if s.Status != outbox.Processing {
		return []JobState{s.JobState}
	}
	var all []JobState
	if s.term.running(when) {
		all = append(all, s.JobState)
	}
	if s.term.over(when) {
		expired := s.JobState
		expired.Expired = true
		all = append(all, expired)
	}
	return all
}

// caller is A for whoever claims, and for whoever settles under the present epoch.
func (s jobMoment) caller(call JobCall) Party {
	if call.Verb == Claim || call.Epoch == s.epoch {
		return A
	}
	return B
}

// partition splits a history by what each of its calls is about.
func partition(of func(input any) int) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [][]porcupine.Operation
		for _, op := range history {
			n := of(op.Input)
			for len(parts) <= n {
				parts = append(parts, nil)
			}
			parts[n] = append(parts[n], op)
		}
		return parts
	}
}

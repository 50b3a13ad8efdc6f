package model

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// An InstanceCall is one call of an instance's verbs, of many by several runs at once.
type InstanceCall struct {
	// Instance tells instances apart: each has a history of its own.
	Instance int
	Verb     InstanceVerb
	// Fence of the run that writes, and the token of one that acquires.
	Fence int
	Token string
	Call  time.Duration
}

// An InstanceAnswer is what the caller was told: the words of [InstanceState], and the fence of a run
// that acquired the instance.
type InstanceAnswer struct {
	Text   string
	Fence  int
	Return time.Duration
}

// ReadIt is a call that reads the row.
const ReadIt InstanceVerb = "read"

// An instanceMoment is an instance in the course of a history. Its Holder is A where a run holds it, and
// its Lease never RunOut: the term says whether it may have.
type instanceMoment struct {
	InstanceState
	fence, steps int
	token        string
	term         Term
}

// Seen is what a reading of the row answers.
func Seen(status string, fence, steps int, pausing bool) string {
	return fmt.Sprintf("%s, fence %d, %d steps, pausing %t", status, fence, steps, pausing)
}

// InstanceHistory says which histories of calls on instances there can be, where a run's lease lasts
// that long.
func InstanceHistory(lease time.Duration) porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Partition: partition(func(input any) int { return input.(InstanceCall).Instance }),
		Init: func() []any {
			return []any{instanceMoment{InstanceState: Instances().Start}}
		},
		Step: func(state, input, output any) []any {
			return state.(instanceMoment).after(input.(InstanceCall), output.(InstanceAnswer), lease)
		},
	}).ToModel()
}

// after are the moments that can follow when the call gets this answer.
func (s instanceMoment) after(call InstanceCall, answer InstanceAnswer, lease time.Duration) []any {
	if call.Verb == ReadIt {
		if answer.Text != Seen(s.Status, s.fence, s.steps, s.Pausing) {
			return nil
		}
		return []any{s}
	}
	when := Moments{call.Call, answer.Return}
	var next []any
	for _, found := range s.leases(when) {
		from := s.InstanceState
		from.Lease = found
		out, _ := stepInstance(from, InstanceAction{Verb: call.Verb, By: s.caller(call)})
		if out.Answer != answer.Text {
			continue
		}
		to := instanceMoment{InstanceState: out.To, fence: s.fence + out.Effect.Fences, steps: s.steps + out.Effect.Steps, token: s.token, term: s.term}
		if out.Effect.Anew {
			to.steps = 0
		}
		if !to.settle(call, answer, when.lasting(lease)) {
			continue
		}
		next = append(next, to)
	}
	return next
}

// leases are what a call may have found the lease to be.
func (s instanceMoment) leases(when Moments) []Lease {
	if s.Lease == NoLease {
		return []Lease{NoLease}
	}
	var found []Lease
	if s.term.running(when) {
		found = append(found, Held)
	}
	if s.term.over(when) {
		found = append(found, RunOut)
	}
	return found
}

// caller is A for the run that holds the instance, B for any other.
func (s instanceMoment) caller(call InstanceCall) Party {
	switch call.Verb {
	case Acquire, AcquireAgain:
		if call.Token == s.token {
			return A
		}
	case Begin, Commit, CommitError, Renew, HandOver, Finish, FinishError:
		if call.Fence == s.fence {
			return A
		}
	default:
		return Nobody
	}
	return B
}

// settle brings a moment into its form; false where the answer names another fence.
func (s *instanceMoment) settle(call InstanceCall, answer InstanceAnswer, term Term) bool {
	switch call.Verb {
	case Acquire, AcquireAgain:
		if answer.Text != "acquired" {
			break
		}
		if answer.Fence != s.fence {
			return false
		}
		s.token, s.term, s.Holder = call.Token, term, A
	case Begin, Commit, CommitError, Renew:
		if answer.Text != lost {
			s.term = term
		}
	}
	if s.Lease == RunOut {
		s.Lease = Held
	}
	return true
}

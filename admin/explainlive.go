package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
)

// waiting explains an instance that waits by what it waits for; and, once that is over, by its job.
func (f instanceFacts) waiting() []Cause {
	var first Cause
	wait := f.row.WaitingFor
	switch {
	case wait == nil:
		return f.jobCauses()
	case wait.Kind == "sleep":
		first = f.sleeping(*wait)
	case wait.Kind == "event":
		first = f.waitingForEvent(*wait)
	case wait.Kind == "retry":
		first = f.retrying(*wait)
	default:
		first = Cause{Code: "waiting", Sentence: fmt.Sprintf("It waits for %s.", quote(wait.Kind))}
	}
	if first.Facts == nil {
		first.Facts = map[string]any{}
	}
	first.Facts["wake_at"] = f.row.WakeAt
	pending := f.job != nil && f.job.row.Status == string(outbox.Pending)
	if pending && f.job.row.RunAt != nil && f.job.row.RunAt.After(f.Now) && f.job.row.Last == nil {
		return append([]Cause{first}, f.job.service()...) // its job only says the same
	}
	return append([]Cause{first}, f.jobCauses()...)
}

// ends is when a wait ends, in words: ends, or should have ended, then.
func (f instanceFacts) ends(does, done string) string {
	switch {
	case f.row.WakeAt == nil:
		return does + " at a time that is not known"
	case f.row.WakeAt.After(f.Now):
		return does + " " + moment(*f.row.WakeAt, f.Now)
	}
	return "should have " + done + " " + moment(*f.row.WakeAt, f.Now)
}

func (f instanceFacts) sleeping(w Wait) Cause {
	return Cause{
		Code:     "sleeping",
		Sentence: fmt.Sprintf("It sleeps in step %s and %s.", quote(w.Name), f.ends("wakes", "woken")),
		Facts:    map[string]any{"step": w.Name},
	}
}

func (f instanceFacts) waitingForEvent(w Wait) Cause {
	facts := map[string]any{"step": w.Name, "types": w.Types, "other_events": f.others(w.Types)}
	since := ""
	for _, s := range f.steps {
		if s.Kind == "waitForEvent" && s.Name == w.Name && s.Status == "waiting" {
			facts["since"] = s.StartedAt
			since = " " + lasting(&s.StartedAt, f.Now)
		}
	}
	types := make([]string, len(w.Types))
	for i, typ := range w.Types {
		types[i] = quote(typ)
	}
	c := Cause{Code: "waiting_for_event", Facts: facts}
	c.Sentence = fmt.Sprintf("In step %s it has been waiting%s for an event of type %s; the wait %s.", quote(w.Name), since, strings.Join(types, " or "), f.ends("times out", "timed out"))
	if other := f.others(w.Types); len(other) > 0 {
		var words []string
		for _, e := range other {
			words = append(words, fmt.Sprintf("%s %s", counted(e.Events, "event"), quote(e.Type)))
		}
		c.Sentence += fmt.Sprintf(" Of other types there came and wait to be taken: %s.", strings.Join(words, ", "))
	}
	if len(w.Types) > 0 {
		c.Remedy = "send it: " + f.act("send-event", "--type", w.Types[0], "--payload", "{}")
	}
	return c
}

// others are the events that came and are not of these types.
func (f instanceFacts) others(types []string) []explainedEvents {
	other := []explainedEvents{}
	for _, e := range f.events {
		if !slices.Contains(types, e.Type) {
			other = append(other, e)
		}
	}
	return other
}

func (f instanceFacts) retrying(w Wait) Cause {
	c := Cause{Code: "retrying_step", Facts: map[string]any{"step": w.Name}}
	c.Sentence = fmt.Sprintf("Its step %s failed and is tried again %s.", quote(w.Name), optional(f.row.WakeAt, f.Now))
	for _, s := range f.steps {
		if s.Status != "retrying" || s.Name != w.Name || len(s.Attempts) == 0 {
			continue
		}
		n, of := s.Tried(), attemptsOf(s)
		c.Facts["attempt"], c.Facts["attempts"] = n, of
		failed := ""
		if last := s.Attempts[len(s.Attempts)-1]; last.Error != nil {
			failed = ": " + quote(last.Error.Message)
			c.Facts["last_error"] = cutTo(last.Error.Message)
		}
		c.Sentence = fmt.Sprintf("Attempt %d of %d of its step %s failed%s; the next begins %s.", n, of, quote(s.Label()), failed, optional(f.row.WakeAt, f.Now))
	}
	c.Remedy = "wait; or " + f.act("terminate") + " gives it up"
	return c
}

// attemptsOf is how many attempts a step has.
func attemptsOf(s Step) int {
	if s.Config == nil {
		return len(s.Attempts)
	}
	return s.Config.Retries.Limit + 1
}

// running explains an instance that a run holds, or held.
func (f instanceFacts) running() []Cause {
	var causes []Cause
	if f.row.PauseRequested != nil {
		causes = append(causes, Cause{
			Code:     "pause_requested",
			Sentence: fmt.Sprintf("A pause was asked for %s and comes about once the step under way is stored.", moment(*f.row.PauseRequested, f.Now)),
			Facts:    map[string]any{"requested_at": *f.row.PauseRequested, "step": f.row.CurrentStep},
			Remedy:   f.act("resume") + " takes it back; " + f.act("terminate") + " does not wait for the step",
		})
	}
	if f.row.LeaseToken == "" || f.row.LeaseUntil == nil || !f.row.LeaseUntil.After(f.Now) {
		return append(append(causes, f.runLost()), f.jobCauses()...)
	}
	heard := f.row.LeaseUntil.Add(-runLease)
	if f.Now.Sub(heard) > runSilent {
		return append(append(causes, f.silent(heard)), f.jobCauses()...)
	}
	return append(causes, f.leased(heard))
}

func (f instanceFacts) runLost() Cause {
	c := Cause{
		Code:     "run_lost",
		Sentence: fmt.Sprintf("Its last run was lost: the lease ended %s. The process died or was cut off from the database; another run takes over.", optional(f.row.LeaseUntil, f.Now)),
		Facts:    map[string]any{"lease_until": f.row.LeaseUntil, "runs": f.row.Runs},
		Remedy:   fmt.Sprintf("see that the backend %s runs", printable(f.row.Backend)),
	}
	if last, ok := f.toldOfLoss(); ok {
		c.Sentence = fmt.Sprintf("Its last run did not come to an end, and its lease ended %s: the request failed with %s. Another run takes over.", optional(f.row.LeaseUntil, f.Now), last.says())
		c.Facts["last_error"] = last.facts()
		c.Remedy = "mend what the answer says"
	}
	return c
}

// toldOfLoss is the failure of the job's attempt that the lost run belonged to, where its backend was there to tell of it:
// it is from after the run was last heard of.
func (f instanceFacts) toldOfLoss() (*lastFailure, bool) {
	if f.job == nil || f.job.row.Last == nil || f.row.LeaseUntil == nil {
		return nil, false
	}
	last := f.job.row.Last
	told := last.At != nil && !last.At.Before(f.row.LeaseUntil.Add(-runLease)) && last.Reason != ""
	return last, told && last.Code != "0" && last.Code != "" && last.Code != outbox.CodeLeaseExpired
}

func (f instanceFacts) silent(heard time.Time) Cause {
	return Cause{
		Code: "run_silent",
		Sentence: fmt.Sprintf("Run %d holds it and was last heard of %s, though a run speaks every 5 s. If it stays silent, its lease ends %s and another takes over.",
			f.row.Runs, moment(heard, f.Now), moment(*f.row.LeaseUntil, f.Now)),
		Facts:  map[string]any{"last_heard": heard, "lease_until": *f.row.LeaseUntil, "runs": f.row.Runs},
		Remedy: fmt.Sprintf("see whether the backend %s runs and reaches the database", printable(f.row.Backend)),
	}
}

func (f instanceFacts) leased(heard time.Time) Cause {
	c := Cause{Code: "running", Facts: map[string]any{"runs": f.row.Runs, "lease_until": *f.row.LeaseUntil, "last_heard": heard, "steps_done": f.row.StepsDone}}
	does := "between steps"
	if f.row.CurrentStep != "" {
		does = fmt.Sprintf("after step %s, the last one stored", quote(f.row.CurrentStep))
	}
	var under []string
	for _, s := range f.steps {
		if s.Status != "running" || len(s.Attempts) == 0 {
			continue
		}
		began := s.Attempts[len(s.Attempts)-1].StartedAt
		if len(under) == 0 {
			c.Facts["step"], c.Facts["step_since"], c.Facts["attempt"] = s.Label(), began, len(s.Attempts)
		}
		under = append(under, fmt.Sprintf("step %s, attempt %d of %d, %s", quote(s.Label()), len(s.Attempts), attemptsOf(s), lasting(&began, f.Now)))
	}
	if len(under) > 0 {
		does = "in " + strings.Join(under[:min(len(under), 5)], "; ")
	}
	c.Sentence = fmt.Sprintf("Run %d holds it and is %s. It was heard of %s.", f.row.Runs, does, moment(heard, f.Now))
	c.Remedy = f.act("watch") + " follows it"
	return c
}

// queued explains an instance whose next run is to come.
func (f instanceFacts) queued() []Cause {
	var causes []Cause
	if f.row.summary().Stalled() {
		if f.row.Warning != nil {
			causes = append(causes, f.changed("code_misfit"))
		}
		causes = append(causes, f.stalled())
	}
	return append(causes, f.jobCauses()...)
}

func (f instanceFacts) stalled() Cause {
	return Cause{
		Code:     "stalled",
		Sentence: fmt.Sprintf("It has been stalled %s: %s ended without progress. It is tried again by itself, each time after a longer pause.", lasting(f.row.StalledAt, f.Now), counted(f.row.Stalls, "job")),
		Facts:    map[string]any{"stalled_at": *f.row.StalledAt, "stalls": f.row.Stalls},
		Remedy:   "mend what its jobs say; then " + f.act("retry") + " runs it at once",
	}
}

package check

import (
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
)

// A line of a history.
type line struct {
	at   time.Time
	text string
}

// A chronicle gathers what there is to say of one thing.
type chronicle struct {
	entity string
	lines  []line
}

func (c *chronicle) add(at time.Time, format string, args ...any) {
	c.lines = append(c.lines, line{at, at.UTC().Format("15:04:05.000000") + " database " + fmt.Sprintf(format, args...)})
}

// tell adds the changes of a row.
func tell[S any](c *chronicle, log []change[S]) {
	for _, e := range log {
		if e.Key == c.entity {
			c.add(e.At, "%s %v -> %v", e.Event, e.Before, e.After)
		}
	}
}

// History is everything that the database and the journals say of a job, an instance, a run or a schedule, in order.
func (s *State) History(entity string) []string {
	c := &chronicle{entity: entity}
	tell(c, s.JobLog)
	tell(c, s.InstanceLog)
	tell(c, s.RunLog)
	tell(c, s.ScheduleLog)
	s.tellSteps(c)
	s.tellClockwork(c)
	for _, e := range s.Journal {
		if e.Job == entity || e.Instance == entity || e.Run == entity {
			c.lines = append(c.lines, line{time.Unix(0, e.At), e.String()})
		}
	}
	for _, f := range s.faultsNear(entity) {
		c.lines = append(c.lines, line{time.Unix(0, f.At), f.String()})
	}
	slices.SortStableFunc(c.lines, func(a, b line) int { return a.at.Compare(b.at) })
	texts := make([]string, len(c.lines))
	for i, l := range c.lines {
		texts[i] = l.text
	}
	return texts
}

// tellSteps adds the changes of steps, of workflows and of DAGs.
func (s *State) tellSteps(c *chronicle) {
	for _, e := range s.StepLog {
		if e.Key == c.entity {
			c.add(e.At, "%s step %v fence %d: %s -> %s", e.Event, e.Step, e.Fence, e.Before, e.After)
		}
	}
	for _, e := range s.DAGStepLog {
		if e.Key == c.entity || e.After != nil && e.After.Job == c.entity {
			c.add(e.At, "%s step %s of %s: %s -> %s", e.Event, e.Step, e.Key, e.Before, e.After)
		}
	}
}

// tellClockwork adds what ticks have started, and what operators did.
func (s *State) tellClockwork(c *chronicle) {
	for _, e := range s.TickLog {
		if e.Key == c.entity {
			c.add(e.At, "%s tick of %s: %s -> %s", e.Event, clock(&e.Tick), e.Before, e.After)
		}
	}
	for _, e := range s.Audit {
		if e.Key == c.entity {
			c.add(e.At, "audit %s by %s: %s; then it is %+v", e.Action, e.Actor, e.Outcome, e.Found)
		}
	}
}

// faultsNear are the faults that were injected while something happened to an entity.
func (s *State) faultsNear(entity string) []journal.Entry {
	var from, to int64
	for _, e := range s.Journal {
		if e.Job == entity || e.Instance == entity {
			if from == 0 {
				from = e.At
			}
			to = e.At
		}
	}
	var near []journal.Entry
	for _, e := range s.Journal {
		if e.What == journal.Fault && e.At >= from-int64(20*time.Second) && e.At <= to {
			near = append(near, e)
		}
	}
	return near
}

func orNone[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// brief is a value for people.
func brief(v any) string {
	text := fmt.Sprint(v)
	if len(text) > 120 {
		return text[:120] + "…"
	}
	return text
}

func clock(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("15:04:05.000")
}

func (s *jobState) String() string {
	if s == nil {
		return "nothing"
	}
	text := fmt.Sprintf("[%s epoch %d of %s until %s due %s retries %d", s.Status, s.Epoch, orNone(s.Assignee), clock(s.Until), clock(s.RunAt), s.Retries)
	if s.Result != nil {
		text += " result " + brief(s.Result)
	}
	if s.Error != nil {
		text += fmt.Sprintf(" %d errors, last %v %.120q of attempt %d", s.Errors, s.Error.Code, s.Error.Reason, s.Error.Attempt)
	}
	return text + "]"
}

func (s *instanceState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s fence %d token %s until %s incarnation %d steps %d step %s job %s waits %v wake %s events %d]",
		s.Status, s.Fence, orNone(s.Token), clock(s.Until), s.Incarnation, s.StepsDone, orNone(s.CurrentStep), s.Job, s.Waiting, clock(s.WakeAt), s.EventsSent)
}

func (s *stepState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s attempts %d output %s wake %s error %s]", s.Status, s.Attempts, brief(s.Output), clock(s.WakeAt), orNone(s.Error))
}

func (s *runState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s revision %d stopping %s steps %d retries %d error %s]", s.Status, s.Revision, orNone(s.Stopping), s.Done, s.Retries, orNone(s.Error))
}

func (s *dagStepState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s job %s retries %d error %s]", s.Status, s.Job, s.Retries, orNone(s.Error))
}

func (s *scheduleState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[next %s last %s ticks %d paused %s]", clock(s.Next), clock(s.Last), s.Fires, clock(s.Paused))
}

func (s *tickState) String() string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s %s target %s]", s.Status, orNone(s.Reason), s.Target)
}

package check

import (
	"time"

	"sp00ky.cloud/spky/integration/chaos/plan"
)

// schedules checks the clock of each, and what its ticks have started.
func (c *checker) schedules() {
	for _, s := range plan.Schedules() {
		c.clock(s)
		for _, key := range sorted(c.ticksOf[s.Name], map[string][]tickEntry{}) {
			c.tick(s, c.ticksOf[s.Name][key])
		}
	}
}

// A clockwork is what a schedule has been seen to do.
type clockwork struct {
	first           time.Time      // its first tick
	fired           map[int64]bool // ticks, in microseconds
	pauses, resumes int
}

// clock checks that a schedule went from each tick to the next: each happened once, not before its time by the database's clock and not
// while it was paused, and for all its keys; none was left out but those that passed before the one before them was made up for, or
// in a pause.
func (c *checker) clock(s plan.Schedule) {
	log := c.scheduleLog[s.Name]
	if len(log) == 0 || log[0].Before != nil || log[0].After.Next == nil {
		c.find("schedule", s.Name, "it begins with %+v", log)
		return
	}
	w := clockwork{first: *log[0].After.Next, fired: map[int64]bool{}}
	for _, e := range log[1:] {
		if e.Before == nil || e.Before.Next == nil || e.After.Next == nil {
			c.find("schedule", s.Name, "at %s: %s of %s", clock(&e.At), e.Event, e.After)
			continue
		}
		c.clockChange(s, &w, e)
	}
	// The driver pauses it too, at the end.
	if done := c.done(s.Name, plan.ActPauseClock); w.pauses != done && w.pauses != done+1 {
		c.find("schedule", s.Name, "it was paused %d times, and operators did so %d times", w.pauses, done)
	}
	if done := c.done(s.Name, plan.ActResumeClock); w.resumes != done {
		c.find("schedule", s.Name, "it was resumed %d times, and operators did so %d times", w.resumes, done)
	}
	c.fired(s, w.fired)
}

// clockChange checks a change of a schedule's row: a tick, a pause, or its end.
func (c *checker) clockChange(s plan.Schedule, w *clockwork, e scheduleEntry) {
	was, is := e.Before, e.After
	moved := !is.Next.Equal(*was.Next)
	switch {
	case is.Fires == was.Fires+1:
		w.fired[was.Next.UnixMicro()] = true
		c.fire(s, w.first, e)
		return
	case is.Fires != was.Fires:
		c.find("schedule", s.Name, "at %s it went from %d ticks to %d", clock(&e.At), was.Fires, is.Fires)
	case was.Paused != nil && is.Paused == nil:
		w.resumes++
		moved = moved && !follows(s, w.first, *is.Next, e.At)
	case was.Paused == nil && is.Paused != nil:
		w.pauses++
	}
	if moved {
		c.find("schedule", s.Name, "at %s its next tick went from %s to %s", clock(&e.At), clock(was.Next), clock(is.Next))
	}
}

// follows says whether a tick is the first after the moment of a change, or that shortly before it.
func follows(s plan.Schedule, first, next, at time.Time) bool {
	from, to := s.Tick(first, at.Add(-slack)), s.Tick(first, at)
	return !next.Before(from) && !next.After(to) && s.Tick(first, next.Add(-time.Millisecond)).Equal(next)
}

func (c *checker) fire(s plan.Schedule, first time.Time, e scheduleEntry) {
	was, is := e.Before, e.After
	switch {
	case was.Paused != nil, e.At.Before(*was.Next):
		c.find("schedule", s.Name, "at %s the tick of %s happened; paused since %s", clock(&e.At), clock(was.Next), clock(was.Paused))
	case is.Last == nil || !is.Last.Equal(*was.Next):
		c.find("schedule", s.Name, "at %s the tick of %s was due, and that of %s happened", clock(&e.At), clock(was.Next), clock(is.Last))
	case !follows(s, first, *is.Next, e.At):
		c.find("schedule", s.Name, "the tick of %s happened at %s, and the next was not that of %s but of %s", clock(was.Next), clock(&e.At), orTick(s, first, e.At), clock(is.Next))
	}
}

func orTick(s plan.Schedule, first, at time.Time) string {
	next := s.Tick(first, at)
	return clock(&next)
}

// fired checks that each tick has started something for each key, and that nothing else was started.
func (c *checker) fired(s plan.Schedule, fired map[int64]bool) {
	keys := map[int64]map[string]bool{}
	for _, log := range c.ticksOf[s.Name] {
		t := log[0]
		if t.Manual {
			continue
		}
		at := t.Tick.UnixMicro()
		if !fired[at] {
			c.find("schedule", t.Key, "it is of the tick of %s, which did not happen", clock(&t.Tick))
		}
		if keys[at] == nil {
			keys[at] = map[string]bool{}
		}
		keys[at][t.Item] = true
	}
	for at := range fired {
		if len(keys[at]) != len(s.Keys) {
			c.find("schedule", s.Name, "the tick of %s started something for the keys %v, want %v", time.UnixMicro(at).UTC(), keys[at], s.Keys)
		}
	}
}

// tick checks the history of what a tick has started for one key.
func (c *checker) tick(s plan.Schedule, log []tickEntry) {
	for n, e := range log {
		switch {
		case (n == 0) != (e.Before == nil):
			c.find("schedule", e.Key, "the tick of %s: entry %d is a %s", clock(&e.Tick), n, e.Event)
		case e.After == nil:
			c.pruned(e.Key, e.Before.Status, e.Before.Finished, e.At, c.keptRun(e.Before.Status))
		case n == 0 && e.After.Status == "skipped":
			c.skipped(s, e)
		case n == 0:
			c.began(s, e)
		case e.After.Status != e.Before.Status:
			c.came(e, log[0].After.Target)
		}
	}
	if end := log[len(log)-1]; end.After != nil && end.After.Status == "running" {
		c.find("stuck", end.Key, "the tick of %s is still running", clock(&end.Tick))
	}
}

// live says whether the status is that of something that is not over.
func live(status string) bool { return endOf(status) == "" }

// skipped checks that there was a reason for starting nothing.
func (c *checker) skipped(s plan.Schedule, e tickEntry) {
	before := func(t tickEntry) bool {
		return t.At.Before(e.At) && t.Item == e.Item && c.statusDuring(t.After.Target, e.At.Add(-slack), e.At, live)
	}
	if s.Concurrency != "skip" || !c.anyTick(s.Name, before) {
		c.find("schedule", e.Key, "the tick of %s was skipped: %s", clock(&e.Tick), orNone(e.After.Reason))
	}
}

// began checks that a tick has started something, and nothing beside what ran before, unless it may.
func (c *checker) began(s plan.Schedule, e tickEntry) {
	if !c.statusDuring(e.After.Target, e.At, e.At.Add(slack), func(string) bool { return true }) {
		c.find("schedule", e.Key, "the tick of %s has started %q, which there never was", clock(&e.Tick), e.After.Target)
	}
	beside := func(t tickEntry) bool {
		target := t.After.Target
		return t.At.Before(e.At.Add(-slack)) && t.Item == e.Item && target != "" && !c.goneBy(target, e.At) &&
			!c.statusDuring(target, e.At.Add(-slack), e.At, func(status string) bool { return !live(status) })
	}
	if s.Concurrency == "skip" && c.anyTick(s.Name, beside) {
		c.find("schedule", e.Key, "the tick of %s has started %s beside another", clock(&e.Tick), e.After.Target)
	}
}

func (c *checker) anyTick(schedule string, is func(tickEntry) bool) bool {
	for _, log := range c.ticksOf[schedule] {
		if is(log[0]) {
			return true
		}
	}
	return false
}

// came checks that what a tick came to is what its job, its instance or its run did. A retry of a run makes both run again.
func (c *checker) came(e tickEntry, target string) {
	was, is := e.Before.Status, e.After.Status
	window := func(match func(string) bool) bool { return c.statusDuring(target, e.At.Add(-slack), e.At, match) }
	var sound bool
	switch is {
	case "running":
		sound = was != success && window(func(s string) bool { return s == "running" })
	case "replaced":
		sound = was == "running"
	default:
		sound = was == "running" && (window(func(s string) bool { return endOf(s) == is }) || is == "killed" && c.goneBy(target, e.At))
	}
	if !sound {
		c.find("schedule", e.Key, "at %s the tick of %s went from %s to %s, and %s had not", clock(&e.At), clock(&e.Tick), was, is, target)
	}
}

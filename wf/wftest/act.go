package wftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A When says when something is done to the instance.
type When struct {
	waiting bool          // once it waits
	during  string        // while a step of this name executes
	after   time.Duration // after its creation, or after it began to wait
}

// At is a time after the instance's creation. What is due with a wake-up comes first.
func At(d time.Duration) When { return When{after: d} }

// OnWait is a time after the instance has begun to wait: an event once a wait of its type is reached,
// one event for each wait; anything else once it waits for whatever.
func OnWait(d time.Duration) When { return When{waiting: true, after: d} }

// During is while the first attempt of a step of that name is made: before its function is called.
func During(step string) When { return When{during: step} }

func (w When) String() string {
	switch {
	case w.during != "":
		return fmt.Sprintf("During(%q)", w.during)
	case w.waiting:
		return fmt.Sprintf("OnWait(%s)", w.after)
	}
	return fmt.Sprintf("At(%s)", w.after)
}

// An act is something that is done to the instance from outside.
type act struct {
	what  string // as options are written
	when  When
	event string // the type, for an event
	do    func(d *driver)
	due   *time.Time // once it is known
	done  bool
}

// Event sends an event of a type with a payload: by default as soon as the workflow waits for one of
// that type, else when the last argument says.
func Event(typ string, payload any, when ...When) Option {
	return func(p *plan) {
		data, err := json.Marshal(payload)
		if err != nil {
			p.fault("Event(%q): %w", typ, err)
			return
		}
		if surreal.JSONSize(data) > protocol.MaxValue {
			p.fault("Event(%q): the payload is larger than 1 MiB", typ)
			return
		}
		w := OnWait(0)
		for _, given := range when {
			w = given
		}
		p.acts = append(p.acts, &act{what: fmt.Sprintf("Event(%q, …, %s)", typ, w), when: w, event: typ, do: func(d *driver) {
			d.verdict(fmt.Sprintf("event %q is sent", typ), d.store.SendEvent(p.id, typ, data))
		}})
	}
}

// Terminate ends the instance: the contexts of steps that execute end, and nothing is stored any more.
func Terminate(when When) Option {
	return func(p *plan) {
		p.acts = append(p.acts, &act{what: fmt.Sprintf("Terminate(%s)", when), when: when, do: func(d *driver) {
			d.verdict("the instance is terminated", d.store.Terminate(p.id))
			d.abort()
		}})
	}
}

// Pause pauses the instance, and resumes it after some time; 0 leaves it paused, and ends the test.
func Pause(when When, lasts time.Duration) Option {
	return func(p *plan) {
		p.acts = append(p.acts, &act{what: fmt.Sprintf("Pause(%s)", when), when: when, do: func(d *driver) {
			d.verdict("a pause is asked for", d.store.Pause(p.id))
			if lasts > 0 {
				at := d.store.Now().Add(lasts)
				d.add(&act{due: &at, do: func(d *driver) { d.verdict("the instance is resumed", d.store.Resume(p.id)) }})
			}
		}})
	}
}

// Restart begins the instance again: from its beginning, or from a step, the last given, as [wf.From] does. The contexts of steps that
// execute end, and nothing of them is stored any more. A step that the instance does not have fails the test.
func Restart(when When, from ...wf.StepRef) Option {
	return func(p *plan) {
		what := fmt.Sprintf("Restart(%s)", when)
		var step *protocol.From
		for _, f := range from {
			what = fmt.Sprintf("Restart(%s, %s)", when, f)
			if err := f.Validate(); err != nil {
				p.fault("%s: %w", what, err)
				return
			}
			step = new(protocol.From(f))
		}
		p.acts = append(p.acts, &act{what: what, when: when, do: func(d *driver) {
			v := d.store.Restart(p.id, step)
			if v.Reason != "" {
				d.t.Errorf("wftest: %s: no such step; the steps were %s", what, d.result().names())
				return
			}
			d.verdict("the instance is restarted", v)
			d.abort()
		}})
	}
}

// verdict notes what an act came to.
func (d *driver) verdict(what string, v memory.Verdict) {
	if !v.OK {
		what += fmt.Sprintf(", and refused: it is %s", v.Status)
	}
	d.note("%s", what)
}

func (d *driver) add(a *act) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acts = append(d.acts, a)
}

// schedule sets when acts are due that depend on what the instance has come to.
func (d *driver) schedule(i memory.Instance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.store.Now()
	for _, a := range d.acts {
		switch {
		case a.due != nil || a.when.during != "":
		case !a.when.waiting:
			at := i.CreatedAt.Add(a.when.after)
			a.due = &at
		case d.waitsForLocked(i, a):
			at := now.Add(a.when.after)
			a.due = &at
		}
	}
}

// waitsForLocked says whether the instance waits for an act that is due once it waits: an event is, while there
// are fewer on their way than waits of the type.
func (d *driver) waitsForLocked(i memory.Instance, a *act) bool {
	if i.Status != "waiting" || i.WaitingFor == nil {
		return false
	}
	if a.event == "" {
		return true
	}
	open := 0
	for _, typ := range i.WaitingFor.Types {
		if typ == a.event {
			open++
		}
	}
	for _, other := range d.acts {
		if other.event == a.event && other.due != nil && !other.done {
			open--
		}
	}
	for _, e := range d.store.Events(i.ID) {
		if e.Type == a.event && !e.Consumed {
			open--
		}
	}
	return open > 0
}

// due are the acts that come next, in their order, and when.
func (d *driver) due() ([]*act, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next []*act
	for _, a := range d.acts {
		if a.done || a.due == nil {
			continue
		}
		if len(next) > 0 {
			switch order := a.due.Compare(*next[0].due); {
			case order < 0:
				next = nil
			case order > 0:
				continue
			}
		}
		next = append(next, a)
	}
	if len(next) == 0 {
		return nil, time.Time{}
	}
	return next, *next[0].due
}

// perform does acts that are not done.
func (d *driver) perform(acts []*act) {
	for _, a := range acts {
		d.mu.Lock()
		first := !a.done
		a.done = true
		d.mu.Unlock()
		if first {
			a.do(d)
		}
	}
}

// during does what is to be done while a step executes.
func (d *driver) during(c protocol.Call) {
	if c.Attempt != 1 || c.Occurrence != 1 {
		return
	}
	d.mu.Lock()
	acts := slices.Clone(d.acts)
	d.mu.Unlock()
	d.perform(slices.DeleteFunc(acts, func(a *act) bool { return a.when.during != c.Name }))
}

// A note is something that happened, for the log.
type note struct {
	at   time.Time
	run  int
	text string
}

func (d *driver) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, note{at: d.store.Now(), run: d.runs, text: fmt.Sprintf(format, args...)})
}

func byTime(a, b note) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.run, b.run)) }

package dashboard

import (
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

// A waterfall is the steps of an instance on a line of time.
type waterfall struct {
	Rows []row
	// Span is how long all of it lasted, Replays where the code ran again from its beginning. Axes say that, and where
	// long waits are drawn shortened, as far as there is room.
	Span    string
	Replays []tick
	Axes    []axis
}

// A row is one step.
type row struct {
	admin.Step

	// Now is the step's state. Key names the row's element, Rev what it is like: a detail that has been opened counts as long as
	// it is the same.
	Now, Key, Rev string

	Bars []bar
	Took string
	// Says is the bars in words, Note what the step waits for.
	Says string
	Note string
	Due  *time.Time
}

// A bar is a stretch of a row.
type bar struct {
	X, W  float64
	Class string // done, failed, busy, cut, wait, gap
	Title string
}

// thinnest is how wide a bar is at least, so that it can be seen and hovered over.
const thinnest = 0.4

// inline is the longest pause before an attempt that a run sits out: after a longer one the code runs again.
const inline = 5 * time.Second

// newWaterfall draws steps as they are at a moment. of is the instance that they are of.
func newWaterfall(of admin.Summary, steps []admin.Step, now time.Time) waterfall {
	var w waterfall
	if len(steps) == 0 {
		return w
	}
	ended := now
	if of.FinishedAt != nil {
		ended = *of.FinishedAt
	}
	from, to := steps[0].StartedAt, steps[0].StartedAt
	var busy []stretch
	var cuts []time.Time
	for _, s := range steps {
		if s.StartedAt.Before(from) {
			from = s.StartedAt
		}
		for _, worked := range attemptsOf(of, s, ended) {
			busy = append(busy, worked.stretch)
			to = later(to, worked.to)
		}
		to = later(to, endOf(s, ended))
		if s.Kind != "do" {
			cuts = append(cuts, s.StartedAt, endOf(s, ended))
		}
	}
	line := newScale(from, to, busy, cuts...)
	w.Span = span(to.Sub(from))
	var breaks []tick
	for _, p := range line.parts {
		if p.shortened {
			lasts := p.to.Sub(p.from)
			breaks = append(breaks, tick{At: 100 * (p.at + p.width/2) / line.total, Text: span(lasts), lasts: lasts})
		}
	}
	for _, s := range steps {
		w.Rows = append(w.Rows, newRow(of, s, line, ended))
		if at, ok := resumed(s, busy); ok {
			w.Replays = append(w.Replays, tick{At: line.at(at), Text: at.UTC().Format(exact)})
		}
	}
	w.Axes = newAxes(breaks, w.Replays)
	return w
}

// endOf is when a step ended, or the end of what can be shown of it.
func endOf(s admin.Step, ended time.Time) time.Time {
	if s.FinishedAt != nil {
		return *s.FinishedAt
	}
	return later(s.StartedAt, ended)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A worked is an attempt that took a while.
type worked struct {
	stretch

	class, title string
}

// attemptsOf are the attempts of a step that does something.
func attemptsOf(of admin.Summary, s admin.Step, ended time.Time) []worked {
	if s.Kind != "do" {
		return nil
	}
	var all []worked
	for i, a := range s.Attempts {
		w := worked{stretch: stretch{a.StartedAt, later(a.StartedAt, ended)}}
		if a.EndedAt != nil {
			w.to = *a.EndedAt
		}
		switch state := a.State(of.Status); state {
		case "failed":
			w.class, w.title = "failed", "failed: "+cut(200, a.Error.Name+": "+a.Error.Message)
		case "running":
			w.class, w.title = "busy", "runs"
		case admin.CutOff:
			w.class, w.title = "cut", cutOff(of)
		default:
			w.class, w.title = "done", state
		}
		w.title = fmt.Sprintf("attempt %d, %s, %s", s.AttemptsBefore+i+1, span(w.to.Sub(w.from)), w.title)
		all = append(all, w)
	}
	if len(all) == 0 {
		w := worked{stretch{s.StartedAt, endOf(s, ended)}, "done", s.State(of.Status)}
		switch {
		case w.title == admin.CutOff:
			w.class, w.title = "cut", cutOff(of)
		case !s.Done():
			w.class = "busy"
		}
		all = append(all, w)
	}
	return all
}

// cutOff says what became of what was under way when its instance ended.
func cutOff(of admin.Summary) string {
	return admin.CutOff + " when the instance " + admin.Ending(of.Status)
}

// resumed is when the code ran again because a wait was over, where nothing else of the instance ran
// meanwhile: a run that has something to do is not ended by a wait beside it.
func resumed(s admin.Step, busy []stretch) (time.Time, bool) {
	from, to := s.StartedAt, s.FinishedAt
	if n := len(s.Attempts); s.Kind == "do" && n > 1 && s.Attempts[n-2].EndedAt != nil {
		from, to = *s.Attempts[n-2].EndedAt, &s.Attempts[n-1].StartedAt
		if to.Sub(from) <= inline {
			return time.Time{}, false
		}
	} else if s.Kind == "do" {
		return time.Time{}, false
	}
	if to == nil || !to.After(from) {
		return time.Time{}, false
	}
	for _, b := range busy {
		if b.from.Before(*to) && b.to.After(*to) && b.from.Before(to.Add(-inline)) {
			return time.Time{}, false
		}
	}
	return *to, true
}

func newRow(of admin.Summary, s admin.Step, line scale, ended time.Time) row {
	now := s.State(of.Status)
	r := row{
		Step: s, Now: now, Key: mark(s.Kind, s.Name, s.Occurrence), Rev: fmt.Sprintf("%d-%d-%s", of.Incarnation, len(s.Attempts), now),
		Took: span(endOf(s, ended).Sub(s.StartedAt)),
	}
	add := func(from, to time.Time, class, title string) {
		x := line.at(from)
		r.Bars = append(r.Bars, bar{X: min(x, 100-thinnest), W: max(line.at(to)-x, thinnest), Class: class, Title: title})
	}
	if s.Kind == "do" {
		r.attempts(of, ended, add)
	} else {
		title := fmt.Sprintf("%s, %s", waiting(s), r.Took)
		if now == admin.CutOff {
			title += ", " + cutOff(of)
		}
		add(s.StartedAt, endOf(s, ended), "wait", title)
	}
	r.note(of)
	var said []string
	for _, b := range r.Bars {
		said = append(said, b.Title)
	}
	r.Says = cut(500, strings.Join(said, "; "))
	return r
}

// attempts draws the attempts of a step, and the pauses between them.
func (r *row) attempts(of admin.Summary, ended time.Time, add func(from, to time.Time, class, title string)) {
	all := attemptsOf(of, r.Step, ended)
	for i, w := range all {
		if i > 0 && w.from.After(all[i-1].to) {
			add(all[i-1].to, w.from, "gap", "paused for "+span(w.from.Sub(all[i-1].to)))
		}
		add(w.from, w.to, w.class, w.title)
	}
	if last := all[len(all)-1]; r.Status == "retrying" && ended.After(last.to) {
		title := "pauses before the next attempt"
		if r.Now == admin.CutOff {
			title = "paused for " + span(ended.Sub(last.to)) + ", " + cutOff(of)
		}
		add(last.to, ended, "gap", title)
	}
}

// note says what the step waits for.
func (r *row) note(of admin.Summary) {
	switch {
	case r.Done(), r.Now == admin.CutOff: // nothing goes on with it
	case r.Kind == "waitForEvent":
		r.Note, r.Due = "waits for an event", r.WakeAt
		if w := of.WaitingFor; w != nil && w.Name == r.Name && len(w.Types) > 0 {
			r.Note = "waits for event " + strings.Join(w.Types, ", ")
		}
	case r.Kind == "sleep":
		r.Note, r.Due = "sleeps", r.WakeAt
	case r.Status == "retrying":
		r.Note, r.Due = "tries again", r.RetryAt
	}
	if of.Status == "paused" {
		r.Due = nil // the clock stands still
	}
}

func waiting(s admin.Step) string {
	if s.Kind == "sleep" {
		return "sleep"
	}
	return "wait for an event"
}

package dashboard

import (
	"cmp"
	"slices"
	"time"
)

// A stretch is a time in which something happened.
type stretch struct{ from, to time.Time }

// A scale puts moments on a line from 0 to 100. Times in which nothing worked but long waits passed are drawn
// shortened, so that a day of sleep does not hide the milliseconds around it.
type scale struct {
	parts []part
	total float64
}

// A part is a stretch of the line with one scale of its own.
type part struct {
	stretch

	at, width float64
	shortened bool
}

// longestWait is how long a wait is drawn at most, as a share of all that worked.
const longestWait = 0.25

// newScale makes a scale of what worked between two moments. Waits that follow one another are told apart at the
// cuts.
func newScale(from, to time.Time, busy []stretch, cuts ...time.Time) scale {
	if !to.After(from) {
		to = from.Add(time.Millisecond)
	}
	s := scale{parts: cutUp(from, to, merged(from, to, busy), cuts)}
	var worked time.Duration
	for _, p := range s.parts {
		if !p.shortened {
			worked += p.to.Sub(p.from)
		}
	}
	most := time.Duration(float64(worked) * longestWait)
	for i := range s.parts {
		p := &s.parts[i]
		lasted := p.to.Sub(p.from)
		if p.shortened && (most == 0 || lasted <= most) {
			p.shortened = false
		}
		if p.shortened {
			lasted = most
		}
		p.at, p.width = s.total, float64(lasted)
		s.total += p.width
	}
	return s
}

// merged are stretches in order, none of which touches another, within two moments.
func merged(from, to time.Time, all []stretch) []stretch {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	var out []stretch
	for _, s := range all {
		if s.from.Before(from) {
			s.from = from
		}
		if s.to.After(to) {
			s.to = to
		}
		if !s.to.After(s.from) {
			continue
		}
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// cutUp is the time between two moments as busy parts and others, which are marked as shortened, and cut.
func cutUp(from, to time.Time, busy []stretch, cuts []time.Time) []part {
	slices.SortFunc(cuts, time.Time.Compare)
	var parts []part
	at := from
	wait := func(until time.Time) {
		for _, cut := range cuts {
			if cut.After(at) && cut.Before(until) {
				parts = append(parts, part{stretch: stretch{at, cut}, shortened: true})
				at = cut
			}
		}
		if until.After(at) {
			parts = append(parts, part{stretch: stretch{at, until}, shortened: true})
		}
	}
	for _, b := range busy {
		wait(b.from)
		parts = append(parts, part{stretch: b})
		at = b.to
	}
	wait(to)
	return parts
}

// at is where a moment is, from 0 to 100.
func (s scale) at(t time.Time) float64 {
	if s.total <= 0 || len(s.parts) == 0 || t.Before(s.parts[0].from) {
		return 0
	}
	for _, p := range s.parts {
		if t.After(p.to) {
			continue
		}
		share := float64(t.Sub(p.from)) / float64(max(p.to.Sub(p.from), 1))
		return 100 * (p.at + share*p.width) / s.total
	}
	return 100
}

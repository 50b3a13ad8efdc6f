package dashboard

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A tick is a place on the line of time, from 0 to 100, and what is said of it.
type tick struct {
	At   float64
	Text string
	// X and W are the room that its text has, Side is where in it the text stands: start, middle or end. What has no
	// room there is not shown, which the stylesheet sees to: how wide a line is, only a browser knows.
	X, W float64
	Side string

	lasts time.Duration
}

// An axis is what is said of a line of time on screens of a kind: wide or narrow.
type axis struct {
	Class           string
	Breaks, Replays []tick
}

// How far from one another, in hundredths of the line, what is said of a break has to be: on a wide screen and on a narrow
// one. Replays have a sign alone.
const (
	wideGap, narrowGap = 9, 20
	replayGap          = 5
	// atEnds is how much more room the first and the last have.
	atEnds = 1.5
)

// newAxes chooses what is said of a line. Of what is too close to one another the longest comes first.
func newAxes(breaks, replays []tick) []axis {
	replays = spaced(replays, replayGap)
	return []axis{{"roomy", spaced(breaks, wideGap), replays}, {"tight", spaced(breaks, narrowGap), replays}}
}

// spaced are those of some ticks that are not too close to one another, with the line divided among them: each has what
// lies nearer to it than to others.
func spaced(ticks []tick, gap float64) []tick {
	longest := slices.Clone(ticks)
	slices.SortStableFunc(longest, func(a, b tick) int { return cmp.Compare(b.lasts, a.lasts) })
	var chosen []tick
	for _, t := range longest {
		if !slices.ContainsFunc(chosen, func(c tick) bool { return math.Abs(c.At-t.At) < gap }) {
			chosen = append(chosen, t)
		}
	}
	slices.SortFunc(chosen, func(a, b tick) int { return cmp.Compare(a.At, b.At) })
	for i := range chosen {
		from, to := 0.0, 100.0
		if i > 0 {
			from = (chosen[i-1].At + chosen[i].At) / 2
		}
		if i+1 < len(chosen) {
			to = (chosen[i].At + chosen[i+1].At) / 2
		}
		needs := gap
		if i == 0 || i+1 == len(chosen) { // at the ends of the line there is room at the other side
			needs = atEnds * gap
		}
		chosen[i].place(from, to, needs)
	}
	return chosen
}

// place gives a tick the room between two places: as much as lies alike on both sides, or where that is too little, what it
// needs towards the side that has more.
func (t *tick) place(from, to, needs float64) {
	half := min(t.At-from, to-t.At)
	needs = min(needs, to-from)
	switch {
	case 2*half >= needs:
		t.X, t.W, t.Side = t.At-half, 2*half, "middle"
	case t.At-from < to-t.At:
		t.X, t.W, t.Side = from, needs, "start"
	default:
		t.X, t.W, t.Side = to-needs, needs, "end"
	}
}

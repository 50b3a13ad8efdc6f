package dashboard

import (
	"fmt"
	"testing"
	"time"
)

// TestTicks gives room to what is said of a line: the longest of what is too close to one another, in the middle above its
// place unless that is at an end of the line, and no two upon one another.
func TestTicks(t *testing.T) {
	t.Parallel()
	var all []tick
	for n := range 200 {
		all = append(all, tick{At: float64(n*n%211) * 100 / 211, Text: fmt.Sprint(n), lasts: time.Duration(n * 7919 % 200)})
	}
	for _, gap := range []float64{replayGap, wideGap, narrowGap} {
		chosen, end := spaced(all, gap), 0.0
		for i, c := range chosen {
			if c.X < end-0.001 || c.W < gap/2-0.001 || c.X+c.W > 100.001 || c.At < c.X || c.At > c.X+c.W {
				t.Errorf("%d of %d at %f has %f from %f on, where the one before ends at %f", i, len(chosen), c.At, c.W, c.X, end)
			}
			if middle := c.X + c.W/2; c.Side == "middle" && (middle < c.At-0.001 || middle > c.At+0.001) {
				t.Errorf("the middle of %f is %f", c.At, middle)
			}
			end = c.X + c.W
		}
		if chosen[len(chosen)/2].Side != "middle" || len(chosen) < int(50/gap) {
			t.Errorf("gap %f: %+v", gap, chosen)
		}
	}
	short, long := tick{At: 50, lasts: time.Second}, tick{At: 51, lasts: time.Minute}
	if got := spaced([]tick{short, long}, wideGap); len(got) != 1 || got[0].At != 51 {
		t.Errorf("of two the longer is %+v", got)
	}
	for at, side := range map[float64]string{0: "start", 1: "start", 50: "middle", 93: "middle", 96: "end", 100: "end"} {
		if got := spaced([]tick{{At: at}}, wideGap)[0]; got.Side != side || got.W < wideGap {
			t.Errorf("alone at %f it is %+v", at, got)
		}
	}
	if got := spaced(nil, wideGap); len(got) != 0 {
		t.Errorf("of none there are %+v", got)
	}
}

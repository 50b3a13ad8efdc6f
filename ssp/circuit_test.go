package ssp

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errDown = errors.New("refused")

func TestACircuitOpensAfterFiveFailuresInARow(t *testing.T) {
	t.Parallel()
	c := newCircuit()
	for round := range 3 {
		for range circuitLimit - 1 {
			if c.report(errDown) || c.open() || c.admits(7, true) != 7 {
				t.Fatalf("round %d: the circuit opened too early", round)
			}
		}
		if c.report(nil) {
			t.Fatal("a closed circuit closed")
		}
	}
	for i := range circuitLimit {
		if changed := c.report(errDown); changed != (i == circuitLimit-1) {
			t.Fatalf("failure %d: changed %t", i+1, changed)
		}
	}
	if state, _, reason := c.snapshot(); state != CircuitOpen || reason != errDown.Error() || c.retryAt().IsZero() {
		t.Errorf("the circuit is %s for %q", state, reason)
	}
	if !c.report(nil) || c.open() || !c.retryAt().IsZero() {
		t.Error("one answer does not close the circuit")
	}
}

func TestAnOpenCircuitLetsOneProbeThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCircuit()
		for range circuitLimit {
			c.report(errDown)
		}
		admits := func(n int, byJob bool, want int, when string) {
			t.Helper()
			if got := c.admits(n, byJob); got != want {
				t.Errorf("%s: admits %d, want %d", when, got, want)
			}
		}
		admits(9, true, 0, "at once")
		time.Sleep(probeEvery)
		admits(9, false, 0, "with a health check")
		admits(0, true, 0, "without jobs")
		admits(9, true, 1, "after a while")
		admits(9, true, 0, "while the probe is on its way")
		c.abandon()
		admits(9, true, 1, "after the probe told nothing")
		c.report(errDown)
		admits(9, true, 0, "after the probe failed")
		time.Sleep(probeEvery)
		admits(9, true, 1, "after another while")
		c.report(nil)
		admits(9, true, 9, "after the probe succeeded")
		c.trip(errDown)
		admits(9, true, 0, "after its health check failed")
	})
}

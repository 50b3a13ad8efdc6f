package ssp

import (
	"testing"
	"testing/synctest"
	"time"
)

// reading observes a database whose clock is ahead of ours by offset, over a round trip of rtt.
func reading(c *dbClock, offset, rtt time.Duration) {
	sent := time.Now()
	c.observe(sent.Add(offset+rtt/2), sent, sent.Add(rtt))
}

func TestTheClockFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c dbClock
		if off := c.offset(); off != 0 {
			t.Errorf("without a reading the clock is %v off", off)
		}
		reading(&c, 90*time.Second, 2*time.Millisecond)
		time.Sleep(time.Minute) // the bubble's time
		if off := c.offset(); off != 90*time.Second {
			t.Errorf("the clock is %v ahead, want 90 s", off)
		}
		reading(&c, -5*time.Second, 3*time.Millisecond)
		if off := c.offset(); off != -5*time.Second {
			t.Errorf("after the database's clock was set back, the clock is %v ahead, want -5 s", off)
		}
	})
}

// TestASlowReadingSaysLess has answers that took long on their way, as from a database under load.
func TestASlowReadingSaysLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c dbClock
		reading(&c, time.Second, 2*time.Millisecond)
		reading(&c, 9*time.Second, 500*time.Millisecond)
		if off := c.offset(); off != time.Second {
			t.Errorf("a reading of half a second moved the clock by %v", off-time.Second)
		}
		for range 100 { // every reading is slow from now on: one has to be believed in the end
			reading(&c, 9*time.Second, 500*time.Millisecond)
		}
		if off := c.offset(); off != 9*time.Second {
			t.Errorf("after a hundred slow readings the clock is %v ahead, want 9 s", off)
		}
	})
}

func TestErrorsAreLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n noise
		let := func(key string) int {
			through := 0
			for range 50 {
				if n.once(key) {
					through++
				}
			}
			return through
		}
		if a, b := let("a"), let("b"); a != 1 || b != 1 {
			t.Errorf("%d and %d of 50 were let through, want one each", a, b)
		}
		time.Sleep(quietFor)
		if a := let("a"); a != 1 {
			t.Errorf("%d of 50 were let through after a while, want 1", a)
		}
	})
}

package ssp

import (
	"sync"
	"time"
)

// A dbClock tells the database's time between two looks at it. In between it runs on this process's
// monotonic clock, so that a step of the wall clock moves nothing.
type dbClock struct {
	mu       sync.Mutex
	at       time.Time // the database's time …
	local    time.Time // … at this local moment
	rtt      time.Duration
	measured bool
}

// rttDecay lets the accepted round trip grow again, so that one lucky measurement does not bar
// every later one.
const rttDecay = 1.25

// observe takes a reading of the database's clock that was asked for at sent and arrived at
// received. A reading that travelled much longer than the best one says less and is passed over.
func (c *dbClock) observe(reading, sent, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rtt := received.Sub(sent)
	limit := time.Duration(float64(c.rtt)*rttDecay) + 2*time.Millisecond
	if c.measured && rtt > limit {
		c.rtt = limit
		return
	}
	c.at, c.local, c.rtt, c.measured = reading, sent.Add(rtt/2), rtt, true
}

// now is the database's time, or this process's until the first reading.
func (c *dbClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.measured {
		return time.Now()
	}
	return c.at.Add(time.Since(c.local))
}

// offset is how far the database's clock is ahead of this process's.
func (c *dbClock) offset() time.Duration { return time.Until(c.now()) }

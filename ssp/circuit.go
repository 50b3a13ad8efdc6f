package ssp

import (
	"sync"
	"time"
)

// A backend's circuit opens after this many transport failures in a row, and is tried again this often.
const (
	circuitLimit = 5
	probeEvery   = 500 * time.Millisecond
)

// CircuitState is what a backend's circuit is in.
type CircuitState string

// The states of a circuit.
const (
	// CircuitClosed lets jobs through.
	CircuitClosed CircuitState = "closed"
	// CircuitOpen lets none through: its jobs stay pending and burn no attempts.
	CircuitOpen CircuitState = "open"
)

// A circuit keeps jobs from a backend that can't be reached.
type circuit struct {
	mu       sync.Mutex
	failures int
	state    CircuitState
	since    time.Time
	probing  bool      // a job is on its way as a probe
	nextTry  time.Time // when the next probe may start
	reason   string
}

func newCircuit() *circuit { return &circuit{state: CircuitClosed, since: time.Now()} }

// report takes what an attempt told about the backend: nil where it answered, whatever it said. It
// answers true where the state changed.
func (c *circuit) report(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	if err == nil {
		c.failures = 0
		return c.set(CircuitClosed, "")
	}
	c.failures++
	c.nextTry = time.Now().Add(probeEvery)
	if c.failures < circuitLimit && c.state == CircuitClosed {
		return false
	}
	return c.set(CircuitOpen, err.Error())
}

// trip opens the circuit at once: the backend's own health check failed.
func (c *circuit) trip(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextTry = time.Now().Add(probeEvery)
	return c.set(CircuitOpen, err.Error())
}

// abandon ends a probe that told nothing.
func (c *circuit) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
}

// admits says how many jobs may start now, of n that could: all, none, or one as a probe.
func (c *circuit) admits(n int, probeByJob bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == CircuitClosed:
		return n
	case !probeByJob || c.probing || n == 0 || time.Now().Before(c.nextTry):
		return 0
	}
	c.probing = true
	return 1
}

// wants says whether a job would be let through, if only as a probe.
func (c *circuit) wants(probeByJob bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == CircuitClosed || probeByJob && !c.probing && !time.Now().Before(c.nextTry)
}

// retryAt is when an open circuit may be tried again; the zero time while it is closed.
func (c *circuit) retryAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == CircuitClosed {
		return time.Time{}
	}
	return c.nextTry
}

func (c *circuit) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == CircuitOpen
}

func (c *circuit) snapshot() (state CircuitState, since time.Time, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.since, c.reason
}

func (c *circuit) set(state CircuitState, reason string) bool {
	changed := c.state != state
	if changed {
		c.state, c.since = state, time.Now()
	}
	c.reason = reason
	return changed
}

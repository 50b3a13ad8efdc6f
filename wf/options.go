package wf

import (
	"fmt"
	"math"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Backoff says how the wait between attempts grows.
type Backoff string

// The backoffs, for a delay d after attempt a: d, d·a and d·2^(a-1).
const (
	Constant    Backoff = "constant"
	Linear      Backoff = "linear"
	Exponential Backoff = "exponential"
)

// Defaults of a step: 6 attempts, 10 s, 20 s, 40 s … apart, of at most 10 minutes each; and of a
// wait for an event.
const (
	defaultLimit        = 5
	defaultDelay        = 10 * time.Second
	defaultTimeout      = 10 * time.Minute
	defaultEventTimeout = 24 * time.Hour
	maxLimit            = 10_000
)

// An Option configures a step.
type Option func(*options)

type options struct {
	limit   int
	delay   time.Duration
	backoff Backoff
	timeout time.Duration
	timed   bool
	faults  []error
}

// Retry allows limit attempts after the first, delay apart, growing by backoff. Defaults to 5, 10 s
// and Exponential.
func Retry(limit int, delay time.Duration, backoff Backoff) Option {
	return func(o *options) {
		o.limit, o.delay, o.backoff = limit, delay, backoff
		switch {
		case limit < 0 || limit > maxLimit:
			o.faults = append(o.faults, fmt.Errorf("%w: retry limit %d; allowed: 0 to %d", ErrConfig, limit, maxLimit))
		case delay < 0:
			o.faults = append(o.faults, fmt.Errorf("%w: retry delay %s is negative", ErrConfig, delay))
		case backoff != Constant && backoff != Linear && backoff != Exponential:
			o.faults = append(o.faults, fmt.Errorf("%w: backoff %q; allowed: constant, linear, exponential", ErrConfig, backoff))
		}
	}
}

// Timeout bounds one attempt of a step (10 minutes by default), or a wait for an event (24 hours).
func Timeout(d time.Duration) Option {
	return func(o *options) {
		o.timeout, o.timed = d, true
		if d <= 0 {
			o.faults = append(o.faults, fmt.Errorf("%w: timeout %s must be positive", ErrConfig, d))
		}
	}
}

func build(opts []Option) (options, error) {
	o := options{limit: defaultLimit, delay: defaultDelay, backoff: Exponential, timeout: defaultTimeout}
	for _, opt := range opts {
		opt(&o)
	}
	if len(o.faults) > 0 {
		return o, o.faults[0]
	}
	return o, nil
}

func (o options) config() *protocol.Config {
	return &protocol.Config{
		Retries: protocol.Retries{Limit: o.limit, Delay: o.delay.Milliseconds(), Backoff: string(o.backoff)},
		Timeout: max(1, o.timeout.Milliseconds()),
	}
}

// wait is the pause after failed attempt a, from 1.
func wait(c *protocol.Config, a int) time.Duration {
	d := float64(c.Retries.Delay)
	switch Backoff(c.Retries.Backoff) {
	case Linear:
		d *= float64(a)
	case Exponential:
		d *= math.Pow(2, float64(a-1))
	case Constant:
	}
	return time.Duration(min(d, float64(protocol.MaxSleep.Milliseconds()))) * time.Millisecond
}

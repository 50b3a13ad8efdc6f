package ssp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// resumption is how long a feed may take to come back from a pause.
const resumption = 2 * time.Second

// A subscription that should have spoken is given this long before it is taken for deaf.
const proofTimeout = time.Second

// doubtEvery bounds how often a subscription is put to the proof.
const doubtEvery = 5 * time.Second

// A feed keeps one LIVE SELECT alive. A subscription can be registered and never speak, or fall
// silent later, without any error; so somebody who has reason to doubt it does something that it
// must report, and calls expect.
type feed struct {
	live      *surreal.Client
	table     string
	statement string
	vars      map[string]any
	log       *slog.Logger
	onEvents  func(events []surreal.Event)
	// onGap is called whenever events may have been missed: after each registration and overflow.
	onGap   func()
	metrics *feedMetrics

	since   atomic.Pointer[time.Time] // when the present subscription was registered
	mu      sync.Mutex
	proof   time.Time // when an event must have come; zero without doubt
	doubted time.Time
	changed chan struct{} // capacity 1: proof or paused changed
	paused  atomic.Bool
	resumed atomic.Pointer[time.Time] // when it was last told to come back
	stale   atomic.Bool               // subscribe anew
	onDeaf  func()                    // told when the feed was found deaf; may be nil
}

// renew replaces the subscription.
func (f *feed) renew() {
	f.stale.Store(true)
	f.poke()
}

// pause ends the subscription until pause(false).
func (f *feed) pause(on bool) {
	if !on {
		now := time.Now()
		f.resumed.Store(&now)
	}
	f.paused.Store(on)
	f.poke()
}

func (f *feed) poke() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *feed) up() bool { return f.since.Load() != nil }

// upSince is when the present subscription was registered; false without one.
func (f *feed) upSince() (time.Time, bool) {
	at := f.since.Load()
	if at == nil {
		return time.Time{}, false
	}
	return *at, true
}

// run subscribes, and subscribes again, until ctx ends.
func (f *feed) run(ctx context.Context) {
	pause := 50 * time.Millisecond
	for ctx.Err() == nil {
		if f.paused.Load() {
			select {
			case <-ctx.Done():
			case <-f.changed:
			}
			continue
		}
		live, err := f.live.Live(ctx, surreal.LiveConfig{Table: f.table, Statement: f.statement, Vars: f.vars})
		if err != nil {
			if ctx.Err() == nil {
				f.log.Warn("live feed not registered; the sweep stands in", "error", err)
			}
			sleep(ctx, pause)
			pause = min(2*pause, 2*time.Second)
			continue
		}
		pause = 50 * time.Millisecond
		f.listen(ctx, live)
	}
}

// listen consumes one subscription until it ends, is found deaf, or ctx ends.
func (f *feed) listen(ctx context.Context, live *surreal.Live) {
	now := time.Now()
	f.since.Store(&now)
	f.stale.Store(false)
	f.believe()
	f.metrics.registered()
	defer func() {
		f.since.Store(nil)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), proofTimeout)
		defer cancel()
		live.Close(end)
	}()
	f.onGap()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(f.patience())
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
			if f.paused.Load() || f.stale.Swap(false) {
				return
			}
		case <-live.C():
			if !f.consume(live) {
				return
			}
		case <-timer.C:
			if f.deaf() {
				f.log.Warn("live feed is deaf: it did not report a change that it must report; subscribing again")
				f.metrics.deaf()
				if f.onDeaf != nil {
					f.onDeaf()
				}
				return
			}
		}
	}
}

// consume hands on what waits; false where the subscription has ended.
func (f *feed) consume(live *surreal.Live) bool {
	events, overflow := live.Take()
	if len(events) > 0 {
		f.believe()
		f.onEvents(events)
	}
	if overflow {
		f.onGap()
	}
	if err := live.Err(); err != nil {
		f.log.Info("live feed ended; subscribing again", "reason", err)
		return false
	}
	return true
}

// mayDoubt says whether the feed has not been put to the proof for a while, and notes that it is now.
func (f *feed) mayDoubt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.doubted) < doubtEvery {
		return false
	}
	f.doubted = time.Now()
	return true
}

// hears says whether nothing is wrong with the feed: it is up, meant to be down, or just coming back
// from that.
func (f *feed) hears() bool {
	resumed := f.resumed.Load()
	return f.up() || f.paused.Load() || resumed != nil && time.Since(*resumed) < resumption
}

// expect says that something has happened that the feed must report soon.
func (f *feed) expect(within time.Duration) {
	f.mu.Lock()
	if f.proof.IsZero() { // a proof that is due already stays due
		f.proof = time.Now().Add(within)
	}
	f.mu.Unlock()
	f.poke()
}

// believe ends any doubt.
func (f *feed) believe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proof = time.Time{}
}

func (f *feed) patience() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proof.IsZero() {
		return time.Hour
	}
	return max(time.Until(f.proof), time.Millisecond)
}

func (f *feed) deaf() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.proof.IsZero() && !time.Now().Before(f.proof)
}

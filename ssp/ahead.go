package ssp

import (
	"context"
	"errors"
	"time"

	"sp00ky.cloud/spky/outbox"
)

// A row claimed along with fifty others costs half of what it costs along with a dozen. So where
// attempts are short, a lane claims more jobs than it has slots free; they wait a moment, in order,
// and take a slot in the instant in which one is freed. Where attempts are not short, or have
// stopped ending, nothing is claimed ahead, and what was is given back: another node may be free.
const (
	aheadMax = claimBatch
	// shortAttempt is how long attempts may take on the average for jobs to be claimed ahead.
	shortAttempt = 20 * time.Millisecond
	// stillShort is how long it may be since the last attempt ended.
	stillShort = 100 * time.Millisecond
	// aheadFor is how long a job may wait for its slot. Leases last ten seconds longer than attempts.
	aheadFor = time.Second
	// averageOf is about how many attempts the average looks back at.
	averageOf = 16
)

// A tempo is how long a lane's attempts take. It is guarded by the lane's mu.
type tempo struct {
	average time.Duration
	ended   time.Time
}

func (t *tempo) note(took time.Duration) {
	if t.ended.IsZero() {
		t.average = took
	}
	t.average += (took - t.average) / averageOf
	t.ended = time.Now()
}

func (t *tempo) short() bool {
	return !t.ended.IsZero() && t.average < shortAttempt && time.Since(t.ended) < stillShort
}

// wanted is how many jobs to claim now, under l.mu.
func (l *lane) wanted() int {
	free := l.backend.Concurrency - l.busy
	room := 0
	if l.tempo.short() {
		room = aheadMax - len(l.ready)
	}
	if free <= 0 && room < aheadMax/2 {
		return 0 // a small batch is no gain while every slot is taken
	}
	return min(max(free, 0)+room, l.batch)
}

// board makes a flight of a claimed job: it starts if a slot is free, else it waits for one.
func (l *lane) board(f *flight) {
	l.mu.Lock()
	starts := l.busy < l.backend.Concurrency
	if starts {
		l.busy++
	} else {
		f.parked = time.Now()
		l.ready = append(l.ready, f)
	}
	l.mu.Unlock()
	if starts {
		l.start(f)
	}
}

// pass hands a slot that is freed to the job that has waited longest, or takes it back.
func (l *lane) pass() {
	l.mu.Lock()
	var next *flight
	// One that has waited too long, because the loop that sheds is held up by the database, is not
	// started any more: its lease would end before its attempt.
	if len(l.ready) > 0 && !l.circuit.open() && time.Since(l.ready[0].parked) < aheadFor {
		next, l.ready = l.ready[0], l.ready[1:]
	} else {
		l.busy--
	}
	l.mu.Unlock()
	if next != nil {
		l.start(next)
	}
}

// shed gives back jobs that have waited for a slot since before a moment.
func (l *lane) shed(before time.Time) {
	l.mu.Lock()
	n := 0
	for n < len(l.ready) && l.ready[n].parked.Before(before) {
		n++
	}
	stale := l.ready[:n:n]
	l.ready = l.ready[n:]
	l.mu.Unlock()
	for _, f := range stale {
		o := outbox.Outcome{ID: f.job.ID, Epoch: f.job.Epoch, Status: outbox.Pending}
		if errors.Is(context.Cause(f.ctx), errCancelled) {
			o.Status = outbox.Cancelled
			o.Failure = &outbox.Failure{Code: outbox.CodeCancelled, Reason: "cancelled before its request was sent", Attempt: f.job.Attempt()}
		}
		f.cancel(nil)
		l.settler.add(settlement{key: f.key, attempt: f.job.Attempt(), outcome: o, mask: l.mask(f.job, verdict{})})
	}
}

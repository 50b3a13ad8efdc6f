package ssp

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// unreachableWait is the pause before a job is tried again whose request never left.
const unreachableWait = 250 * time.Millisecond

// launch sends a claimed job on its way.
func (l *lane) launch(job outbox.Job) {
	key := surreal.FormatID(job.ID)
	ctx, cancel := context.WithCancelCause(l.launches)
	l.mu.Lock()
	delete(l.losses, key)
	f, ok := l.flights[key]
	if ok && f.running {
		// This node lost the job, still makes the old attempt, and has claimed it anew out of its partition's queue. The
		// flight must not get the new epoch, under which the old attempt's outcome would count. The sweep gives the row
		// back once the old attempt is over.
		l.mu.Unlock()
		cancel(nil)
		l.log.Warn("claimed a job whose earlier attempt is still under way here; it will be given back", "job", key)
		return
	}
	if !ok { // an answer to an id that was not asked for
		f = &flight{key: key}
		l.flights[key] = f
	}
	f.job, f.running, f.ctx, f.cancel = job, true, ctx, cancel
	if f.aborted {
		cancel(errCancelled)
	}
	l.mu.Unlock()
	l.board(f)
}

// start makes the attempt of a flight that has a slot.
func (l *lane) start(f *flight) {
	l.metrics.started(f.job, l.node.clock.now())
	l.flying.Go(func() {
		defer f.cancel(nil)
		started := time.Now()
		ctx, spans := l.trace(f.ctx, f.job)
		v := l.attempt(ctx, f.job)
		took := time.Since(started)
		l.metrics.attempted(f.job, v, took)
		mask := l.mask(f.job, v)
		spans.judged(v, mask)
		l.finish(f, v, took, settlement{spans: spans, mask: mask})
	})
}

// attempt makes one attempt; it never panics.
func (l *lane) attempt(ctx context.Context, job outbox.Job) (v verdict) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("panic in an attempt", "job", surreal.FormatID(job.ID), "panic", p, "stack", string(debug.Stack()))
			v = refuse(fmt.Errorf("the runner failed on this job: %v", p))
		}
	}()
	if job.Err != nil {
		return refuse(job.Err)
	}
	v = l.dispatch(ctx, job)
	// What an ill backend answers is no attempt of the job's. A request that ended without an answer
	// is one: it may be what made the backend ill, and must not come back for ever.
	if v.ill && v.code != 0 && l.backend.Healthcheck != "" {
		if err := l.node.prober.ask(ctx, l, time.Now()); err != nil {
			v.status, v.unreachable = outbox.Pending, err
		}
	}
	return v
}

// finish frees the flight's slot and hands what it came to over to the settler.
func (l *lane) finish(f *flight, v verdict, took time.Duration, s settlement) {
	l.learn(v)
	s.key, s.attempt, s.outcome = f.key, f.job.Attempt(), l.outcome(f.job, v)
	l.mu.Lock()
	l.tempo.note(took)
	l.recent.note(took, v.status == outbox.Failed || v.unreachable != nil)
	l.mu.Unlock()
	l.pass()
	l.settler.add(s)
	l.poke()
}

// learn tells the circuit what an attempt showed of the backend.
func (l *lane) learn(v verdict) {
	changed := false
	switch {
	case v.unreachable != nil:
		changed = l.circuit.report(v.unreachable)
	case v.code == outbox.CodeRefused, v.code == outbox.CodeCancelled, v.status == outbox.Pending && v.wait == 0, v.reason == errTimeout.Error():
		l.circuit.abandon() // no answer of the backend
	default:
		changed = l.circuit.report(nil)
	}
	if changed {
		l.noticeCircuit()
	}
	if (v.unreachable != nil || v.ill) && l.backend.Healthcheck != "" {
		l.node.prober.suspect(l)
	}
}

func (l *lane) noticeCircuit() {
	state, _, reason := l.circuit.snapshot()
	l.metrics.circuit(state)
	if state == CircuitOpen {
		l.shed(time.Now())
		l.log.Warn("circuit open: the backend can't be reached; its jobs wait and burn no attempts", "error", reason, "backend_url", l.backend.BaseURL.Redacted())
		return
	}
	l.log.Info("circuit closed: the backend answers again")
	l.poke()
}

// outcome is what a verdict means for the job's row.
func (l *lane) outcome(job outbox.Job, v verdict) outbox.Outcome {
	o := outbox.Outcome{ID: job.ID, Epoch: job.Epoch, Status: v.status, Result: v.result, Wait: v.wait}
	entry := &outbox.Failure{Code: v.code, Reason: v.reason, Attempt: job.Attempt()}
	switch v.status {
	case outbox.Cancelled:
		o.Failure = entry
	case outbox.Pending:
		if v.unreachable != nil {
			o.Wait = unreachableWait
			if !l.circuit.open() { // once it is open, its probes would push every real entry out
				o.Failure = entry
			}
		}
	case outbox.Failed:
		failures := job.Attempt()
		o.Failure, o.Counts = entry, true
		if !v.final && failures < job.Attempts() {
			o.Status = outbox.Pending
			o.Wait = max(outbox.Backoff(job.Strategy, failures, l.node.cfg.Jitter), v.wait)
		}
	case outbox.Success, outbox.Processing:
	}
	return o
}

// abort ends a job's request because somebody asked for its cancellation: also one that is yet to
// begin, for the word may come before the answer to the claim.
func (l *lane) abort(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.flights[key]
	switch {
	case !ok:
	case f.running:
		f.cancel(errCancelled)
	default:
		f.aborted = true
	}
}

// settled ends a flight. again is when the job is due next, zero where it is not.
func (l *lane) settled(s settlement, again time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.flights[s.key]; ok && f.job.Partition != "" {
		l.look(f.job.Partition)
	}
	l.end(s.key)
	if !again.IsZero() {
		l.put(s.outcome.ID, s.key, again)
	}
}

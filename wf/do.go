package wf

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

const (
	// inlineWait is the longest pause between attempts that a run sits out; longer ones suspend it.
	inlineWait = 5 * time.Second
	// beginAfter is how long a step may run before its row is written. A step that is done by then
	// costs one write; one that takes longer shows that it runs, and a crash counts its attempt. A
	// step without retries is written before it begins: it must not run twice.
	beginAfter = 50 * time.Millisecond
)

// Do makes a step of fn: its result is stored, and when the workflow's code runs again, after a
// crash, a wait or a deploy, fn is not called again but the stored result returned.
//
// A failed attempt is followed by others as [Retry] says. When they are used up, or fn returned
// [NonRetryable], the error is stored, and this and every later run get the same *[StepError]. Any
// other error than a *StepError means that the step is not done: return it.
//
// The result must be JSON of at most 1 MiB, and is seen the way JSON keeps it even the first time.
// fn's context ends with the attempt's [Timeout], and when the run loses the instance.
func Do[T any](ctx context.Context, s *Step, name string, fn func(context.Context) (T, error), opts ...Option) (T, error) {
	key, row := s.run.identify(protocol.KindDo, name)
	return doAs[T](ctx, s, key, row, fn, opts)
}

func doAs[T any](ctx context.Context, s *Step, key stepKey, row *storedStep, fn func(context.Context) (T, error), opts []Option) (T, error) {
	value, err := s.run.do(ctx, key, row, opts, func(ctx context.Context, _ *attempts) (any, error) {
		out, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		stored, err := encode(fmt.Sprintf("result of step %q", key.name), out)
		if err != nil {
			return nil, &fatalError{err}
		}
		return stored, nil
	})
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](fmt.Sprintf("result of step %q", key.name), value)
}

// A function is what a step calls: its result in stored form, or a committedValue.
type function func(context.Context, *attempts) (any, error)

// A committedValue is a result that the function has stored itself, together with the step.
type committedValue struct {
	value any
	ack   protocol.Ack
}

// do runs or replays a step.
func (r *run) do(ctx context.Context, key stepKey, row *storedStep, opts []Option, fn function) (any, error) {
	if err := errors.Join(checkName(key.name), outside(ctx, key.name), r.withinLimit()); err != nil {
		return nil, err
	}
	if row != nil && row.Done() {
		return outcome(row.Step)
	}
	o, err := build(opts)
	if err != nil {
		return nil, fmt.Errorf("step %q: %w", key.name, err)
	}
	if err := r.enter(key, row); err != nil {
		return nil, err
	}
	ctx, span := r.traceStep(ctx, key)
	a := r.newAttempts(key, row, o)
	a.span = span
	value, wait, err := a.all(ctx, fn)
	span.end(a, wait, err)
	switch {
	case wait != nil:
		return nil, r.park(*wait)
	case r.replays(err), errors.Is(err, errTold):
		return nil, r.replay(key)
	}
	r.leave()
	return value, err
}

// outcome is what a step that is done gives its caller.
func outcome(s protocol.Step) (any, error) {
	if s.Status == protocol.StepErrored {
		return nil, loaded(s.Name, s.Error)
	}
	return s.Output, nil
}

func (r *run) inlineWait() time.Duration {
	if r.engine.cfg.kit.Now != nil {
		return 0
	}
	return inlineWait
}

// spent says whether the budget would be used up by a pause.
func (r *run) spent(pause time.Duration) bool {
	return !r.deadline.IsZero() && time.Now().Add(pause).After(r.deadline)
}

// isPausing says whether somebody wants the instance to pause.
func (r *run) isPausing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pausing
}

// rest waits within the run.
func (r *run) rest(pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ended:
	case <-r.ctx.Done():
	}
	return errOver
}

// attempts are the attempts of one step.
type attempts struct {
	run  *run
	step protocol.Step
	lost bool // the last attempt was ended by closeLost, which no row says yet
	span *stepTrace
}

func (r *run) newAttempts(key stepKey, row *storedStep, o options) *attempts {
	a := &attempts{run: r}
	if row != nil {
		a.step = row.Step
	} else {
		a.step = protocol.Step{Seq: r.seq(nil), Kind: key.kind, Name: key.name, Occurrence: key.occurrence, StartedAt: r.now()}
	}
	if a.step.Config == nil {
		a.step.Config = o.config() // what was stored first wins over changed code
	}
	a.closeLost()
	return a
}

// closeLost ends an attempt that an earlier run began and did not live to end: it counts.
func (a *attempts) closeLost() {
	n := len(a.step.Attempts)
	if n == 0 || a.step.Attempts[n-1].EndedAt != nil {
		return
	}
	now := a.run.now()
	last := &a.step.Attempts[n-1]
	last.EndedAt = &now
	last.Error = &protocol.Error{Name: nameCrash, Message: "the process died, or lost the instance, during the attempt"}
	if a.step.Tried() <= a.step.Config.Retries.Limit {
		a.schedule(now)
		a.lost = true
	}
}

// saveLost stores what closeLost found: a run that suspends over the wait must leave the time at
// which it ends, or every run would begin it anew.
func (a *attempts) saveLost() error {
	if !a.lost {
		return nil
	}
	a.lost = false
	return a.run.begin(a.step)
}

// all makes attempts until the step is done, or has to wait for longer than the run may.
func (a *attempts) all(ctx context.Context, fn function) (any, *protocol.Wait, error) {
	r := a.run
	if err := a.saveLost(); err != nil {
		return nil, nil, err
	}
	for tried := false; ; tried = true {
		if done, err := a.exhausted(); done || err != nil {
			return nil, nil, err
		}
		pause := a.pause()
		if a.step.RetryAt != nil && (pause > r.inlineWait() || (tried || pause > 0) && r.spent(pause) || r.isPausing()) {
			return nil, &protocol.Wait{Kind: "retry", Name: a.step.Name, WakeAt: *a.step.RetryAt}, nil
		}
		if err := r.rest(pause); err != nil {
			return nil, nil, err
		}
		done, value, err := a.try(ctx, fn)
		if done || err != nil {
			return value, nil, err
		}
	}
}

// schedule sets when the next attempt is due, counted from when the last one ended.
func (a *attempts) schedule(from time.Time) {
	at := from.Add(wait(a.step.Config, a.step.Tried()))
	a.step.Status, a.step.RetryAt = protocol.StepRetrying, &at
}

// exhausted ends the step where no attempt is left.
func (a *attempts) exhausted() (bool, error) {
	n := len(a.step.Attempts)
	if n == 0 || a.step.Tried() <= a.step.Config.Retries.Limit {
		return false, nil
	}
	return true, a.fail(a.step.Attempts[n-1].Error)
}

// errTold is a step that failed as far as this run can see, but is done in the store: a call whose
// answer never came, or came too late, has done it. The next run will see what it came to.
var errTold = errors.New("wf: the store has another outcome of the step")

// fail stores the step as failed for good and answers with its error.
func (a *attempts) fail(e *protocol.Error) error {
	a.step.Status, a.step.Error, a.step.RetryAt = protocol.StepErrored, e, nil
	told, err := a.run.commitNew(protocol.StepWrite{Step: a.step})
	switch {
	case err != nil:
		return err
	case !told:
		return errTold
	}
	return loaded(a.step.Name, e)
}

// pause is how long the next attempt has to wait.
func (a *attempts) pause() time.Duration {
	if a.step.RetryAt == nil {
		return 0
	}
	return a.step.RetryAt.Sub(a.run.now())
}

// try makes one attempt. done is false where another has to follow.
func (a *attempts) try(ctx context.Context, fn function) (done bool, value any, err error) {
	r := a.run
	began := r.now()
	a.step.Status, a.step.RetryAt = protocol.StepRunning, nil
	a.step.Attempt(began)
	value, err = a.call(ctx, fn)
	if cause := context.Cause(r.ctx); cause != nil && err != nil {
		return true, nil, a.abandon(cause)
	}
	ended := r.now()
	last := &a.step.Attempts[len(a.step.Attempts)-1]
	last.EndedAt = &ended
	if own, ok := value.(committedValue); ok {
		return true, own.value, r.committed(own.ack)
	}
	if err == nil {
		a.step.Status, a.step.Output = protocol.StepComplete, value
		return true, value, r.commit(protocol.StepWrite{Step: a.step})
	}
	failure := stored(err)
	last.Error = brief(failure)
	if final(err) || a.step.Tried() > a.step.Config.Retries.Limit {
		return true, nil, a.fail(failure)
	}
	a.schedule(ended)
	a.span.failed(a.step.Tried(), last.Error)
	r.log.Info("step attempt failed", "step", a.step.Name, "attempt", a.step.Tried(), "error", last.Error.Message, "retry_at", *a.step.RetryAt)
	return false, nil, r.begin(a.step)
}

// abandon leaves an attempt that the run's own end cut short. At a shutdown it is taken back, for it
// is nobody's fault; but not that of a step without retries, which must not run twice and may have
// done half its work. A lost run can't write anything.
func (a *attempts) abandon(cause error) error {
	if errors.Is(cause, errShutdown) && a.step.Status == protocol.StepRunning && a.step.Config.Retries.Limit > 0 {
		now := a.run.now()
		a.step.Attempts = a.step.Attempts[:len(a.step.Attempts)-1]
		a.step.Status, a.step.RetryAt = protocol.StepRetrying, &now
		if err := a.run.begin(a.step); err != nil {
			return err
		}
	}
	return errOver
}

// call calls the step's function, with a row written before or meanwhile where it must show.
func (a *attempts) call(ctx context.Context, fn function) (any, error) {
	r := a.run
	if a.step.Config.Retries.Limit == 0 || r.engine.cfg.kit.Now != nil {
		if err := r.begin(a.step); err != nil {
			return nil, err
		}
	} else {
		stop := a.beginLater()
		defer stop()
	}
	timeout := time.Duration(a.step.Config.Timeout) * time.Millisecond
	slow := fmt.Errorf("%w: execution timed out after %dms", ErrTimeout, a.step.Config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, slow)
	defer cancel()
	unhook := context.AfterFunc(r.ctx, cancel)
	defer unhook()
	ctx = context.WithValue(ctx, stepContext{}, stepInfo{log: r.log, name: a.step.Name, attempt: a.step.Tried()})
	return guard(ctx, slow, a.snapshot().hooked(fn))
}

// snapshot is the attempt under way, for its function: that may outlive the attempt and must not see
// the next.
func (a *attempts) snapshot() *attempts {
	now := *a
	now.step.Attempts = slices.Clone(a.step.Attempts)
	return &now
}

// beginLater writes the step's row when the attempt takes its time. stop waits for a write under way.
func (a *attempts) beginLater() (stop func()) {
	row := a.snapshot().step
	written := make(chan struct{})
	timer := time.AfterFunc(beginAfter, func() {
		defer close(written)
		if err := a.run.begin(row); err != nil && !errors.Is(err, ErrSuspended) {
			a.run.log.Warn("step not shown as running", "step", row.Name, "error", err)
		}
	})
	return func() {
		if !timer.Stop() {
			<-written
		}
	}
}

// guard calls fn and returns when it does or when ctx ends, whichever is first: a function that
// ignores its context holds nothing up, and its late result is thrown away.
func guard(ctx context.Context, slow error, fn func(context.Context) (any, error)) (any, error) {
	type result struct {
		value any
		err   error
	}
	done := make(chan result, 1)
	go func() { // outlived by nothing that matters: its result has room to be thrown away
		res := result{err: errGone} // what a Goexit leaves
		defer func() {
			if p := recover(); p != nil {
				res = result{err: &panicError{value: p, stack: string(debug.Stack())}}
			}
			done <- res
		}()
		res.value, res.err = fn(ctx)
	}()
	select {
	case res := <-done:
		if res.err != nil && errors.Is(context.Cause(ctx), ErrTimeout) && errors.Is(res.err, context.DeadlineExceeded) {
			return nil, slow
		}
		return res.value, res.err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			return nil, slow
		}
		return nil, context.Cause(ctx)
	}
}

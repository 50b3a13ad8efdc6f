package wf

import (
	"context"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Future is a step that runs beside the workflow.
type Future[T any] struct {
	run     *run
	done    chan struct{}
	waiting int  // goroutines in Wait, counted under run.mu
	over    bool // under run.mu
	value   T
	err     error
}

// Go is [Do] in a goroutine of its own: it returns at once, and [Future.Wait] gives what the step
// came to. The step has its identity when Go returns, so that steps of one name started one after
// the other keep their occurrences apart on every run. A run suspends only when all its goroutines
// wait.
func Go[T any](ctx context.Context, s *Step, name string, fn func(context.Context) (T, error), opts ...Option) *Future[T] {
	r := s.run
	key, row := r.identify(protocol.KindDo, name)
	return spawn(r, func() (T, error) { return doAs[T](ctx, s, key, row, fn, opts) })
}

// Branch runs a part of the workflow, made of any steps, in a goroutine of its own. Steps in
// branches that run at the same time should have different names: their occurrences count in the
// order in which the branches come to them.
func Branch[T any](ctx context.Context, s *Step, fn func(context.Context, *Step) (T, error)) *Future[T] {
	return spawn(s.run, func() (T, error) { return fn(ctx, s) })
}

func spawn[T any](r *run, fn func() (T, error)) *Future[T] {
	f := &Future[T]{run: r, done: make(chan struct{})}
	r.mu.Lock()
	r.threads++
	r.mu.Unlock()
	r.engine.branches.Go(func() {
		defer f.complete()
		f.err = errOver // what a panic leaves; capture says more
		f.value, f.err = capture(fn)
	})
	return f
}

// Wait gives what the step came to. It may be called any number of times.
func (f *Future[T]) Wait() (T, error) {
	f.run.mu.Lock()
	if !f.over {
		f.waiting++
		f.run.blocked++
		f.run.settleLocked()
	}
	f.run.mu.Unlock()
	<-f.done
	return f.value, f.err
}

// complete ends the future's goroutine: whoever waits for it moves again from this moment.
func (f *Future[T]) complete() {
	f.run.mu.Lock()
	f.over = true
	f.run.blocked -= f.waiting
	f.run.threads--
	f.run.settleLocked()
	f.run.mu.Unlock()
	close(f.done)
}

package wftest

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// T is the part of [testing.TB] that a run needs.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Context() context.Context
}

// Run runs a workflow from its start to its end, and says what it came to. A workflow that ends with
// an error is a result like any other; what fails the test is
//
//   - nondeterminism: code that, run again over the same stored steps, goes another way or comes to
//     another result;
//   - a workflow that does not come to an end within [MaxRuns], or hangs outside its steps;
//   - an option for a step that never ran, which is mostly a wrong name;
//   - params that are no JSON, or too large.
//
// It returns when all goroutines of the workflow and of its steps have ended. Run may be called in parallel tests, and
// within a bubble of [testing/synctest], where steps' own timers and timeouts cost no time either.
func Run[P, R any](t T, code func(context.Context, wf.Event[P], *wf.Step) (R, error), params P, opts ...Option) *Result {
	t.Helper()
	p := newPlan(t.Context(), opts)
	for _, fault := range p.faults {
		t.Errorf("wftest: %v", fault)
	}
	data, err := json.Marshal(params)
	if err == nil && surreal.JSONSize(data) > protocol.MaxValue {
		err = wf.ErrTooLarge
	}
	if err != nil || len(p.faults) > 0 {
		t.Fatalf("wftest: params of the workflow: %v", err)
	}
	d := newDriver(t, p, func(d *driver, e *wf.Engine) {
		wf.Register(e, p.binding, watched(d, code), wf.Strict())
	})
	return d.run(data)
}

// watched is code whose beginning and end the driver sees.
func watched[P, R any](d *driver, code func(context.Context, wf.Event[P], *wf.Step) (R, error)) func(context.Context, wf.Event[P], *wf.Step) (R, error) {
	return func(ctx context.Context, ev wf.Event[P], step *wf.Step) (R, error) {
		var out R
		err := d.apart(func() (err error) {
			defer d.codeEnds()
			out, err = code(ctx, ev, step)
			return err
		})
		return out, err
	}
}

// apart calls the workflow's code in a goroutine of its own, so that one that ends its goroutine, as
// FailNow of a test does, doesn't end the engine's.
func (d *driver) apart(code func() error) error {
	var err error
	var panicked any
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if panicked = recover(); panicked != nil {
				d.log("the workflow panics: %v\n%s", panicked, debug.Stack())
			}
		}()
		err = code()
		returned = true
	}()
	<-done
	switch {
	case panicked != nil:
		panic(panicked)
	case !returned:
		d.exit("the workflow")
		return errExited
	}
	return err
}

// errExited is what code comes to that ended its goroutine.
var errExited = errors.New("wftest: the code ended its goroutine")

// exiting calls the function of a step, and notes it when that ends its goroutine.
func (d *driver) exiting(what string, fn func() (any, error)) (any, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			panic(p)
		}
		d.exit(what)
	}()
	value, err := fn()
	returned = true
	return value, err
}

// exit marks that the workflow's code, or a step's, has ended its goroutine.
func (d *driver) exit(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.exited == "" {
		d.exited = what + " ended its goroutine (runtime.Goexit, or FailNow or Fatal of a test)"
		close(d.exits)
	}
}

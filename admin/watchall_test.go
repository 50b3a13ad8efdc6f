package admin

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestChangesOfInstances tells of instances that come, move and go.
func TestChangesOfInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	told := make(chan InstanceChange, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- r.durable.Changes(ctx, func(c InstanceChange) error { told <- c; return nil })
	}()
	next := func(want string, do func()) {
		t.Helper()
		again := time.NewTicker(20 * time.Millisecond) // it may not listen yet
		defer again.Stop()
		for {
			do()
			select {
			case <-again.C:
			case c := <-told:
				if c.ID == want {
					return
				}
			case <-r.ctx.Done():
				t.Fatalf("nothing is told of %s", want)
			}
		}
	}
	r.create(NewInstance{Binding: "ALPHA", ID: "before"})
	next("before", func() { r.exec("UPDATE _00_wf_instance:before SET updated_at = time::now() RETURN NONE", nil) })
	once := func(f func()) func() {
		done := false
		return func() {
			if !done {
				f()
			}
			done = true
		}
	}
	next("one", once(func() { r.create(NewInstance{Binding: "BETA", ID: "one"}) }))
	next("one", once(func() { _, err := r.durable.Terminate(r.ctx, "one"); r.check(err) }))
	next("one", once(func() { r.exec("DELETE _00_wf_instance:one RETURN NONE", nil) }))
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

package workflow_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"sp00ky.cloud/spky/wf"
)

// TestRetryKeepsWhatWasCaught: a retry of an errored instance runs the step again that made it fail,
// and not one that failed before and that the workflow has dealt with.
func TestRetryKeepsWhatWasCaught(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	var primary, fallback, last atomic.Int32
	mended := false
	engine := r.newEngine(wf.Config{})
	once := func(calls *atomic.Int32, err func() error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return int(calls.Add(1)), err() }
	}
	fails := func() error { return wf.NonRetryable(errors.New("the primary is gone")) }
	flow := wf.Register(engine, "CAUGHT", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		var failed *wf.StepError
		if _, err := wf.Do(ctx, s, "primary", once(&primary, fails)); !errors.As(err, &failed) {
			return 0, err
		}
		if _, err := wf.Do(ctx, s, "fallback", once(&fallback, func() error { return nil })); err != nil {
			return 0, err
		}
		return wf.Do(ctx, s, "last", once(&last, func() error {
			if mended {
				return nil
			}
			return wf.NonRetryable(errors.New("not yet"))
		}))
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	handler := engine.Handler(http.NotFoundHandler())
	if got := r.run(handler, "CAUGHT", i.ID()); got.State != "errored" {
		t.Fatalf("the first run: %+v", got)
	}
	mended = true
	check(t, i.Retry(t.Context()))
	if got := r.run(handler, "CAUGHT", i.ID()); got.State != "complete" {
		t.Fatalf("after the retry: %+v", got)
	}
	if primary.Load() != 1 || fallback.Load() != 1 || last.Load() != 2 {
		t.Errorf("primary ran %d times, fallback %d, last %d; want 1, 1, 2", primary.Load(), fallback.Load(), last.Load())
	}
	r.Consistent(i.ID())
}

// TestRetryAfterAnEventOfTheWrongShape: an event that does not decode makes its wait fail, and a retry
// waits for another instead of failing over the same again.
func TestRetryAfterAnEventOfTheWrongShape(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "SHAPE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		got, err := wf.WaitForEvent[int](ctx, s, "number", "go")
		return got.Payload, err
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	check(t, i.SendEvent(t.Context(), "go", map[string]string{"not": "a number"}))
	handler := engine.Handler(http.NotFoundHandler())
	if got := r.run(handler, "SHAPE", i.ID()); got.State != "errored" {
		t.Fatalf("with a wrong event: %+v", got)
	}
	check(t, i.Retry(t.Context()))
	if got := r.run(handler, "SHAPE", i.ID()); got.State != "suspended" {
		t.Fatalf("after the retry: %+v", got)
	}
	check(t, i.SendEvent(t.Context(), "go", 7))
	if got := r.run(handler, "SHAPE", i.ID()); got.State != "complete" {
		t.Fatalf("with a right event: %+v", got)
	}
	if events := r.Events(i.ID()); len(events) != 2 || events[0].ConsumedBy == nil || events[1].ConsumedBy == nil {
		t.Errorf("the events are %+v", events)
	}
}

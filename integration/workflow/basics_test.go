package workflow_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

func TestStepsSleepEventAndRetriesEndToEnd(t *testing.T) {
	t.Parallel()
	var calls, flaky atomic.Int32
	type params struct{ N int }
	var flow *wf.Workflow[params]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "FLOW", func(ctx context.Context, ev wf.Event[params], s *wf.Step) (map[string]any, error) {
			a, err := wf.Do(ctx, s, "first", func(context.Context) (int, error) { calls.Add(1); return ev.Payload.N + 1, nil })
			if err != nil {
				return nil, err
			}
			if err := s.Sleep(ctx, "nap", 100*time.Millisecond); err != nil {
				return nil, err
			}
			b, err := wf.Do(ctx, s, "flaky", func(context.Context) (int, error) {
				if flaky.Add(1) < 3 {
					return 0, errors.New("not yet")
				}
				return a * 2, nil
			}, wf.Retry(5, 10*time.Millisecond, wf.Constant))
			if err != nil {
				return nil, err
			}
			got, err := wf.WaitForEvent[map[string]bool](ctx, s, "review", "reviewed")
			if err != nil {
				return nil, err
			}
			x := wf.Go(ctx, s, "par", func(context.Context) (int, error) { return 1, nil })
			y := wf.Go(ctx, s, "par", func(context.Context) (int, error) { return 2, nil })
			xv, err := x.Wait()
			if err != nil {
				return nil, err
			}
			yv, err := y.Wait()
			if err != nil {
				return nil, err
			}
			return map[string]any{"a": a, "b": b, "ok": got.Payload["ok"], "par": []int{xv, yv}}, nil
		})
	})
	i, err := flow.Create(t.Context(), params{N: 20}, wf.ID("one"))
	check(t, err)
	if _, err := flow.Create(t.Context(), params{}, wf.ID("one")); !errors.Is(err, wf.ErrExists) {
		t.Errorf("a used id gives %v", err)
	}
	r.until(i, "waiting for the event", func(rep wf.Report) bool { return rep.Status == wf.Waiting && rep.WaitingFor["kind"] == "event" })
	check(t, i.SendEvent(t.Context(), "reviewed", map[string]bool{"ok": true}))
	report := r.untilStatus(i, wf.Complete)
	var out struct {
		A, B int
		OK   bool
		Par  []int
	}
	check(t, report.Output(&out))
	if out.A != 21 || out.B != 42 || !out.OK || len(out.Par) != 2 || out.Par[0] != 1 || out.Par[1] != 2 {
		t.Errorf("the output is %+v", out)
	}
	if calls.Load() != 1 || flaky.Load() != 3 {
		t.Errorf("first ran %d times, flaky %d", calls.Load(), flaky.Load())
	}
	if report.StepsDone != 6 {
		t.Errorf("steps_done is %d", report.StepsDone)
	}
	if err := i.Terminate(t.Context()); err == nil {
		t.Error("a complete instance can be terminated")
	}
	var state *wf.StateError
	if err := i.SendEvent(t.Context(), "late", 1); !errors.As(err, &state) || state.Status != wf.Complete {
		t.Errorf("an event to a complete instance gives %v", err)
	}
}

func TestQueryIsOneTransactionWithItsStep(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	var runs atomic.Int32
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "Q", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			runs.Add(1)
			n, err := wf.Query[int](ctx, s, "count", "LET $row = UPSERT ONLY counter:one SET n += $by; RETURN $row.n", map[string]any{"by": 5})
			if err != nil {
				return 0, err
			}
			if err := s.Sleep(ctx, "so that it replays", time.Millisecond); err != nil {
				return 0, err
			}
			_, err = wf.Query[int](ctx, s, "fails", "UPDATE counter:one SET n += 100; THROW 'no'", nil, wf.Retry(1, time.Millisecond, wf.Constant))
			var failed *wf.StepError
			if !errors.As(err, &failed) {
				return 0, err
			}
			return n, nil
		})
	})
	check(t, surreal.Exec(t.Context(), r.DB, "DEFINE TABLE counter; CREATE counter:one SET n = 1", nil))
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	report := r.untilStatus(i, wf.Complete)
	var n int
	check(t, report.Output(&n))
	stored, err := surreal.First[[]int](t.Context(), r.DB, "SELECT VALUE n FROM counter:one", nil)
	check(t, err)
	if n != 6 || len(stored) != 1 || stored[0] != 6 || runs.Load() < 2 {
		t.Errorf("result %d, stored %v, runs %d", n, stored, runs.Load())
	}
}

package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"sp00ky.cloud/spky/wf"
)

// TestCreateIsAllOrNothing: where the job can't be written there is no instance, and the reverse; of a
// batch likewise nothing stays.
func TestCreateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	flow := wf.Register(r.newEngine(wf.Config{}), "ALL", func(context.Context, wf.Event[int], *wf.Step) (int, error) { return 0, nil })
	for _, obstacle := range []struct{ put, remove string }{
		{"DEFINE FIELD OVERWRITE path ON job TYPE string ASSERT $value != '/__spky/workflow/ALL'", "DEFINE FIELD OVERWRITE path ON job TYPE string"},
		{"DEFINE FIELD mine ON job TYPE string", "REMOVE FIELD mine ON job"},
		{"DEFINE EVENT stop ON _00_wf_instance WHEN $event = 'CREATE' THEN { THROW 'stopped' }", "REMOVE EVENT stop ON _00_wf_instance"},
		{"DEFINE EVENT stop ON job WHEN $event = 'CREATE' THEN { THROW 'stopped' }", "REMOVE EVENT stop ON job"},
	} {
		r.Exec(obstacle.put, nil)
		before := r.fingerprint()
		if i, err := flow.Create(t.Context(), 0, wf.ID("one")); err == nil {
			t.Errorf("%s: created %s", obstacle.put, i.ID())
		}
		if made, err := flow.CreateBatch(t.Context(), make([]wf.NewInstance[int], 3)); err == nil {
			t.Errorf("%s: created %v", obstacle.put, made)
		}
		if r.fingerprint() != before {
			t.Errorf("%s: something stayed: %v", obstacle.put, r.snapshot())
		}
		r.Exec(obstacle.remove, nil)
		i, err := flow.Create(t.Context(), 0, wf.ID("one"))
		check(t, err)
		if r.count("_00_wf_instance", "queued") != 1 || r.count("job", "pending") != 1 {
			t.Errorf("without the obstacle: %v", r.snapshot())
		}
		r.Exec("DELETE $id; DELETE job", map[string]any{"id": instanceKey(i.ID())})
	}
}

// TestCreateAtOnce: of many that create one id at the same moment one does, and its params stay.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	const n = 10
	r := newDatabase(t)
	flow := wf.Register(r.newEngine(wf.Config{}), "ONE", func(_ context.Context, ev wf.Event[int], _ *wf.Step) (int, error) { return ev.Payload, nil })
	made := make([]bool, n)
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() {
			_, err := flow.Create(context.WithoutCancel(t.Context()), k, wf.ID("one"))
			if made[k] = err == nil; err != nil && !errors.Is(err, wf.ErrExists) {
				t.Errorf("create: %v", err)
			}
		})
	}
	all.Wait()
	params := fmt.Sprint(read[[]any](r, "SELECT VALUE params FROM _00_wf_instance", nil))
	for k, ok := range made {
		if ok != (params == fmt.Sprintf("[%d]", k)) {
			t.Errorf("creator %d: %t, the params are %s", k, ok, params)
		}
	}
	if r.count("job", "pending") != 1 {
		t.Errorf("%d jobs", r.count("job", "pending"))
	}
}

// TestRestartForgets: of steps and events nothing is left, and everything that came of them is unset.
func TestRestartForgets(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "AGAIN", func(ctx context.Context, ev wf.Event[string], s *wf.Step) (string, error) {
		if _, err := wf.WaitForEvent[int](ctx, s, "w", "go"); err != nil {
			return "", err
		}
		_, err := wf.Do(ctx, s, "fails", func(context.Context) (int, error) { panic(ev.Payload) }, wf.Retry(0, 0, wf.Constant))
		return "", err
	})
	i, err := flow.Create(t.Context(), "params")
	check(t, err)
	fresh := r.Instance(i.ID())
	for _, typ := range []string{"go", "other"} {
		check(t, i.SendEvent(t.Context(), typ, 1))
	}
	if row := r.finish(engine.Handler(http.NotFoundHandler()), "AGAIN", i); row.Status != "errored" || row.Stack == "" {
		t.Fatalf("%+v", row)
	}
	check(t, i.Restart(t.Context()))
	now := r.Instance(i.ID())
	if len(r.Steps(i.ID())) != 0 || len(r.Events(i.ID())) != 0 {
		t.Errorf("left are the steps %v and the events %v", r.Steps(i.ID()), r.Events(i.ID()))
	}
	fresh.Job, fresh.UpdatedAt, fresh.Fence, fresh.Incarnation = now.Job, now.UpdatedAt, now.Fence, 1
	if !reflect.DeepEqual(now, fresh) {
		t.Errorf("after a restart it is\n%+v, and was when new\n%+v", now, fresh)
	}
}

// TestRetryGoesOn: after retry an errored instance goes on from the steps that failed, with what the
// others came to.
func TestRetryGoesOn(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	calls, mended := map[string]int{}, false
	flow := wf.Register(engine, "RETRY", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		a, err := wf.Do(ctx, s, "good", func(context.Context) (int, error) { calls["good"]++; return 1, nil })
		if err != nil {
			return 0, err
		}
		b, err := wf.Do(ctx, s, "bad", func(context.Context) (int, error) {
			calls["bad"]++
			if !mended {
				return 0, wf.NonRetryable(errors.New("no"))
			}
			return 2, nil
		})
		return a + b, err
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	handler := engine.Handler(http.NotFoundHandler())
	if row := r.finish(handler, "RETRY", i); row.Status != "errored" || row.StepsDone != 2 {
		t.Fatalf("%s after %d steps", row.Status, row.StepsDone)
	}
	mended = true
	check(t, i.Retry(t.Context()))
	if row := r.Instance(i.ID()); row.Status != "queued" || row.Error != nil || row.FinishedAt != nil || row.StepsDone != 1 {
		t.Errorf("after retry: %+v", row)
	}
	r.Consistent(i.ID())
	row := r.finish(handler, "RETRY", i)
	if row.Status != "complete" || fmt.Sprint(row.Output) != "3" || calls["good"] != 1 || calls["bad"] != 2 || row.Warning != nil {
		t.Errorf("%s with %v after the calls %v, %v", row.Status, row.Output, calls, row.Warning)
	}
	r.Consistent(i.ID())
}

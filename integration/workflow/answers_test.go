package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// A thief loses the answer to one request: it is done, and the connection lost before the answer came.
type thief struct {
	surreal.Querier
	n, steal atomic.Int64
	stolen   string
}

func (h *thief) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	n := h.n.Add(1)
	results, err := h.Querier.Query(ctx, surql, vars)
	if n == h.steal.Load() {
		h.stolen = surql
		return nil, surreal.ErrDisconnected
	}
	return results, err
}

// robust is a workflow of everything that writes: it comes to 1+2+4+8+16 whatever gets lost.
func robust(calls *atomic.Int64) func(context.Context, wf.Event[int], *wf.Step) (int, error) {
	return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		one, err := wf.Do(ctx, s, "one", func(context.Context) (int, error) { calls.Add(1); return 1, nil })
		if err != nil {
			return 0, err
		}
		two, err := wf.Do(ctx, s, "two", func(ctx context.Context) (int, error) {
			calls.Add(1)
			if wf.Attempt(ctx) == 1 {
				return 0, errors.New("once")
			}
			return 2, nil
		}, wf.Retry(1, time.Millisecond, wf.Constant))
		if err != nil {
			return 0, err
		}
		_, err = wf.Do(ctx, s, "three", func(context.Context) (int, error) { calls.Add(1); return 0, errors.New("no") }, wf.Retry(0, 0, wf.Constant))
		if !isStepError(err) {
			return 0, err
		}
		four, err := wf.Query[int](ctx, s, "four", "LET $row = UPSERT ONLY counter:[$id] SET n += 4; RETURN $row.n", map[string]any{"id": s.InstanceID()}, wf.Retry(0, 0, wf.Constant))
		if err != nil {
			return 0, err
		}
		if err := s.Sleep(ctx, "nap", time.Millisecond); err != nil {
			return 0, err
		}
		eight, err := wf.WaitForEvent[int](ctx, s, "eight", "go")
		if err != nil {
			return 0, err
		}
		more := wf.Go(ctx, s, "sixteen", func(context.Context) (int, error) { calls.Add(1); return 16, nil })
		_, err = wf.WaitForEvent[int](ctx, s, "never", "never", wf.Timeout(time.Millisecond))
		if !errors.Is(err, wf.ErrTimeout) {
			return 0, err
		}
		sixteen, err := more.Wait()
		return one + two + four + eight.Payload + sixteen, err
	}
}

func isStepError(err error) bool {
	var failed *wf.StepError
	return errors.As(err, &failed)
}

// TestLostAnswers loses the answer to each request of an instance's life, one instance for each: every
// one is repeated or found to have been done, and nothing is done, counted or stored twice. No run
// has to wait for a lease to end.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE counter", nil)
	var stolen []string
	for n := 1; ; n++ {
		var calls atomic.Int64
		db := &thief{Querier: r.DB.Retrying()}
		engine := r.newEngine(wf.Config{DB: db})
		flow := wf.Register(engine, "ROBUST", robust(&calls))
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		check(t, i.SendEvent(t.Context(), "go", 8))
		db.steal.Store(db.n.Load() + int64(n))
		row := r.finish(engine.Handler(http.NotFoundHandler()), "ROBUST", i)
		what := fmt.Sprintf("without the answer to %.60s", db.stolen)
		if row.Status != "complete" || fmt.Sprint(row.Output) != "31" || row.StepsDone != 8 || row.Warning != nil {
			t.Errorf("%s: %s with %v (%+v) after %d steps, %v", what, row.Status, row.Output, row.Error, row.StepsDone, row.Warning)
		}
		if counted := read[[]int](r, "SELECT VALUE n FROM $c", map[string]any{"c": surreal.NewRecordID("counter", []any{i.ID()})}); len(counted) != 1 || counted[0] != 4 {
			t.Errorf("%s: the block was done as %v", what, counted)
		}
		if calls.Load() != 5 {
			t.Errorf("%s: %d calls of functions", what, calls.Load())
		}
		r.Consistent(i.ID())
		if db.stolen == "" {
			break
		}
		stolen = append(stolen, db.stolen)
	}
	for _, kind := range []string{"acquire", "begin_step", "commit_steps", "commit_query", "suspend", "finish"} {
		if !strings.Contains(strings.Join(stolen, " "), kind) {
			t.Errorf("no answer to %s was lost", kind)
		}
	}
}

// TestDatabaseAway: while the database can't be reached a run repeats its write, and goes on when it
// can be again; steps whose functions have returned do not run again.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE counter", nil)
	for _, kind := range []string{"acquire", "begin_step", "commit_steps", "BEGIN", "suspend", "finish"} {
		var calls atomic.Int64
		db := &outage{Querier: r.DB.Retrying(), kind: kind, left: 3}
		engine := r.newEngine(wf.Config{DB: db})
		flow := wf.Register(engine, "ROBUST", robust(&calls))
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		check(t, i.SendEvent(t.Context(), "go", 8))
		row := r.finish(engine.Handler(http.NotFoundHandler()), "ROBUST", i)
		if row.Status != "complete" || fmt.Sprint(row.Output) != "31" || calls.Load() != 5 || row.StepsDone != 8 {
			t.Errorf("%s: %s with %v (%+v) after %d calls and %d steps", kind, row.Status, row.Output, row.Error, calls.Load(), row.StepsDone)
		}
		if db.left != 0 {
			t.Errorf("%s: %d failures are left", kind, db.left)
		}
	}
}

// An outage keeps some requests of a kind from the database.
type outage struct {
	surreal.Querier
	kind string
	left int
}

func (o *outage) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	if o.left > 0 && strings.Contains(surql, o.kind) {
		o.left--
		return nil, fmt.Errorf("call: %w", surreal.ErrNotConnected)
	}
	return o.Querier.Query(ctx, surql, vars)
}

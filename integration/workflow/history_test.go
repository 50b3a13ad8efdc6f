package workflow_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// TestHistoryOfMoreThanAnAnswer: instances whose steps and events are more than one answer of the database may be go on all
// the same, and nothing else on the connection suffers: those that know how much they hold, and those that don't. All but
// the first step are rows made by hand, in its image; every other event is consumed.
func TestHistoryOfMoreThanAnAnswer(t *testing.T) {
	t.Parallel()
	const steps, events, large = 100, 70, 15 << 10
	r := newDatabase(t)
	cfg := r.Target
	cfg.MaxMessage = 1 << 20
	db, hangUp, err := surreal.Connect(t.Context(), cfg)
	check(t, err)
	t.Cleanup(func() { check(t, hangUp()) })
	engine := r.newEngine(wf.Config{DB: db.Retrying()})
	var calls atomic.Int64
	text := strings.Repeat("x", large)
	flow := wf.Register(engine, "HISTORY", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		sum := 0
		for k := range steps {
			got, err := wf.Do(ctx, s, "step", func(context.Context) (string, error) { calls.Add(1); return text, nil })
			if err != nil {
				return 0, err
			}
			sum += len(got)
			if k > 0 {
				continue
			}
			if err := s.Sleep(ctx, "while rows are made", time.Millisecond); err != nil {
				return 0, err
			}
		}
		for range events / 2 {
			got, err := wf.WaitForEvent[string](ctx, s, "word", "word")
			if err != nil {
				return 0, err
			}
			sum += len(got.Payload)
		}
		return sum, nil
	})
	handler := engine.Handler(http.NotFoundHandler())
	var all sync.WaitGroup
	for k := range 6 {
		stored := []any{surreal.None, 100 << 20}[k%2]
		all.Go(func() {
			i, err := flow.Create(t.Context(), 0)
			if err != nil {
				t.Error(err)
				return
			}
			if got := r.run(handler, "HISTORY", i.ID()); got.State != "suspended" {
				t.Errorf("the first run ends as %+v", got)
				return
			}
			r.Exec(`BEGIN;
				LET $first = SELECT * OMIT id FROM ONLY type::record('_00_wf_step', [$id, 0, 'do', 'step', 1]);
				FOR $k IN 2..=$steps {
					CREATE ONLY type::record('_00_wf_step', [$id, 0, 'do', 'step', $k]) CONTENT object::extend($first, { occurrence: $k, seq: $k + 1 }) RETURN NONE;
				};
				FOR $n IN 1..=$events {
					CREATE ONLY type::record('_00_wf_event', [$id, 0, $n]) SET instance = type::record('_00_wf_instance', $id), type = 'word', payload = $text,
						consumed_by = IF $n % 2 = 0 { type::record('_00_wf_step', [$id, 0, 'waitForEvent', 'other', $n]) } ELSE { NONE } RETURN NONE;
				};
				UPDATE ONLY type::record('_00_wf_instance', $id) SET steps_done = $steps, events_sent = $events, stored = $stored RETURN NONE;
				COMMIT;`, map[string]any{"id": i.ID(), "steps": steps, "events": events, "text": text, "stored": stored})
			row := r.finish(handler, "HISTORY", i)
			if want := uint64((steps + events/2) * large); row.Status != "complete" || row.Output != want || row.StepsDone != steps+1+events/2 || row.Warning != nil {
				t.Errorf("%s with %v (%v) after %d steps, want %d", row.Status, row.Output, row.Error, row.StepsDone, want)
			}
		})
	}
	all.Wait()
	if n := calls.Load(); n != 6 {
		t.Errorf("%d calls: stored steps were executed again", n)
	}
	if state := db.State(); state.Reconnects > 0 {
		t.Errorf("the connection was lost %d times", state.Reconnects)
	}
}

// TestWhatAnInstanceHoldsIsCounted by steps of every kind, blocks and events, and anew after a restart.
func TestWhatAnInstanceHoldsIsCounted(t *testing.T) {
	t.Parallel()
	const large = 10_000
	text := strings.Repeat("x", large)
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "COUNTED", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			_, err := wf.Do(ctx, s, "text", func(context.Context) (string, error) { return text, nil })
			if err == nil {
				_, err = wf.Query[string](ctx, s, "block", "RETURN string::repeat('y', 10000)", nil)
			}
			if err == nil {
				_, err = wf.WaitForEvent[string](ctx, s, "event", "go")
			}
			return 0, err
		})
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	held := func(least int) {
		t.Helper()
		got := read[int](r, "SELECT VALUE stored FROM ONLY type::record('_00_wf_instance', $id)", map[string]any{"id": i.ID()})
		if got < least || got > least+500 {
			t.Errorf("it holds %d bytes, want %d and little more", got, least)
		}
	}
	for range 2 {
		r.untilStatus(i, wf.Waiting)
		held(2 * large)
		check(t, i.SendEvent(t.Context(), "go", text))
		r.untilStatus(i, wf.Complete)
		held(4 * large) // the event's, and what the wait got of it
		check(t, i.Restart(t.Context()))
	}
}

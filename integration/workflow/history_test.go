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

// TestHistoryOfMoreThanAnAnswer: instances whose steps and events are more than one answer of the database may be, and
// what they are to read at once more than that, go on all the same, and nothing else on the connection suffers. All but
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
	for range 3 {
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
				UPDATE ONLY type::record('_00_wf_instance', $id) SET steps_done = $steps, events_sent = $events RETURN NONE;
				COMMIT;`, map[string]any{"id": i.ID(), "steps": steps, "events": events, "text": text})
			row := r.finish(handler, "HISTORY", i)
			if want := uint64((steps + events/2) * large); row.Status != "complete" || row.Output != want || row.StepsDone != steps+1+events/2 || row.Warning != nil {
				t.Errorf("%s with %v (%v) after %d steps, want %d", row.Status, row.Output, row.Error, row.StepsDone, want)
			}
		})
	}
	all.Wait()
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls: stored steps were executed again", n)
	}
	if state := db.State(); state.Reconnects > 0 {
		t.Errorf("the connection was lost %d times", state.Reconnects)
	}
}

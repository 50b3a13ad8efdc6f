package workflow_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

// TestStepsInsideSteps are refused at once, whatever their kind, with an error that names both; nothing
// of them is stored, and nothing hangs.
func TestStepsInsideSteps(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	kinds := map[string]func(context.Context, *wf.Step) error{
		"do": func(ctx context.Context, s *wf.Step) error {
			_, err := wf.Do(ctx, s, "inner", func(context.Context) (int, error) { return 1, nil })
			return err
		},
		"go": func(ctx context.Context, s *wf.Step) error {
			_, err := wf.Go(ctx, s, "inner", func(context.Context) (int, error) { return 1, nil }).Wait()
			return err
		},
		"branch": func(ctx context.Context, s *wf.Step) error {
			_, err := wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) { return 0, s.Sleep(ctx, "inner", time.Hour) }).Wait()
			return err
		},
		"sleep": func(ctx context.Context, s *wf.Step) error { return s.Sleep(ctx, "inner", time.Hour) },
		"sleep until": func(ctx context.Context, s *wf.Step) error {
			return s.SleepUntil(ctx, "inner", time.Now().Add(time.Hour))
		},
		"wait": func(ctx context.Context, s *wf.Step) error {
			_, err := wf.WaitForEvent[int](ctx, s, "inner", "go")
			return err
		},
		"query": func(ctx context.Context, s *wf.Step) error {
			_, err := wf.Query[int](ctx, s, "inner", "RETURN 1", nil)
			return err
		},
	}
	flow := wf.Register(engine, "NESTED", func(ctx context.Context, ev wf.Event[string], s *wf.Step) (string, error) {
		return wf.Do(ctx, s, "outer", func(ctx context.Context) (string, error) {
			err := kinds[ev.Payload](ctx, s)
			if !errors.Is(err, wf.ErrConfig) || !strings.Contains(err.Error(), `"inner"`) || !strings.Contains(err.Error(), `"outer"`) {
				t.Errorf("%s gives %v", ev.Payload, err)
			}
			return "done", nil
		})
	})
	for kind := range kinds {
		i, err := flow.Create(t.Context(), kind)
		check(t, err)
		row := r.finish(engine.Handler(http.NotFoundHandler()), "NESTED", i)
		if row.Status != "complete" || row.StepsDone != 1 || len(r.Steps(i.ID())) != 1 || row.Warning != nil {
			t.Errorf("%s: %s with the steps %v", kind, row.Status, r.Steps(i.ID()))
		}
	}
}

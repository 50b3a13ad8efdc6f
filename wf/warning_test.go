package wf

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A lateWarning is a store that warnings reach a second late, or once a run has been suspended.
type lateWarning struct {
	protocol.Store
	once      sync.Once
	suspended chan struct{}
}

func (s *lateWarning) Warn(ctx context.Context, id string, fence int, warning map[string]any, stalled bool) (protocol.Ack, error) {
	select {
	case <-s.suspended:
	case <-time.After(time.Second):
	}
	return s.Store.Warn(ctx, id, fence, warning, stalled)
}

func (s *lateWarning) Suspend(ctx context.Context, id string, fence int, waits []protocol.Wait) (protocol.Ack, error) {
	ack, err := s.Store.Suspend(ctx, id, fence, waits)
	if strings.HasSuffix(id, "changed") && fence == 2 {
		s.once.Do(func() { close(s.suspended) })
	}
	return ack, err
}

// TestAWarningIsStoredBeforeTheRunSuspends: one that is on its way when the workflow has to wait is not lost with the
// run's lease.
func TestAWarningIsStoredBeforeTheRunSuspends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(time.Now())
		mem.Create("changed", "FLOW", []byte("null"))
		engine, err := Testing(t.Context(), protocol.Kit{Store: &lateWarning{Store: mem, suspended: make(chan struct{})}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		step := "old"
		Register(engine, "FLOW", func(ctx context.Context, _ Event[any], s *Step) (int, error) {
			if _, err := Do(ctx, s, step, func(context.Context) (int, error) { return 1, nil }); err != nil {
				return 0, err
			}
			return 0, s.Sleep(ctx, "nap", time.Hour)
		})
		for _, step = range []string{"old", "new"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/__spky/workflow/FLOW", strings.NewReader(`{"instance":"changed"}`))
			r.Header.Set("Content-Type", "application/json")
			engine.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", step, w.Code, w.Body)
			}
		}
		if i, _ := mem.Instance("changed"); i.Status != string(Waiting) || i.Warning["code"] != "nondeterminism" {
			t.Errorf("it is %s with the warning %v", i.Status, i.Warning)
		}
		if err := engine.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

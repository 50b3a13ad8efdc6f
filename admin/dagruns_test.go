package admin

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal/redact"
)

// TestARunThatMovesIsListedOnce lists runs while one of them goes from state to state.
func TestARunThatMovesIsListedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`CREATE _00_workflow_run:one CONTENT { workflow: 'nightly', key: '', manual: true, status: 'running', on_failure: 'halt', concurrency: 'skip', tick: _00_schedule_run:one, steps: 1,
		started_at: time::now(), deadline_ms: 0, newest: -1 } RETURN NONE`, nil)
	ctx, stop := context.WithCancel(r.ctx)
	var beside errgroup.Group
	beside.Go(func() error {
		for ctx.Err() == nil {
			for _, status := range RunStatuses() {
				r.exec("UPDATE _00_workflow_run:one SET status = $status RETURN NONE", map[string]any{"status": status})
			}
		}
		return nil
	})
	dags := NewDAGs(r.db, redact.Rules{})
	for range 300 {
		runs, err := dags.Runs(r.ctx, "nightly", "", 0)
		r.check(err)
		if len(runs) != 1 {
			t.Errorf("it is listed %d times", len(runs))
			break
		}
	}
	stop()
	r.check(beside.Wait())
}

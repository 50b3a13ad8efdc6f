//go:build unix

package integration_test

import (
	"net/http"
	"reflect"
	"syscall"
	"testing"
	"time"
)

// TestFrozenNodeWritesNothing: a node is stopped with SIGSTOP until others have taken its job and
// finished it. When it goes on, what its own attempt came to is refused.
func TestFrozenNodeWritesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		timeout time.Duration
		// answered says whether the backend answers the frozen node; otherwise its attempt times out.
		answered bool
	}{
		{"answered meanwhile", 30 * time.Second, true},
		{"timed out meanwhile", 8 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testFrozen(t, c.timeout, c.answered)
		})
	}
}

func testFrozen(t *testing.T, timeout time.Duration, answered bool) {
	db, g := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		if c.Node == "frozen" && c.Path == "/task" {
			g.wait(c)
		}
		return http.StatusOK, map[string]any{"by": c.Node}
	})
	cfg := b.config()
	cfg.Timeout = timeout
	frozen := spawnNode(t, "frozen", db.cfg, cfg)
	id := db.create(nil)
	b.reached(1)
	frozen.signal(syscall.SIGSTOP)
	other := start(t, "other", db.cfg, cfg)
	db.settled(1)
	before := db.job(id)
	if before.Retries != 1 || len(before.Errors) != 1 || before.Errors[0].Code != "lease_expired" {
		t.Errorf("after the take-over: %+v", before)
	}
	if answered {
		g.Open()
	}
	frozen.signal(syscall.SIGCONT)
	frozen.logs("lease lost")
	if after := db.job(id); !reflect.DeepEqual(after, before) {
		t.Errorf("the old holder changed the row from\n%+v to\n%+v", before, after)
	}
	_, metrics := frozen.get("/metrics")
	if lost := metricIn(t, metrics, `spky_leases_lost_total{backend="api"}`); lost != 1 {
		t.Errorf("%v leases lost by the metric", lost)
	}
	// It works again: alone, it runs the next job.
	other.stop()
	db.create(map[string]any{"path": "/next"})
	db.settled(2)
	if calls := b.journal(); calls[len(calls)-1].Node != "frozen" {
		t.Errorf("the last call came from %s", calls[len(calls)-1].Node)
	}
}

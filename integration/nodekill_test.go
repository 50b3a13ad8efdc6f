//go:build unix

package integration_test

import (
	"net/http"
	"testing"
	"time"
)

// deathNotice is how long the others take a silent node for alive.
const deathNotice = 10 * time.Second

// TestNodeKilled: SIGKILL of a node with 50 requests in flight. The others finish its jobs soon after
// its death is known, and the rows tell the truth: one attempt lost for those in flight, none for
// any other.
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	const flying, others = 50, 100
	db, never := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		if c.Node == "doomed" {
			never.wait(c)
		}
		return http.StatusOK, map[string]any{"by": c.Node}
	})
	wide := b.config()
	wide.Concurrency = flying
	doomed := spawnNode(t, "doomed", db.cfg, wide)
	db.mustInsert("flying", flying)
	b.reached(flying)
	start(t, "b", db.cfg, b.config())
	start(t, "c", db.cfg, b.config())
	db.mustInsert("other", others)
	doomed.kill()
	died := time.Now()
	db.settled(flying + others)
	if took := time.Since(died); took > deathNotice+20*time.Second {
		t.Errorf("the jobs were finished %s after their node's death", took)
	}
	calls := b.byJob()
	for _, r := range db.jobs("") {
		mine := calls[r.key()]
		if r.ID.ID.(string)[0] == 'o' {
			if r.Retries != 0 || len(r.Errors) != 0 || len(mine) != 1 {
				t.Errorf("a job that no dead node held: %+v, requested %d times", r, len(mine))
			}
			continue
		}
		if r.Retries != 1 || len(r.Errors) != 1 || r.Errors[0].Code != "lease_expired" || r.Errors[0].Attempt != 1 {
			t.Errorf("a job that was in flight: retries %d, errors %+v", r.Retries, r.Errors)
		}
		if len(mine) != 2 || mine[0].Node != "doomed" || mine[0].Attempt != 1 || mine[1].Node == "doomed" || mine[1].Attempt != 2 {
			t.Errorf("a job that was in flight was requested %+v", mine)
		}
	}
}

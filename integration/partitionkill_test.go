//go:build unix

package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A tenantCount counts the calls of each tenant that are served at the same moment.
type tenantCount struct {
	mu        sync.Mutex
	now, most map[string]int
}

func (n *tenantCount) note(tenant string, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now[tenant] += by
	n.most[tenant] = max(n.most[tenant], n.now[tenant])
}

// TestPartitionsWhenNodesDie: one node is killed and one is frozen past its death, both in the middle of
// requests. No tenant ever has two requests at once, but for the frozen node's own, which nobody can take
// back; and every job is done.
func TestPartitionsWhenNodesDie(t *testing.T) {
	t.Parallel()
	const tenants, each = 24, 8
	db, never := fresh(t), newGate(t)
	n := &tenantCount{now: map[string]int{}, most: map[string]int{}}
	b := newBackend(t, func(c call) (int, any) {
		if c.Node == "frozen" {
			never.wait(c)
			return http.StatusOK, nil
		}
		var payload struct{ Tenant string }
		if err := json.Unmarshal([]byte(c.Body), &payload); err != nil {
			t.Errorf("body %q: %v", c.Body, err)
		}
		n.note(payload.Tenant, 1)
		if c.Node == "killed" {
			never.wait(c)
		}
		n.note(payload.Tenant, -1)
		return http.StatusOK, map[string]any{"by": c.Node}
	})
	cfg := b.config()
	cfg.PartitionBy, cfg.Concurrency, cfg.Timeout = "payload.tenant", tenants/3, 2*time.Minute
	killed, frozen := spawnNode(t, "killed", db.cfg, cfg), spawnNode(t, "frozen", db.cfg, cfg)
	var rows []map[string]any
	for i := range tenants * each {
		rows = append(rows, map[string]any{"path": "/task", "payload": map[string]any{"tenant": fmt.Sprint(i % tenants)}})
	}
	db.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows})
	b.reached(2 * cfg.Concurrency) // all slots of both
	frozen.signal(syscall.SIGSTOP)
	start(t, "b", db.cfg, cfg)
	start(t, "c", db.cfg, cfg)
	killed.kill()
	db.settled(tenants * each)
	n.mu.Lock()
	for tenant, most := range n.most {
		if most > 1 {
			t.Errorf("%d calls of tenant %s at once", most, tenant)
		}
	}
	n.mu.Unlock()
	for _, r := range db.jobs("retries > 0") {
		if r.Retries != 1 || len(r.Errors) != 1 || r.Errors[0].Code != "lease_expired" {
			t.Errorf("a job that a dead node held: retries %d, errors %+v", r.Retries, r.Errors)
		}
	}
	if lost := len(db.jobs("retries > 0")); lost != 2*cfg.Concurrency {
		t.Errorf("%d jobs lost an attempt, want the %d in flight", lost, 2*cfg.Concurrency)
	}
	frozen.signal(syscall.SIGCONT)
	never.Open()
	frozen.logs("lease lost")
	if got := len(db.jobs("status = 'success'")); got != tenants*each {
		t.Errorf("%d jobs are done after the frozen node went on", got)
	}
}

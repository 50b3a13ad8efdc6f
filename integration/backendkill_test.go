//go:build unix

package integration_test

import (
	"net/http"
	"testing"
	"time"
)

// TestBackendKilled: the backend is killed with SIGKILL under load and comes back on the same port.
// Work goes on at once; of the jobs, those in flight at its death lose an attempt, no other, and none fails.
func TestBackendKilled(t *testing.T) {
	t.Parallel()
	for _, health := range []string{"", "/healthz"} {
		name := "probed by a job"
		if health != "" {
			name = "with a health check"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testBackendKilled(t, health)
		})
	}
}

func testBackendKilled(t *testing.T, health string) {
	const jobs, atOnce = 600, 16
	db := fresh(t)
	first := spawn(t, roleBackend, "backend", backendSettings{Address: "127.0.0.1:0", Work: 10 * time.Millisecond})
	cfg := serving(t, "http://"+first.address)
	cfg.Concurrency, cfg.Healthcheck = atOnce, health
	n := start(t, "n", db.cfg, cfg)
	db.mustInsert("a", jobs/2)
	eventually(t, "a part of the jobs is done", func() (bool, any) {
		counts := db.census()
		return counts["success"] >= jobs/6, counts
	})
	first.kill()
	if n.health() != "ready" {
		t.Error("a backend that is away makes its node unhealthy")
	}
	db.mustInsert("b", jobs/2)
	eventually(t, "the circuit opens", func() (bool, any) {
		open := n.metric(`spky_circuit_open{backend="api"}`)
		return open == 1, open
	})
	second := spawn(t, roleBackend, "backend again", backendSettings{Address: first.address, Work: 10 * time.Millisecond})
	back := time.Now()
	eventually(t, "work goes on", func() (bool, any) {
		done := query[[]any](db, "SELECT id FROM job WHERE status = 'success' AND result.pid = $pid LIMIT 1", map[string]any{"pid": second.cmd.Process.Pid})
		return len(done) > 0, db.census()
	})
	t.Logf("work went on %s after the backend's return", time.Since(back))
	db.settled(jobs)
	hit := 0
	for _, r := range db.jobs("") {
		if r.Retries > 1 {
			t.Errorf("%s lost %d attempts by one death: %+v", r.key(), r.Retries, r.Errors)
		}
		hit += r.Retries
	}
	// Until the fifth failure opens the circuit, a slot that a failure frees goes to the next job.
	if most := atOnce + 4; hit > most {
		t.Errorf("%d jobs lost an attempt, but at most %d were in flight", hit, most)
	}
	n.says(http.StatusOK, "ready")
}

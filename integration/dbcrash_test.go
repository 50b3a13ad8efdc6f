package integration_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestDatabaseKilled: the database is killed with SIGKILL under load and started again, twice. Nothing
// is lost, every job ends, and the node recovers by itself and tells the truth meanwhile.
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	const jobs, atOnce = 600, 8
	db := newMortal(t)
	b := newBackend(t, slowly(5*time.Millisecond))
	cfg := b.config()
	cfg.Concurrency = atOnce
	n := start(t, "n", db.cfg, cfg)
	written := make(chan error, 1)
	go func() { written <- db.insert("j", jobs) }()
	for _, calls := range []int{100, 300} {
		b.reached(calls)
		db.kill()
		n.says(http.StatusServiceUnavailable, "degraded")
		db.start(t)
		n.says(http.StatusOK, "ready")
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	db.settled(jobs)
	checkNothingLost(db.database, b, jobs, 2*atOnce)
}

// slowly is a backend that takes its time.
func slowly(work time.Duration) func(call) (int, any) {
	return func(c call) (int, any) {
		done := time.NewTimer(work)
		defer done.Stop()
		select {
		case <-done.C:
		case <-c.Gone:
		}
		return http.StatusOK, map[string]any{"job": c.Job}
	}
}

// checkNothingLost checks all jobs after a fault that interrupted at most so many of them: each ran, and
// only those ran twice; none failed, and no attempt was lost that was not a lease's.
func checkNothingLost(db *database, b *backend, jobs, interrupted int) {
	db.tb.Helper()
	calls := b.byJob()
	if len(calls) != jobs {
		db.tb.Errorf("%d of %d jobs were requested", len(calls), jobs)
	}
	again := 0
	for job, mine := range calls {
		again += len(mine) - 1
		if len(mine) > 3 {
			db.tb.Errorf("%s was requested %d times", job, len(mine))
		}
	}
	if again > interrupted {
		db.tb.Errorf("%d requests were made again although at most %d were interrupted", again, interrupted)
	}
	for _, r := range db.jobs("") {
		if result, ok := r.Result.(map[string]any); r.Status != "success" || !ok || result["job"] != r.key() || r.Assignee != nil {
			db.tb.Errorf("in the end: %+v", r)
		}
		if fault := lostOnlyLeases(r); fault != "" {
			db.tb.Errorf("%s: %s", r.key(), fault)
		}
	}
}

func lostOnlyLeases(r row) string {
	if r.Retries != len(r.Errors) {
		return fmt.Sprintf("%d retries and %d errors", r.Retries, len(r.Errors))
	}
	for _, e := range r.Errors {
		if e.Code != "lease_expired" {
			return fmt.Sprintf("an error of the database is the job's: %+v", e)
		}
	}
	return ""
}

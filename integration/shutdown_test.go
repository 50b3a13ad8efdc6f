//go:build unix

package integration_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSigtermFinishesWhatRuns: a node that is told to end finishes the requests in flight, takes no
// new job, leaves no row behind and exits with 0.
func TestSigtermFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	const flying = 16
	db, g := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, map[string]any{"by": c.Node}
	})
	leaving := spawnNode(t, "leaving", db.cfg, b.config())
	db.mustInsert("flying", flying)
	b.reached(flying)
	leaving.signal(syscall.SIGTERM)
	leaving.logs("shutting down")
	db.mustInsert("late", 5)
	if code, body := leaving.get("/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("ready while it drains: %d %s", code, body)
	}
	g.Open()
	if code := leaving.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, r := range db.jobs("") {
		want := "success"
		if strings.HasPrefix(r.ID.ID.(string), "late") {
			want = "pending"
		}
		if r.Status != want || r.Retries != 0 || len(r.Errors) != 0 || r.Assignee != nil {
			t.Errorf("after the shutdown, want %s: %+v", want, r)
		}
	}
	if calls := len(b.journal()); calls != flying {
		t.Errorf("%d requests for %d jobs", calls, flying)
	}
	if nodes := query[[]string](db, "SELECT VALUE node FROM _00_node", nil); len(nodes) != 0 {
		t.Errorf("nodes left behind: %v", nodes)
	}
}

// TestSigtermGivesBackWhatTakesTooLong: requests that outlast the grace are aborted, their jobs go
// back to pending without losing an attempt, and another node runs them.
func TestSigtermGivesBackWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	const flying = 16
	db, never := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		if c.Node == "leaving" && never.wait(c) {
			return http.StatusInternalServerError, "the node did not hang up"
		}
		return http.StatusOK, map[string]any{"by": c.Node}
	})
	leaving := spawnNode(t, "leaving", db.cfg, b.config(), func(s *nodeSettings) { s.Grace = time.Second })
	db.mustInsert("flying", flying)
	b.reached(flying)
	leaving.signal(syscall.SIGTERM)
	if code := leaving.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, r := range db.jobs("") {
		if r.Status != "pending" || r.Retries != 0 || len(r.Errors) != 0 || r.Assignee != nil || r.Until != nil || r.RunAt == nil {
			t.Errorf("after the shutdown: %+v", r)
		}
	}
	start(t, "next", db.cfg, b.config())
	db.settled(flying)
	for job, calls := range b.byJob() {
		if len(calls) != 2 || calls[1].Node != "next" || calls[1].Attempt != 1 {
			t.Errorf("%s was requested %+v", job, calls)
		}
	}
	for _, r := range db.jobs("") {
		if r.Retries != 0 || len(r.Errors) != 0 {
			t.Errorf("in the end: %+v", r)
		}
	}
}

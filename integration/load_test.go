package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/ssp"
)

// TestIdleNode: a node that has nothing to do sends at most three statements a second.
func TestIdleNode(t *testing.T) {
	t.Parallel()
	const watched = 10 * time.Second
	db, b := fresh(t), newBackend(t, nil)
	n := start(t, "n", db.cfg, b.config())
	before, began := n.Statements(), time.Now()
	<-time.After(watched)
	if rate := float64(n.Statements()-before) / time.Since(began).Seconds(); rate > 3 || rate == 0 {
		t.Errorf("%.2f statements/s", rate)
	}
}

// TestHangingBackendBlocksNoWriter: the backend hangs, all slots are taken, 500 jobs queue up. Each is
// written as if nothing were, and all run when the backend answers again.
func TestHangingBackendBlocksNoWriter(t *testing.T) {
	t.Parallel()
	const jobs, writers = 500, 4
	db, g := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, object{"job": c.Job}
	})
	cfg := b.config()
	cfg.Timeout = 2 * patience
	n := start(t, "n", db.cfg, cfg)
	var writing errgroup.Group
	for w := range writers {
		writing.Go(func() error {
			for i := range jobs / writers {
				if err := db.try("CREATE type::record('job', $id) SET path = '/task'", map[string]any{"id": fmt.Sprintf("%d_%d", w, i)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := writing.Wait(); err != nil {
		t.Fatalf("a writer was held up: %v", err)
	}
	b.reached(cfg.Concurrency)
	if calls, counts := len(b.journal()), db.census(); calls != cfg.Concurrency || counts["pending"] != jobs-cfg.Concurrency {
		t.Errorf("with all slots taken there are %d calls and the jobs are %v", calls, counts)
	}
	n.says(http.StatusOK, "ready")
	g.Open()
	db.settled(jobs)
	checkNothingLost(db, b, jobs, 0)
}

// TestBacklog: 20,000 jobs of the future and 20,000 finished ones keep no due job from running, and the
// statement that finds due jobs reads a range of an index and no more than it needs.
func TestBacklog(t *testing.T) {
	t.Parallel()
	const each, batch = 20000, 500
	db, b := newMortal(t).database, newBackend(t, nil) // a server of its own: this is much work for one
	start(t, "before", db.cfg, b.config()).stop()      // has prepared the table
	for range each / batch {
		db.exec(fmt.Sprintf("CREATE |job:%d| SET path = '/later', delay = 3600000 RETURN NONE", batch), nil)
		db.exec(fmt.Sprintf("CREATE |job:%d| SET path = '/done', status = 'success' RETURN NONE", batch), nil)
	}
	n := start(t, "n", db.cfg, b.config())
	for i := range 20 {
		db.create(nil)
		b.reached(i + 1)
	}
	for _, c := range b.journal() {
		if c.Path != "/task" {
			t.Errorf("a job that is not due ran: %+v", c)
		}
	}
	if queued := n.metric(`spky_queue_jobs{backend="api"}`); queued > 100 {
		t.Errorf("%v jobs of the future are in memory", queued)
	}
	plan := db.explainDue(t)
	for _, want := range []string{`IndexScan .*index: idx_job_due, access: >=?d'[^']*' <=?d'[^']*',`, `limit`} {
		if !regexp.MustCompile(want).MatchString(plan) {
			t.Errorf("the plan to find due jobs does not match %s:\n%s", want, plan)
		}
	}
	for _, bad := range []string{"TableScan", "Sort", "Filter"} {
		if strings.Contains(plan, bad) {
			t.Errorf("the plan to find due jobs has a %s:\n%s", bad, plan)
		}
	}
}

// explainDue is the database's plan for the statement that finds due jobs.
func (db *database) explainDue(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../outbox/surql/due.surql")
	if err != nil {
		tb.Fatal(err)
	}
	statement := regexp.MustCompile(`(?m)^--.*\n`).ReplaceAllString(string(text), "")
	statement = "EXPLAIN " + strings.ReplaceAll(statement, "{{table}}", "job")
	now := time.Now()
	return query[string](db, statement, map[string]any{"from": now.Add(-time.Minute), "to": now, "limit": 1000})
}

// TestTwoBackends: while one backend hangs, with a queue behind it, the other's jobs run.
func TestTwoBackends(t *testing.T) {
	t.Parallel()
	db, g := fresh(t), newGate(t)
	db.define("mail")
	hanging := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, object{"job": c.Job}
	})
	working := newBackend(t, nil)
	other := working.config()
	other.Name, other.Table = "mail", "mail"
	slow := hanging.config()
	slow.Timeout = 2 * patience
	start(t, "n", db.cfg, slow, func(c *ssp.Config) { c.Backends = append(c.Backends, other) })
	db.mustInsert("stuck", 100)
	hanging.reached(slow.Concurrency)
	db.exec("FOR $i IN 0..200 { CREATE mail SET path = '/mail' }", nil)
	working.reached(200)
	if counts := db.census(); counts["success"] != 0 {
		t.Errorf("jobs of the hanging backend: %v", counts)
	}
	g.Open()
	db.settled(100)
}

package ssp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb/devdbtest"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestReportJ16AStopWaitsForWhatRuns stops a node while requests are in flight and more jobs wait.
func TestReportJ16AStopWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 3; b.Timeout = time.Hour }))
	for i := range 8 {
		r.job(i, "/x", nil)
	}
	r.eventually("all slots are taken", func() bool { return g.inside.Load() == 3 })
	n.cancel()
	r.eventually("it drains", func() bool { return n.draining.Load() })
	r.eventually("its row says so", func() bool {
		draining, err := surreal.First[[]bool](r.ctx, r.db, "SELECT VALUE draining FROM _00_node WHERE node = $node", map[string]any{"node": n.ID()})
		return err == nil && len(draining) == 1 && draining[0]
	})
	g.release()
	n.stop()
	if done, pending := r.count("job", "success"), r.count("job", "pending"); done != 3 || pending != 5 {
		t.Errorf("%d done and %d pending, want 3 and 5", done, pending)
	}
	if got := len(s.requests()); got != 3 {
		t.Errorf("%d requests, want the 3 that ran", got)
	}
	left, err := surreal.First[[]string](r.ctx, r.db, "SELECT VALUE node FROM _00_node", nil)
	if err != nil || len(left) > 0 {
		t.Errorf("the stopped node's row is still there: %v, %v", left, err)
	}
}

// TestReportJ16AStopGivesBackWhatTakesTooLong has requests that outlast the grace.
func TestReportJ16AStopGivesBackWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	backends := s.backends(func(b *config.Backend) { b.Timeout = time.Hour })
	n := r.start(backends, func(c *Config) { c.ShutdownGrace = 50 * time.Millisecond })
	ids := []surreal.RecordID{r.job(1, "/x", map[string]any{"max_retries": 1}), r.job(2, "/x", map[string]any{"max_retries": 1})}
	r.eventually("both run", func() bool { return g.inside.Load() == 2 })
	n.stop()
	for _, id := range ids {
		if row, _ := r.row(id); row.Status != "pending" || row.Retries != 0 || len(row.Errors) != 0 || row.Assignee != "" || row.RunAt == nil {
			t.Errorf("job is %+v, want it given back uncounted", row)
		}
	}
	g.release()
	r.start(backends)
	for _, id := range ids {
		r.settled(id, "success")
	}
}

// TestStoppingBeforeTheDatabaseIsThere stops a node that never got anywhere.
func TestStoppingBeforeTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.cfg.Endpoint = "ws://" + freeAddress(t)
	s := serve(t, nil)
	n := r.launch(s.backends())
	r.eventually("it has tried", func() bool { return n.aux.State().Err != nil })
	n.stop()
}

// TestStartAndStopLeaveNothingBehind starts and stops nodes in the middle of work, again and again.
func TestStartAndStopLeaveNothingBehind(t *testing.T) {
	r := newJobs(t) // not parallel: it counts goroutines
	s := serve(t, nil)
	const rounds, jobs = 20, 5
	before := goleak.IgnoreCurrent()
	for round := range rounds {
		n := r.launch(s.backends())
		if round%3 != 0 {
			n.awaitReady(r.ctx)
		}
		for i := range jobs {
			r.job(fmt.Sprintf("%d-%d", round, i), "/x", nil)
		}
		n.stop()
	}
	if err := goleak.Find(append(devdbtest.Leftovers(), before, ignoreServed())...); err != nil {
		t.Errorf("stopped nodes left goroutines behind: %v", err)
	}
	n := r.start(s.backends())
	r.eventually("all jobs are done", func() bool { return r.count("job", "success") == rounds*jobs })
	if got := len(s.requests()); got != rounds*jobs {
		t.Errorf("%d requests for %d jobs", got, rounds*jobs)
	}
	n.stop()
}

// ignoreServed leaves the test's own HTTP server out.
func ignoreServed() goleak.Option { return goleak.IgnoreAnyFunction("net/http.(*conn).serve") }

func TestRunTellsWhatItCanNotWorkWith(t *testing.T) {
	t.Parallel()
	occupied := serve(t, nil)
	cases := map[string]struct {
		backend func(b *config.Backend)
		node    func(c *Config)
	}{
		"a table that is not there": {func(b *config.Backend) { b.Table = "nothing" }, func(*Config) {}},
		"a table that is no outbox": {func(b *config.Backend) { b.Table = "page" }, func(*Config) {}},
		"a table of the platform":   {func(b *config.Backend) { b.Table = "_00_node" }, func(*Config) {}},
		"an address in use":         {func(*config.Backend) {}, func(c *Config) { c.Listen = occupied.Listener.Addr().String() }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			r.exec("DEFINE TABLE page SCHEMAFULL; DEFINE FIELD title ON page TYPE string", nil)
			cfg := Config{DB: r.cfg, Backends: []config.Backend{occupied.backend(c.backend)}}
			c.node(&cfg)
			n, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(r.ctx, patience)
			defer cancel()
			if err := n.Run(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("Run answered %v", err)
			}
		})
	}
}

func TestAddressesThatOthersReachNeedASecret(t *testing.T) {
	t.Parallel()
	for listen, secret := range map[string]bool{"0.0.0.0:0": true, ":0": true, "192.0.2.1:80": true, "[::]:0": true, "127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false, "": false} {
		cfg := Config{DB: surreal.Config{Endpoint: "ws://127.0.0.1:1", Username: "u"}, Listen: listen}
		if _, err := New(cfg); (err != nil) != secret {
			t.Errorf("listen on %q without a secret: %v", listen, err)
		}
		cfg.AuthSecret = "s"
		if _, err := New(cfg); err != nil {
			t.Errorf("listen on %q with a secret: %v", listen, err)
		}
	}
}

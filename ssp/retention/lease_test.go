package retention

import (
	"context"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

const writeOld = "FOR $n IN 0..$many { CREATE job SET path = '/x', status = 'success', created_at = time::now() - 2d, updated_at = time::now() - 1d }"

// TestOneNodePrunesAtATime has a second node ask while the first holds the lease, after it left, and after
// it fell silent.
func TestOneNodePrunesAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.configure(config.Retention{Success: time.Hour}, "job")
	write := func() { r.exec(writeOld, map[string]any{"many": 5}) }
	a, b, short := r.pruner("a"), r.pruner("b"), func(c *Config) { c.Lease = time.Millisecond }
	for _, step := range []struct {
		who  *Pruner
		want int
		then func()
	}{
		{a, 5, nil},
		{b, 0, nil},
		{a, 5, func() { a.leave(r.ctx) }},
		{b, 5, func() { a.leave(r.ctx) }}, // which is not a's any more
		{a, 0, nil},
	} {
		write()
		if n := r.pass(step.who); n < step.want || step.want == 0 && n > 0 {
			t.Errorf("%s pruned %d rows, want %d", step.who.cfg.Node, n, step.want)
		}
		if step.then != nil {
			step.then()
		}
	}
	r.exec("UPDATE _00_lease:retention SET until = time::now() - 1s", nil) // b is silent
	c := r.pruner("c", short)
	if n, err := c.Pass(r.ctx); err != nil || n == 0 {
		t.Errorf("after b's lease ran out c pruned %d rows, %v", n, err)
	}
}

// TestRunPrunesUntilItsEnd has a pruner run, and gives back its lease.
func TestRunPrunesUntilItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.configure(config.Retention{Success: time.Hour}, "job")
	r.exec(writeOld, map[string]any{"many": 300})
	told := make(chan int, 100)
	p := r.pruner("a", func(c *Config) {
		c.Interval = 20 * time.Millisecond
		c.Pruned = func(_ string, n int) { told <- n }
	})
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	for all := 0; all < 300; {
		select {
		case n := <-told:
			all += n
		case <-r.ctx.Done():
			t.Fatal("nothing was pruned")
		}
	}
	stop()
	<-ended
	r.want("leases", "SELECT * FROM _00_lease", "[]")
}

// TestTheLeaseIsKeptThroughAPage has a page of more rows than one transaction deletes, and a lease that has always passed by the next.
func TestTheLeaseIsKeptThroughAPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.configure(config.Retention{Success: time.Hour}, "job")
	r.exec(writeOld, map[string]any{"many": 5 * partRows})
	r.exec(`DEFINE TABLE seen SCHEMALESS;
		DEFINE EVENT seen ON TABLE _00_lease WHEN $event != 'DELETE' THEN { CREATE seen SET at = time::now(), what = 'lease' };
		DEFINE EVENT seen ON TABLE job WHEN $event = 'DELETE' THEN { CREATE seen SET at = time::now(), what = 'row' };`, nil)
	if n := r.pass(r.pruner("a", func(c *Config) { c.Lease = time.Millisecond })); n != 5*partRows {
		t.Errorf("%d rows pruned, want %d", n, 5*partRows)
	}
	rows := 0
	for _, what := range strings.Fields(strings.Trim(r.json("RETURN array::join((SELECT at, what FROM seen ORDER BY at).what, ' ')", nil), `"`)) {
		if rows++; what == "lease" {
			rows = 0
		}
		if rows > partRows {
			t.Fatal("two transactions deleted rows, and the lease was not asked for between them")
		}
	}
}

// TestEveryTargetHasItsTurn has passes of which each loses the lease over the jobs, which never end: instances are pruned all the same.
func TestEveryTargetHasItsTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.configure(config.Retention{Success: time.Hour, RunSuccess: time.Hour}, "job")
	r.exec(`DEFINE EVENT endless ON TABLE job WHEN $event = 'DELETE' THEN {
			CREATE job SET path = '/x', status = 'success', created_at = time::now() - 2d, updated_at = time::now() - 1d;
			UPSERT _00_lease:retention SET holder = 'b', until = time::now() + 1h;
		}`, nil)
	r.exec(writeOld, map[string]any{"many": 1})
	r.exec(writeInstances, map[string]any{"key": "a-", "binding": "ALPHA", "finished": time.Now().Add(-day)})
	p := r.pruner("a")
	for range 300 { // where the jobs are in line before them, as they were always, it is never
		r.exec("DELETE _00_lease RETURN NONE", nil)
		_, err := p.Pass(r.ctx)
		r.check(err)
		if r.json("RETURN record::exists(_00_wf_instance:`a-complete`)", nil) == "false" {
			return
		}
	}
	t.Error("no pass came to the instances")
}

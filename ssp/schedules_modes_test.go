package ssp

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// A weir is a backend whose answers a test holds back, and chooses.
type weir struct {
	open     chan struct{}
	status   atomic.Int32
	backends []config.Backend
}

func newWeir(tb testing.TB) *weir {
	tb.Helper()
	g := &weir{open: make(chan struct{})}
	g.status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
		w.WriteHeader(int(g.status.Load()))
	}))
	tb.Cleanup(server.Close)
	g.backends = []config.Backend{backend(server.URL)}
	return g
}

// A clockwork is a schedule whose ticks a test makes; a node runs the jobs.
type clockwork struct {
	*rig
	store schedule.Store
	spec  schedule.Spec
}

func (r *rig) clockwork(backends []config.Backend, change ...func(*schedule.Spec)) *clockwork {
	r.tb.Helper()
	r.start(backends)
	c := &clockwork{rig: r, store: schedule.Store{DB: r.db.Retrying()}, spec: every("s", change...)}
	c.spec.Every = time.Hour
	if err := c.store.Deploy(r.ctx, []schedule.Spec{c.spec}); err != nil {
		r.tb.Fatal(err)
	}
	return c
}

// due makes a tick be due.
func (c *clockwork) due() (schedule.Row, time.Time) {
	c.tb.Helper()
	c.exec("UPDATE _00_schedule:s SET next_fire_at = time::now() RETURN NONE", nil)
	rows, now, err := c.store.Look(c.ctx, []string{"s"})
	if err != nil || len(rows) != 1 {
		c.tb.Fatal(rows, err)
	}
	return rows[0], now
}

// tick makes a tick and starts what it is for. The answer is its newest run.
func (c *clockwork) tick() scheduleRun {
	c.tb.Helper()
	row, now := c.due()
	if fired, err := c.store.Fire(c.ctx, row, now); !fired || err != nil {
		c.tb.Fatalf("fired %v, %v", fired, err)
	}
	runs := c.runs("s")
	if len(runs) == 0 {
		c.tb.Fatal("a tick left no run")
	}
	return runs[0]
}

// processing waits until a run's job has a request in flight.
func (c *clockwork) processing(run scheduleRun) {
	c.tb.Helper()
	if run.Target == nil {
		c.tb.Fatalf("nothing was started: %+v", run)
	}
	c.await(*run.Target, "running", func(j jobRow) bool { return j.Status == "processing" })
}

// over waits until a run has come to this.
func (c *clockwork) over(run scheduleRun, status string) scheduleRun {
	c.tb.Helper()
	var last scheduleRun
	c.eventually(fmt.Sprintf("the run at %v is %s", run.Tick, status), func() bool {
		if _, err := c.store.Close(c.ctx, []string{"s"}); err != nil {
			c.tb.Fatal(err)
		}
		for _, last = range c.runs("s") {
			if last.Tick.Equal(run.Tick) && last.Key == run.Key {
				return last.Status == status
			}
		}
		return false
	})
	return last
}

// TestReport42AnOverlappingTickIsSkipped has a run outlast two ticks.
func TestReport42AnOverlappingTickIsSkipped(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	c := newJobs(t).clockwork(g.backends)
	first := c.tick()
	c.processing(first)
	for range 2 {
		if run := c.tick(); run.Status != "skipped" || run.Target != nil || !strings.Contains(run.Reason, "not over") {
			t.Errorf("beside a run that goes on: %+v", run)
		}
	}
	close(g.open)
	c.settled(*first.Target, "success")
	if run := c.tick(); run.Status != "running" {
		t.Errorf("after the run: %+v", run)
	}
	if got := c.over(first, "success"); got.FinishedAt == nil {
		t.Errorf("%+v", got)
	}
}

func TestRunsMayGoOnSideBySide(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) { s.Concurrency = "allow" })
	first, second := c.tick(), c.tick()
	c.processing(first)
	c.processing(second)
	close(g.open)
	c.over(first, "success")
	c.over(second, "success")
}

func TestARunReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) { s.Concurrency = "replace" })
	first := c.tick()
	c.processing(first)
	second := c.tick()
	if second.Status != "running" {
		t.Errorf("%+v", second)
	}
	c.over(first, "replaced")
	c.settled(*first.Target, "cancelled")
	close(g.open)
	c.over(second, "success")
}

func TestARunEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	defer close(g.open)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) { s.Deadline = time.Second })
	run := c.tick()
	c.processing(run)
	if got := c.over(run, "killed"); !strings.Contains(got.Reason, "deadline") {
		t.Errorf("%+v", got)
	}
	c.settled(*run.Target, "cancelled")
}

// TestAKeyThatKeepsFailingIsQuarantined has it fail, rest, be released, and work.
func TestAKeyThatKeepsFailingIsQuarantined(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	close(g.open)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) { s.QuarantineAfter, s.Retry.Max = 2, 1 })
	fail := func(status int, come string) {
		t.Helper()
		g.status.Store(int32(status))
		run := c.tick()
		if run.Target == nil {
			t.Fatalf("not started: %+v", run)
		}
		if ended := c.over(run, come); (come == "failed") != strings.Contains(ended.Reason, "Internal Server Error") {
			t.Errorf("a run that %s says why: %q", come, ended.Reason)
		}
	}
	fail(500, "failed")
	fail(200, "success") // begins to count anew
	fail(500, "failed")
	fail(500, "failed")
	for range 2 {
		if run := c.tick(); run.Status != "skipped" || run.Reason != "in quarantine" {
			t.Errorf("after two failures in a row: %+v", run)
		}
	}
	c.exec("RETURN fn::spky::schedule::release('s', NONE)", nil)
	fail(500, "failed")
	fail(200, "success")
}

// TestATickForEachRow starts a thousand runs, each of a key of its own, and skips those that are not over.
func TestATickForEachRow(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec("FOR $i IN 1..=1000 { CREATE type::record('customer', $i) SET name = 'c' + <string>$i }", nil)
	g := newWeir(t)
	c := r.clockwork(g.backends, func(s *schedule.Spec) {
		s.ForEach, s.Payload = &config.ForEach{Query: "SELECT id, name FROM customer", Key: "id"}, map[string]any{"kind": "mail"}
	})
	c.tick()
	runs := c.runs("s")
	if len(runs) != 1000 {
		t.Fatalf("%d runs", len(runs))
	}
	type job struct {
		Payload struct {
			Kind string `json:"kind"`
			Row  struct {
				ID   surreal.RecordID `json:"id"`
				Name string           `json:"name"`
			} `json:"row"`
		} `json:"payload"`
	}
	seen := map[string]bool{}
	for _, run := range runs[:20] {
		row, err := surreal.First[job](r.ctx, r.db, "SELECT payload FROM ONLY $id", map[string]any{"id": *run.Target})
		if err != nil || row.Payload.Kind != "mail" || surreal.FormatID(row.Payload.Row.ID) != run.Key || row.Payload.Row.Name == "" || seen[run.Key] {
			t.Fatalf("the job of %+v has %+v, %v", run, row, err)
		}
		seen[run.Key] = true
	}
	r.exec("CREATE customer:late SET name = 'late'", nil)
	c.tick()
	started, skipped := 0, 0
	for _, run := range c.runs("s")[:1001] {
		switch run.Status {
		case "running":
			started++
		case "skipped":
			skipped++
		}
	}
	if started < 1 || started+skipped != 1001 || skipped < 500 {
		t.Errorf("the second tick started %d and skipped %d", started, skipped)
	}
	close(g.open)
}

// TestATickWhoseQueryFailsIsNotLost has a query that the database refuses, until it does not.
func TestATickWhoseQueryFailsIsNotLost(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	spec := every("s", func(s *schedule.Spec) {
		s.Every, s.ForEach = time.Hour, &config.ForEach{Query: "SELECT * FROM customer", Key: "id"}
	})
	r.start(answering(t, http.StatusOK), with(spec))
	row := r.schedule("s")
	r.rewind("s", 2*time.Hour)
	r.eventually("the trouble is told", func() bool { return strings.Contains(r.schedule("s").Trouble, "customer") })
	r.exec("CREATE customer:one", nil)
	r.eventually("the tick is made up for", func() bool { return len(r.runs("s")) == 1 })
	if run := r.runs("s")[0]; !run.Tick.Equal(row.NextAt.Add(-2*time.Hour)) || run.Key != "customer:one" || r.schedule("s").Trouble != "" {
		t.Errorf("%+v, %+v", run, r.schedule("s"))
	}
}

// TestASlowQueryHoldsUpNoOtherSchedule has one whose query takes minutes beside one that ticks.
func TestASlowQueryHoldsUpNoOtherSchedule(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec("CREATE customer:one", nil)
	slow := every("slow", func(s *schedule.Spec) {
		s.ForEach = &config.ForEach{Query: "SELECT id, sleep(5m) AS slept FROM customer", Key: "id"}
	})
	r.start(answering(t, http.StatusOK), with(slow, every("quick")))
	r.eventually("the other ticks", func() bool { return len(r.runs("quick")) >= 3 })
	if runs := r.runs("slow"); len(runs) > 0 {
		t.Errorf("the query was answered: %+v", runs)
	}
	r.eventually("the trouble is told", func() bool { return strings.Contains(r.schedule("slow").Trouble, "no answer within") })
}

// TestWhatForEachCanNotBeIsSaid has queries that give no rows, or too much; and one that is written oddly.
func TestWhatForEachCanNotBeIsSaid(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec("CREATE customer:one", nil)
	c := r.clockwork(answering(t, http.StatusOK))
	for query, want := range map[string]string{
		"SELECT VALUE id FROM customer":   "fired false, forEach.query: the answer is a list of values and not of rows; select columns, without VALUE",
		"SELECT * FROM ONLY customer:one": "without ONLY",
		"SELECT * FROM array::flatten(array::range(0..320).map(|$n| array::range(0..320))).map(|$n| { id: $n })": "102400 rows, allowed: 100000",
		"SELECT id, string::repeat('x', 1000000) AS long FROM array::range(0..40).map(|$n| { id: $n })":          "bytes, allowed: 33554432",
		"SELECT * FROM (CREATE customer)": "found \"CREATE\" in it, which writes",
		"SELECT * FORM customer":          "without FROM",
		"SELECT id, nothing FROM customer -- a comment\n WHERE id = customer:two ;  ": "fired true",
	} {
		c.spec.ForEach = &config.ForEach{Query: query, Key: "id"}
		if err := c.store.Deploy(r.ctx, []schedule.Spec{c.spec}); err != nil {
			t.Fatal(err)
		}
		row, now := c.due()
		fired, err := c.store.Fire(r.ctx, row, now)
		if says := fmt.Sprintf("fired %t, %v", fired, err); !strings.Contains(says, want) {
			t.Errorf("%s: %s", query, says)
		}
	}
}

// TestARowWithoutAKeyStopsNoOther has some rows without the column of forEach, which anybody may write, and then none
// with it, which is the configuration's fault.
func TestARowWithoutAKeyStopsNoOther(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec("CREATE customer:a SET name = 'a'; CREATE customer:b; CREATE customer:c SET name = { first: 'c' }; CREATE customer:d SET name = NULL", nil)
	g := newWeir(t)
	c := r.clockwork(g.backends, func(s *schedule.Spec) {
		s.Every, s.ForEach = time.Hour, &config.ForEach{Query: "SELECT id, name FROM customer", Key: "name"}
	})
	c.tick()
	keys := map[string]string{}
	for _, run := range c.runs("s") {
		keys[run.Key] = run.Status
	}
	if want := map[string]string{"a": "running", "{ first: 'c' }": "running"}; !maps.Equal(keys, want) {
		t.Errorf("runs %v, want %v", keys, want)
	}
	if says := c.schedule("s").Trouble; !strings.Contains(says, `2 of 4 rows have no column "name"`) || !strings.Contains(says, "customer:b") {
		t.Errorf("the schedule says %q", says)
	}
	close(g.open)
	r.exec("DELETE customer:a, customer:c", nil)
	row, now := c.due()
	if fired, err := c.store.Fire(c.ctx, row, now); fired || err == nil || !strings.Contains(err.Error(), "2 of 2 rows") {
		t.Errorf("without any key: fired %t, %v", fired, err)
	}
}

func TestOfRunsIsKeptWhatTheHistorySays(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	close(g.open)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) {
		s.Retry.Max, s.KeepSuccess, s.KeepFailed, s.Concurrency = 1, time.Hour, 3*time.Hour, "allow"
	})
	var ticks []time.Time
	for i, status := range []int{200, 500, 200, 500} {
		g.status.Store(int32(status))
		run := c.tick()
		c.ended(*run.Target)
		c.over(run, map[int]string{200: "success", 500: "failed"}[status])
		if i < 2 {
			c.exec("UPDATE _00_schedule_run SET finished_at = time::now() - 2h WHERE tick = $tick", map[string]any{"tick": run.Tick})
		}
		ticks = append(ticks, run.Tick)
	}
	if err := c.store.Prune(c.ctx, []string{"s"}); err != nil {
		t.Fatal(err)
	}
	runs := c.runs("s")
	if len(runs) != 3 || !runs[2].Tick.Equal(ticks[1]) {
		t.Errorf("kept are %+v; the first, a success of two hours ago, was to go", runs)
	}
	c.spec.FailuresOnly = true
	if err := c.store.Deploy(c.ctx, []schedule.Spec{c.spec}); err != nil {
		t.Fatal(err)
	}
	g.status.Store(http.StatusOK)
	run := c.tick()
	c.ended(*run.Target)
	c.eventually("a success is forgotten at once", func() bool {
		_, err := c.store.Close(c.ctx, []string{"s"})
		return err == nil && len(c.runs("s")) == 3
	})
}

// TestANodeThatLagsStartsNothing has one act on what it saw before: another was faster, the tick is not due,
// or so much time has passed that the tick after it is over too.
func TestANodeThatLagsStartsNothing(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	defer close(g.open)
	c := newJobs(t).clockwork(g.backends, func(s *schedule.Spec) { s.Concurrency = "allow" })
	fires := func(what string, row schedule.Row, now time.Time, want bool) {
		t.Helper()
		before := c.schedule("s")
		fired, err := c.store.Fire(c.ctx, row, now)
		if fired != want || err != nil {
			t.Errorf("%s: fired %v, %v", what, fired, err)
		}
		if after := c.schedule("s"); !want && (after.Fires != before.Fires || !after.NextAt.Equal(*before.NextAt)) {
			t.Errorf("%s: it moved from %+v to %+v", what, before, after)
		}
	}
	early := c.schedule("s")
	fires("before its time", early, early.NextAt.Add(time.Second), false)
	c.exec("UPDATE _00_schedule:s SET next_fire_at = time::now() - 3h", nil)
	late := c.schedule("s")
	fires("frozen for three hours", late, late.NextAt.Add(time.Second), false)
	row, now := c.due()
	fires("at its time", row, now, true)
	fires("a second time", row, now, false)
	next, now := c.due()
	fires("a second time, when the tick after it is due", row, now, false)
	row = next
	c.exec("UPDATE _00_schedule:s SET paused_at = time::now()", nil)
	fires("paused meanwhile", row, now, false)
	c.exec("UPDATE _00_schedule:s SET paused_at = NONE, enabled = false", nil)
	fires("disabled meanwhile", row, now, false)
	c.exec("UPDATE _00_schedule:s SET enabled = true, next_fire_at = $tick", map[string]any{"tick": c.runs("s")[0].Tick})
	fires("the same tick once more, after the database's clock was set back", c.schedule("s"), now, true)
	if runs := c.runs("s"); len(runs) != 1 || c.count("job", "pending")+c.count("job", "processing") != 1 {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
}

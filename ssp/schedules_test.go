package ssp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// A scheduleRun is what tests look at of a run.
type scheduleRun struct {
	Schedule   string            `json:"schedule"`
	Key        string            `json:"key"`
	Tick       time.Time         `json:"tick"`
	Status     string            `json:"status"`
	Reason     string            `json:"reason"`
	Target     *surreal.RecordID `json:"target"`
	FinishedAt *time.Time        `json:"finished_at"`
}

// runs are the runs of a schedule, newest first.
func (r *rig) runs(name string) []scheduleRun {
	r.tb.Helper()
	runs, err := surreal.First[[]scheduleRun](r.ctx, r.db, "SELECT * FROM _00_schedule_run:[$name]..=[$name, ..]", map[string]any{"name": name})
	if err != nil {
		r.tb.Fatal(err)
	}
	return runs
}

// every is a schedule of short ticks for route /tick of the table job.
func every(name string, change ...func(*schedule.Spec)) schedule.Spec {
	s := schedule.Spec{Table: "job", Schedule: config.Schedule{
		Name: name, Every: time.Second, Timezone: "UTC", Backend: "api", Route: "/tick", Concurrency: "skip",
		Retry: config.Retry{Max: 3, Strategy: "linear"}, Enabled: true,
	}}
	for _, apply := range change {
		apply(&s)
	}
	return s
}

func with(specs ...schedule.Spec) func(*Config) {
	return func(c *Config) { c.Schedules = specs }
}

// answering is a backend that answers every request alike.
func answering(tb testing.TB, status int) []config.Backend {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	tb.Cleanup(server.Close)
	return []config.Backend{backend(server.URL)}
}

// rewind makes a schedule's next tick lie in the past.
func (r *rig) rewind(name string, by time.Duration) {
	r.tb.Helper()
	r.exec("UPDATE type::record('_00_schedule', $name) SET next_fire_at = next_fire_at - $by RETURN NONE", map[string]any{"name": name, "by": surreal.Duration(by)})
}

// schedules waits until a schedule is written.
func (r *rig) schedule(name string) schedule.Row {
	r.tb.Helper()
	var row schedule.Row
	r.eventually("schedule "+name+" is there", func() bool {
		rows, _, err := (schedule.Store{DB: r.db}).Look(r.ctx, []string{name})
		if err != nil || len(rows) == 0 {
			return false
		}
		row = rows[0]
		return true
	})
	return row
}

// TestEachTickHappensOnceOnThreeNodes kills nodes while twenty schedules tick: no tick is missing between
// the first and the last while any node lives, and none has two jobs.
func TestEachTickHappensOnceOnThreeNodes(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	backends := answering(t, http.StatusOK)
	specs := make([]schedule.Spec, 20)
	for i := range specs {
		specs[i] = every(fmt.Sprintf("s%d", i), func(s *schedule.Spec) { s.Concurrency = "allow" })
	}
	nodes := []*victim{r.victim(backends, with(specs...)), r.victim(backends, with(specs...)), r.victim(backends, with(specs...))}
	ticked := func(n int) {
		t.Helper()
		for _, s := range specs {
			r.eventually(fmt.Sprintf("%s ticks %d times", s.Name, n), func() bool { return len(r.runs(s.Name)) >= n })
		}
	}
	for n := range 4 {
		ticked(2 * (n + 1))
		nodes[n].kill()
		nodes = append(nodes, r.victim(backends, with(specs...)))
	}
	ticked(10)
	for _, n := range nodes[4:] {
		n.stop()
	}
	jobs, coalesced := 0, 0
	for _, s := range specs {
		runs := r.runs(s.Name)
		jobs += len(runs)
		coalesced += int(runs[0].Tick.Sub(runs[len(runs)-1].Tick)/time.Second) + 1 - len(runs)
		for i, run := range runs {
			if i > 0 && !run.Tick.Before(runs[i-1].Tick) {
				t.Errorf("%s: tick %v after %v", s.Name, run.Tick, runs[i-1].Tick)
			}
			if want := s.Name + "-" + run.Tick.UTC().Format("20060102T150405"); run.Target == nil || !strings.HasPrefix(fmt.Sprint(run.Target.ID), want) {
				t.Errorf("%s: the run at %v has the target %v, want %s", s.Name, run.Tick, run.Target, want)
			}
			if i > 0 && runs[i-1].Tick.Sub(run.Tick)%time.Second != 0 {
				t.Errorf("%s left its phase: %v, %v", s.Name, run.Tick, runs[i-1].Tick)
			}
		}
	}
	// At one moment: what a node was about when it was stopped may still come.
	const counts = "RETURN [array::len(SELECT VALUE id FROM job), array::len(SELECT VALUE id FROM _00_schedule_run)]"
	if n, err := surreal.First[[]int](r.ctx, r.db, counts, nil); err != nil || n[0] != n[1] || n[0] < jobs {
		t.Errorf("jobs and runs: %d, %v; at least %d are wanted, as many of each", n, err, jobs)
	}
	t.Logf("%d ticks, %d that were late by a whole interval and made up for by the one before", jobs, coalesced)
}

// A victim is a node that a test may cut off from the database.
type victim struct {
	*running
	wire *faultproxy.Proxy
}

func (r *rig) victim(backends []config.Backend, change ...func(*Config)) *victim {
	r.tb.Helper()
	at, err := url.Parse(r.cfg.Endpoint)
	if err != nil {
		r.tb.Fatal(err)
	}
	wire, err := faultproxy.Listen(at.Host)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = wire.Close() })
	at.Host = wire.Addr()
	db := r.cfg
	db.Endpoint = at.String()
	v := &victim{wire: wire, running: r.start(backends, append(change, func(c *Config) { c.DB, c.ShutdownGrace = db, time.Millisecond })...)}
	r.tb.Cleanup(wire.Restore) // it is to stop sooner than a node without a database does
	return v
}

// kill cuts the node's wires in the middle of whatever it does; for the database it has died.
func (v *victim) kill() { v.wire.Cut() }

// TestMissedTicksAreMadeUpForByOne has a schedule miss an hour of ticks.
func TestMissedTicksAreMadeUpForByOne(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	backends := answering(t, http.StatusOK)
	cron := every("nightly", func(s *schedule.Spec) { s.Every, s.Cron = 0, "*/10 * * * *" })
	hourly := every("hourly", func(s *schedule.Spec) { s.Every = time.Hour })
	n := r.start(backends, with(cron, hourly))
	was := r.schedule("nightly")
	if was.NextAt == nil || was.NextAt.Minute()%10 != 0 || len(r.runs("nightly")) > 0 {
		t.Fatalf("at first %+v", was)
	}
	r.schedule("hourly")
	n.stop()
	r.rewind("nightly", time.Hour)
	r.rewind("hourly", 5*time.Hour+time.Minute)
	r.start(backends, with(cron, hourly))
	for _, name := range []string{"nightly", "hourly"} {
		r.eventually(name+" is made up for", func() bool { return len(r.runs(name)) == 1 && r.runs(name)[0].Status == "success" })
		if row := r.schedule(name); row.Fires != 1 || row.NextAt == nil || !row.NextAt.After(*row.LastAt) || !row.NextAt.After(time.Now()) {
			t.Errorf("%s is at %+v", name, row)
		}
	}
	if got := r.runs("nightly")[0].Tick; !got.Equal(was.NextAt.Add(-time.Hour)) {
		t.Errorf("the tick is %v, want the first that was missed, %v", got, was.NextAt.Add(-time.Hour))
	}
}

// TestReport12ClocksOfNodesDoNotCount has nodes whose clocks are wrong.
func TestReport12ClocksOfNodesDoNotCount(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start(answering(t, http.StatusOK), with(every("s"), every("far", func(s *schedule.Spec) { s.Every = 30 * time.Minute })))
	far := r.schedule("far")
	for i, skew := range []time.Duration{90 * time.Second, -90 * time.Second, time.Hour} {
		n.clock.mu.Lock()
		n.clock.at = n.clock.at.Add(skew)
		n.clock.mu.Unlock()
		have := len(r.runs("s"))
		r.eventually(fmt.Sprint("ticks go on ", i), func() bool { return len(r.runs("s")) >= have+2 })
	}
	runs := r.runs("s")
	for i := range runs[1:] {
		if gap := runs[i].Tick.Sub(runs[i+1].Tick); gap%time.Second != 0 || gap <= 0 {
			t.Errorf("%v between two ticks", gap)
		}
	}
	if row := r.schedule("far"); row.Fires != 0 || !row.NextAt.Equal(*far.NextAt) {
		t.Errorf("a schedule far off is at %+v, was %+v", row, far)
	}
}

func TestAChangedScheduleBeginsAnewAndADisabledOneRests(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	store := schedule.Store{DB: r.db.Retrying()}
	backends := answering(t, http.StatusOK)
	far := every("s", func(s *schedule.Spec) { s.Every = time.Hour })
	r.start(backends, with(far)).stop()
	first := r.schedule("s")
	deploy := func(s schedule.Spec) schedule.Row {
		t.Helper()
		if err := store.Deploy(r.ctx, []schedule.Spec{s}); err != nil {
			t.Fatal(err)
		}
		return r.schedule("s")
	}
	route := far
	route.Route = "/other"
	if row := deploy(route); row.Spec.Route != "/other" || !row.NextAt.Equal(*first.NextAt) {
		t.Errorf("another route: %+v, want the next tick of %+v", row, first)
	}
	slower := route
	slower.Every = 2 * time.Hour
	if row := deploy(slower); !row.NextAt.After(first.NextAt.Add(50 * time.Minute)) {
		t.Errorf("another interval: %+v", row)
	}
	r.rewind("s", 3*time.Hour)
	off := slower
	off.Enabled = false
	row := deploy(off)
	if fired, err := store.Fire(r.ctx, row, time.Now()); fired || err != nil {
		t.Errorf("a disabled schedule fired, %v", err)
	}
	if row := deploy(slower); !row.NextAt.After(time.Now()) {
		t.Errorf("enabled again: %+v, what fell into the time is not made up for", row)
	}
}

// TestATickStartsOneInstance looks at what the database holds: the instance of a tick and its job.
func TestATickStartsOneInstance(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	spec := every("campaigns", func(s *schedule.Spec) {
		s.Workflow, s.Route, s.Payload = "CAMPAIGN", "", map[string]any{"list": "all", "n": int64(3)}
	})
	r.start(answering(t, http.StatusNotFound), with(spec))
	r.eventually("a run is there", func() bool { return len(r.runs("campaigns")) > 0 })
	runs := r.runs("campaigns")
	run := runs[len(runs)-1] // later ticks are skipped
	type instance struct {
		Binding string             `json:"binding"`
		Params  map[string]any     `json:"params"`
		Backend string             `json:"backend"`
		Job     []surreal.RecordID `json:"jobs"`
	}
	row, err := surreal.First[instance](r.ctx, r.db, "SELECT binding, params, backend FROM ONLY $id", map[string]any{"id": *run.Target})
	if err != nil || row.Binding != "CAMPAIGN" || row.Params["list"] != "all" || row.Backend != "api" {
		t.Errorf("the instance %v is %+v, %v", run.Target, row, err)
	}
	if want := "campaigns-" + run.Tick.UTC().Format("20060102T150405"); !strings.HasPrefix(fmt.Sprint(run.Target.ID), want) || run.Target.Table != "_00_wf_instance" {
		t.Errorf("the instance is called %v, want %s", run.Target, want)
	}
}

// TestNobodysJobKeepsATickFromHappening has the id that a tick's job would get taken: by a record user, by somebody whose
// table lets him leave assigned_to out, and by who writes what the tick would.
func TestNobodysJobKeepsATickFromHappening(t *testing.T) {
	t.Parallel()
	for name, columns := range map[string]string{
		"a record user's": "path = '/mine', assigned_to = user:mallory, delay = 31000000000",
		"nobody's":        "path = '/mine', delay = 31000000000",
		"the tick's twin": "path = '/tick', payload = {}, delay = 31000000000",
	} {
		for _, failuresOnly := range []bool{false, true} {
			t.Run(fmt.Sprint(name, failuresOnly), func(t *testing.T) {
				t.Parallel()
				r := newJobs(t)
				c := r.clockwork(answering(t, http.StatusInternalServerError), func(s *schedule.Spec) { s.FailuresOnly = failuresOnly })
				row, now := c.due()
				planned := tickID("s", *row.NextAt)
				r.exec("CREATE type::record('job', $id) SET "+columns+" RETURN NONE", map[string]any{"id": planned})
				if fired, err := c.store.Fire(r.ctx, row, now); !fired || err != nil {
					t.Fatal(fired, err)
				}
				runs := r.runs("s")
				if len(runs) != 1 || runs[0].Target == nil || !strings.HasPrefix(runs[0].Target.ID.(string), planned+"-") {
					t.Fatalf("%+v", runs)
				}
				c.over(runs[0], "failed")
			})
		}
	}
}

// TestNoInstanceKeepsATickFromHappening is the same for a schedule that starts an instance of a workflow. Its id has as many
// characters as it may.
func TestNoInstanceKeepsATickFromHappening(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	taken := strings.Repeat("x", 100)
	r.exec(`CREATE type::record('_00_wf_instance', $id) SET binding = 'OTHER', status = 'paused' RETURN NONE`, map[string]any{"id": taken})
	c := r.clockwork(answering(t, http.StatusOK), func(s *schedule.Spec) { s.Workflow, s.Route = "CAMPAIGN", "" })
	row, _ := c.due()
	fire := map[string]any{"name": "s", "tick": *row.NextAt, "manual": false, "items": []map[string]any{{"key": "", "id": taken, "payload": map[string]any{}}}}
	r.exec("RETURN fn::spky::schedule::fire($fire)", map[string]any{"fire": fire})
	runs := r.runs("s")
	if len(runs) != 1 || runs[0].Target == nil {
		t.Fatalf("%+v", runs)
	}
	id := runs[0].Target.ID.(string)
	binding, err := surreal.First[string](r.ctx, r.db, "SELECT VALUE binding FROM ONLY $id", map[string]any{"id": *runs[0].Target})
	if err != nil || binding != "CAMPAIGN" || len(id) != 100 || !strings.HasPrefix(id, taken[:73]+"-") {
		t.Errorf("%s is of %q, %v", id, binding, err)
	}
}

// TestATickHappensOnceThoughItsRunIsNotRemembered starts a tick's items again after the run of one has succeeded and been
// forgotten: as a node does that starts a part of a tick anew, and as a call does whose answer was lost.
func TestATickHappensOnceThoughItsRunIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	c := r.clockwork(answering(t, http.StatusOK), func(s *schedule.Spec) { s.FailuresOnly = true })
	row, _ := c.due()
	part := map[string]any{"name": "s", "tick": *row.NextAt, "manual": false, "items": []map[string]any{{"key": "k", "id": tickID("s", *row.NextAt) + "-k", "payload": map[string]any{}}}}
	manual, err := c.store.Manual(r.ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	for jobs, start := range []func(){
		func() { r.exec("RETURN fn::spky::schedule::fire_part($fire)", map[string]any{"fire": part}) },
		func() { r.exec("RETURN fn::spky::schedule::trigger($fire)", map[string]any{"fire": manual}) },
	} {
		for range 2 {
			start()
			c.eventually("the run is forgotten", func() bool {
				_, err := c.store.Close(c.ctx, []string{"s"})
				return err == nil && len(c.runs("s")) == 0
			})
			if n := r.counted("job"); n != jobs+1 {
				t.Fatalf("%d jobs, want %d", n, jobs+1)
			}
		}
	}
	r.exec("FOR $n IN 0..1200 { CREATE type::record('_00_schedule_past', ['s', -time::micros(time::now() - 2h), <string>$n]) RETURN NONE }", nil)
	forget := func(what string, want int) {
		t.Helper()
		if err := c.store.Prune(c.ctx, []string{"s"}); err != nil {
			t.Fatal(err)
		}
		if n := r.counted("_00_schedule_past"); n != want {
			t.Errorf("%s: %d ticks are known to have happened, want %d", what, n, want)
		}
	}
	r.exec("UPDATE _00_schedule:s SET next_fire_at = time::now() - 3h RETURN NONE", nil)
	forget("a tick of before them is to be next", 1202)
	r.exec("UPDATE _00_schedule:s SET next_fire_at = NONE RETURN NONE", nil)
	forget("after an hour", 2)
}

// tickID is what the job of a tick is called where that is free.
func tickID(name string, tick time.Time) string {
	id := name + "-" + tick.UTC().Format("20060102T150405")
	if micros := tick.Nanosecond() / 1000; micros != 0 {
		id += fmt.Sprintf("-%06d", micros)
	}
	return id + "Z"
}

// counted is how many rows a table has.
func (r *rig) counted(table string) int {
	r.tb.Helper()
	n, err := surreal.First[int](r.ctx, r.db, "RETURN array::len((SELECT VALUE id FROM type::table($table)))", map[string]any{"table": table})
	if err != nil {
		r.tb.Fatal(err)
	}
	return n
}

// TestNothingScheduledStartsNothing has a node without schedules, and one whose schedule is another's.
func TestNothingScheduledStartsNothing(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start(answering(t, http.StatusOK))
	if wait, err := n.newScheduler().round(r.ctx); wait != attendEvery || err != nil {
		t.Errorf("a node without schedules looks again in %v, %v", wait, err)
	}
	foreign := every("s", func(s *schedule.Spec) { s.Table = "elsewhere" })
	other := r.start(answering(t, http.StatusOK), with(foreign))
	r.eventually("the node tells of a schedule that it leaves to others", func() bool {
		return slices.ContainsFunc(strings.Split(other.log.String(), "\n"), func(line string) bool { return strings.Contains(line, "left to others") })
	})
}

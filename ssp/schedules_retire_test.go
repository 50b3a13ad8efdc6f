package ssp

import (
	"net/http"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// unseen makes schedules look as if no node had said for an hour that it has them.
func (r *rig) unseen() {
	r.tb.Helper()
	r.exec("UPDATE _00_schedule SET seen_at = time::now() - 1h RETURN NONE", nil)
}

// TestAScheduleThatIsTakenOutIsRetired has configurations come and go.
func TestAScheduleThatIsTakenOutIsRetired(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	hourly := func(s *schedule.Spec) { s.Every = time.Hour }
	kept, gone := every("kept", hourly), every("gone", hourly)
	foreign := every("foreign", hourly, func(s *schedule.Spec) { s.Table = "elsewhere" })
	dag := flow("dag", []config.DAGStep{step("a"), step("mail_b")})
	store := schedule.Store{DB: r.db.Retrying()}
	r.start(c.backends).stop() // for the schema
	if err := store.Deploy(r.ctx, []schedule.Spec{kept, gone, foreign, dag}); err != nil {
		t.Fatal(err)
	}
	attend := func(want ...string) {
		t.Helper()
		retired, err := store.Attend(r.ctx, []string{"kept"}, []string{"job", "mail"})
		if err != nil || len(retired) != len(want) {
			t.Errorf("retired are %v, %v; want %v", retired, err, want)
		}
	}
	attend() // others have said lately that they have them
	r.unseen()
	if retired, err := store.Attend(r.ctx, []string{"kept"}, []string{"job"}); err != nil || len(retired) != 1 {
		t.Errorf("a node without the DAG's other table retires %v, %v", retired, err)
	}
	attend("gone", "dag")
	for name, want := range map[string]bool{"kept": false, "gone": true, "foreign": false, "dag": true} {
		if row := r.schedule(name); (row.RetiredAt != nil) != want || want && row.NextAt != nil {
			t.Errorf("%s: %+v", name, row)
		}
	}
	for _, call := range []string{"pause('gone')", "resume('gone', NONE)", "trigger({ name: 'gone', tick: time::now(), manual: true, items: [] })"} {
		answer, err := surreal.First[struct {
			OK     bool   `json:"ok"`
			Status string `json:"status"`
		}](r.ctx, r.db.Retrying(), "RETURN fn::spky::schedule::"+call, nil)
		if err != nil || answer.OK || answer.Status != "retired" {
			t.Errorf("%s: %+v, %v", call, answer, err)
		}
	}
	r.start(c.backends, with(gone)) // brings it back
	r.eventually("the schedule is back", func() bool { row := r.schedule("gone"); return row.RetiredAt == nil && row.NextAt != nil })
}

// TestNodesTellWhichSchedulesTheyHave has a schedule's node be followed by one without it, by one that does not run its
// backend, and by one that has it again.
func TestNodesTellWhichSchedulesTheyHave(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	store := schedule.Store{DB: r.db.Retrying()}
	left := func(want bool) {
		t.Helper()
		if got, err := store.Left(r.ctx, "s"); err != nil || got != want {
			t.Errorf("left is %t, %v; want %t", got, err, want)
		}
	}
	spec := every("s", func(s *schedule.Spec) { s.Every = time.Hour })
	first := r.start(c.backends, with(spec))
	r.schedule("s")
	left(false)
	first.stop()
	left(false) // nobody is there who could say so
	mail := r.start(c.backends[1:], with(spec))
	left(false) // and nobody who could run it
	mail.stop()
	other := r.start(c.backends)
	left(true)
	again := r.start(c.backends, with(spec))
	left(false)
	again.stop()
	other.stop()
}

// TestWhatASpecHasNoLongerIsGone has a schedule lose keys, some of them within others.
func TestWhatASpecHasNoLongerIsGone(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.start(answering(t, http.StatusOK)).stop() // for the schema
	store := schedule.Store{DB: r.db.Retrying()}
	rich := every("s", func(s *schedule.Spec) {
		s.ForEach, s.Timeout, s.Deadline, s.Payload = &config.ForEach{Query: "SELECT * FROM customer", Key: "id"}, time.Minute, time.Hour, map[string]any{"a": 1, "b": 2}
	})
	poor := every("s", func(s *schedule.Spec) { s.Payload = map[string]any{"b": 3} })
	if err := store.Deploy(r.ctx, []schedule.Spec{rich}); err != nil {
		t.Fatal(err)
	}
	r.exec("UPDATE _00_schedule:s SET paused_at = time::now(), fires = 7", nil)
	if err := store.Deploy(r.ctx, []schedule.Spec{poor}); err != nil {
		t.Fatal(err)
	}
	row := r.schedule("s")
	if row.Spec.ForEach != nil || len(row.Spec.Payload) != 1 || row.PausedAt == nil || row.Fires != 7 {
		t.Errorf("%+v", row)
	}
	if left, err := surreal.First[bool](r.ctx, r.db, "RETURN _00_schedule:s.spec.timeout != NONE OR _00_schedule:s.spec.deadline_ms != NONE", nil); err != nil || left {
		t.Errorf("times are left, %v", err)
	}
}

// TestTheDeadlineOfAllRunsCanBeSetLive has an operator set it while a job runs, and before a DAG starts.
func TestTheDeadlineOfAllRunsCanBeSetLive(t *testing.T) {
	t.Parallel()
	g := newWeir(t)
	defer close(g.open)
	c := newJobs(t).clockwork(g.backends)
	run := c.tick()
	c.processing(run)
	if _, err := c.store.Close(c.ctx, []string{"s"}); err != nil {
		t.Fatal(err)
	}
	if got := c.runs("s")[0]; got.Status != "running" || got.Reason != "" {
		t.Errorf("without a deadline: %+v", got)
	}
	c.exec("UPDATE _00_schedule_run SET started_at = started_at - 2m; UPSERT _00_retention:default SET run_deadline_secs = 60", nil)
	c.over(run, "killed")
	if err := c.store.Deploy(c.ctx, []schedule.Spec{flow("f", []config.DAGStep{step("a")})}); err != nil {
		t.Fatal(err)
	}
	started := c.triggered("f")[0]
	if ms, err := surreal.First[int](c.ctx, c.db, "RETURN type::record('_00_workflow_run', $run).deadline_ms", map[string]any{"run": started}); err != nil || ms != 60_000 {
		t.Errorf("the run of the DAG has %d ms, %v", ms, err)
	}
}

// TestARetiredScheduleIsForgottenWithItsRuns has runs that go on, end, and are pruned.
func TestARetiredScheduleIsForgottenWithItsRuns(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	open := c.hold("/tick")
	n := r.start(c.backends, with(every("s")), func(c *Config) { c.ShutdownGrace = time.Millisecond })
	r.underWay(c, "/tick", 1)
	n.stop() // its job runs again elsewhere
	r.unseen()
	other := r.start(c.backends)
	r.eventually("the schedule is retired", func() bool { return r.schedule("s").RetiredAt != nil })
	r.underWay(c, "/tick", 2)
	close(open)
	r.eventually("the run is closed", func() bool { return r.runs("s")[len(r.runs("s"))-1].Status == "success" })
	store := schedule.Store{DB: r.db.Retrying()}
	forget := func() bool {
		t.Helper()
		if err := store.Forget(r.ctx, []string{"s"}); err != nil {
			t.Fatal(err)
		}
		rows, _, err := store.Look(r.ctx, []string{"s"})
		return err == nil && len(rows) == 0
	}
	other.stop()
	if forget() {
		t.Error("a schedule with runs is forgotten")
	}
	r.exec("DELETE _00_schedule_run", nil)
	if forget() {
		t.Error("a schedule is forgotten that was retired just now")
	}
	r.exec("UPDATE _00_schedule SET retired_at = time::now() - 2d RETURN NONE", nil)
	if !forget() {
		t.Error("a schedule that was retired long ago is not forgotten")
	}
}

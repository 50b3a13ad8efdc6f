package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/retention"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// flows writes two DAGs: nightly by the clock, fetch → (check, tell) → done; sites by hand, a run for each site.
func (r *rig) flows() *DAGs {
	r.t.Helper()
	step := func(name string, after ...string) config.DAGStep {
		return config.DAGStep{Name: name, Backend: "api", Route: "/" + name, DependsOn: after, Retry: config.Retry{Max: 1}}
	}
	cfg := &config.Config{
		Backends: []config.Backend{{Name: "api", Table: "job"}}, Retention: config.Retention{RunDeadline: time.Hour},
		Workflows: []config.DAG{
			{
				Name: "nightly", Trigger: &config.Trigger{Cron: "0 3 * * *", Timezone: "Europe/Berlin"}, Concurrency: "skip", OnFailure: "halt",
				Steps: []config.DAGStep{step("fetch"), step("check", "fetch"), step("tell", "fetch"), step("done", "check", "tell")},
			},
			{Name: "sites", ForEach: &config.ForEach{Query: "SELECT * FROM site", Key: "id"}, Concurrency: "allow", OnFailure: "continue-independent", Steps: []config.DAGStep{step("fetch")}},
		},
	}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	_, err := retention.Configure(r.ctx, r.db.Retrying(), cfg.Retention, nil)
	r.check(err)
	return NewDAGs(r.db, redact.Rules{})
}

// over ends the job of a step, as a node does, and goes on with the run.
func (r *rig) over(run, step, status string) {
	r.t.Helper()
	r.exec("UPDATE type::record('job', $id) SET status = $status, result = { of: $id }, errors = [{ code: 500, reason: 'no' }], updated_at = time::now()", map[string]any{"id": "wf_" + run + "_" + step, "status": status})
	_, err := dag.Store{DB: r.db.Retrying()}.Advance(r.ctx, run)
	r.check(err)
}

// stepStates are the steps of a run as name:status.
func stepStates(run DetailedRun) string {
	var all []string
	for _, s := range run.Steps {
		all = append(all, s.Name+":"+s.Status)
	}
	return strings.Join(all, " ")
}

func TestDAGsAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if all, err := NewDAGs(r.db, redact.Rules{}).List(r.ctx); err != nil || len(all) != 0 {
		t.Errorf("without DAGs: %v, %v", all, err)
	}
	s := r.deployed()
	d := r.flows()
	all, err := d.List(r.ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	nightly, sites := all[0], all[1]
	if nightly.Name != "nightly" || nightly.Cron != "0 3 * * *" || nightly.NextAt == nil || nightly.OnFailure != "halt" || nightly.DeadlineMS != time.Hour.Milliseconds() ||
		len(nightly.Steps) != 4 || nightly.Steps[3].Name != "done" || strings.Join(nightly.Steps[3].DependsOn, " ") != "check tell" || nightly.LastRun != nil {
		t.Errorf("%+v", nightly)
	}
	if sites.Cron != "" || sites.NextAt != nil || sites.Late || sites.ForEach == "" {
		t.Errorf("%+v", sites)
	}
	schedules, err := s.List(r.ctx)
	names := ""
	for _, one := range schedules {
		names += one.Name + " "
		if one.DAG != (one.Name == "nightly") {
			t.Errorf("%+v", one)
		}
	}
	if err != nil || names != "campaigns nightly off " {
		t.Errorf("schedules: %s, %v", names, err)
	}
	for _, err := range []error{
		func() error { _, err := d.Get(r.ctx, "campaigns"); return err }(), // a schedule
		func() error { _, err := d.Run(r.ctx, "missing"); return err }(),
		func() error { _, err := d.Trigger(r.ctx, "campaigns"); return err }(),
		func() error { _, err := d.Cancel(r.ctx, "missing"); return err }(),
		func() error { _, err := d.Retry(r.ctx, "missing"); return err }(),
		func() error { _, err := d.Rerun(r.ctx, "missing"); return err }(),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("what there is not: %v", err)
		}
	}
	for _, id := range []string{"`; REMOVE TABLE job; --", "x\x00y", strings.Repeat("x", 5000), "_00_schedule:nightly", "../runs"} {
		if _, err := d.Run(r.ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("run %.30q: %v", id, err)
		}
		if _, err := d.Cancel(r.ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("run %.30q: %v", id, err)
		}
	}
	if runs, err := d.Runs(r.ctx, "missing", "", 0); err != nil || len(runs) != 0 {
		t.Errorf("%v, %v", runs, err)
	}
	for _, bad := range []func() error{
		func() error { _, err := d.Get(r.ctx, ""); return err },
		func() error { _, err := d.Run(r.ctx, ""); return err },
		func() error { _, err := d.Trigger(r.ctx, ""); return err },
		func() error { _, err := d.Cancel(r.ctx, ""); return err },
		func() error { _, err := d.Rerun(r.ctx, ""); return err },
		func() error { _, err := d.Runs(r.ctx, "nightly", "over", 0); return err },
		func() error { _, err := d.Runs(r.ctx, "nightly", "", 201); return err },
	} {
		var input *InputError
		if err := bad(); !errors.As(err, &input) {
			t.Errorf("%v", err)
		}
	}
}

// TestADAGWithoutAClockIsNoSchedule: what acts on ticks refuses it, and says so; one that was paused while it had a clock
// can be resumed.
func TestADAGWithoutAClockIsNoSchedule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, d := NewSchedules(r.db, redact.Rules{}), r.flows()
	r.exec("CREATE site:a", nil)
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "cli"})
	for verb, do := range map[string]func() error{
		"pause": func() error { _, err := s.Pause(ctx, "sites"); return err }, "resume": func() error { _, err := s.Resume(ctx, "sites"); return err },
		"trigger": func() error { _, err := s.Trigger(ctx, "sites"); return err },
	} {
		var refused *StateError
		if err := do(); !errors.As(err, &refused) || !refused.Schedule || refused.Status != ScheduleClockless || refused.Error() != verb+" schedule sites: it is a DAG without a clock" {
			t.Errorf("%s: %v", verb, err)
		}
		if got := r.json("SELECT VALUE target + ' ' + outcome FROM _00_audit WHERE actor = 'ann' AND action = $action", map[string]any{"action": "schedule." + verb}); got !=
			`["sites refused: it is a DAG without a clock"]` {
			t.Errorf("of %s the audit has %s", verb, got)
		}
	}
	if got, err := d.Get(r.ctx, "sites"); err != nil || got.State != ScheduleActive || got.LastRun != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if started, err := d.Trigger(r.ctx, "sites"); err != nil || started.Started != 1 {
		t.Errorf("%+v, %v", started, err)
	}
	if was, err := s.Pause(ctx, "nightly"); err != nil || was != ScheduleActive {
		t.Errorf("one with a clock: %s, %v", was, err)
	}
	r.exec("UPDATE _00_schedule:sites SET paused_at = time::now()", nil)
	if was, err := s.Resume(ctx, "sites"); err != nil || was != SchedulePaused {
		t.Errorf("paused before: %s, %v", was, err)
	}
}

// TestARunIsTriggeredCancelledRetriedAndRunAgain goes through what an operator does to one.
func TestARunIsTriggeredCancelledRetriedAndRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.flows()
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "cli"})
	started, err := d.Trigger(ctx, "nightly")
	if err != nil || started.Started != 1 || len(started.Runs) != 1 {
		t.Fatalf("%+v, %v", started, err)
	}
	id := started.Runs[0]
	var refused *StateError
	_, err = d.Trigger(ctx, "nightly")
	wants(t, "beside a run that goes on", err, &refused, "not over")
	_, err = d.Retry(ctx, id)
	wants(t, "a run that goes on", err, &refused, "running")
	run, err := d.Run(ctx, id)
	if err != nil || stepStates(run) != "fetch:dispatched check:blocked tell:blocked done:blocked" || run.Steps[0].Job != "job:`wf_"+id+"_fetch`" || !run.Manual || run.DeadlineAt == nil {
		t.Errorf("%+v, %v", run, err)
	}
	r.over(id, "fetch", "success")
	if was, err := d.Cancel(ctx, id); was != RunRunning || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	run, err = d.Run(ctx, id)
	if err != nil || run.Status != RunKilled || run.Error == nil || run.Error.Code != "killed" || run.StepsDone != 1 || stepStates(run) != "fetch:success check:failed tell:failed done:skipped" {
		t.Errorf("%+v, %v", run, err)
	}
	_, err = d.Cancel(ctx, id)
	wants(t, "cancelled twice", err, &refused, "killed")
	if strings.Join(refused.Possible, " ") != "retry rerun" || strings.Join(run.Verbs(), " ") != "retry rerun" {
		t.Errorf("possible: %v, verbs: %v", refused.Possible, run.Verbs())
	}
	retried, err := d.Retry(ctx, id)
	if err != nil || retried.Reset != 3 || retried.Kept != 1 || retried.RetryCount != 1 || retried.Was != RunKilled {
		t.Errorf("%+v, %v", retried, err)
	}
	r.over(id, "check_r1", "success")
	r.over(id, "tell_r1", "failed")
	run, err = d.Run(ctx, id)
	if err != nil || run.Status != RunFailed || run.Steps[2].Error == nil || run.Steps[2].Error.Reason != "no" || run.Steps[3].Status != "skipped" || run.Steps[2].RetryCount != 1 {
		t.Errorf("%+v, %v", run, err)
	}
	again, err := d.Rerun(ctx, id)
	if err != nil || again == id {
		t.Fatalf("%s, %v", again, err)
	}
	_, err = d.Retry(ctx, id)
	wants(t, "beside another run", err, &refused, "not over")
	for _, step := range []string{"fetch", "check", "tell", "done"} {
		r.over(again, step, "success")
	}
	runs, err := d.Runs(ctx, "nightly", "", 0)
	if err != nil || len(runs) != 2 || runs[0].ID != again || runs[0].Status != RunSuccess || runs[1].Status != RunFailed {
		t.Errorf("%+v, %v", runs, err)
	}
	if runs, err := d.Runs(ctx, "nightly", RunFailed, 5); err != nil || len(runs) != 1 || runs[0].ID != id {
		t.Errorf("%+v, %v", runs, err)
	}
	if got, err := d.Get(ctx, "nightly"); err != nil || got.LastRun == nil || got.LastRun.ID != again {
		t.Errorf("%+v, %v", got, err)
	}
	want := `["dag.retry refused: another run is not over","dag.rerun done","dag.retry done","dag.cancel refused: killed","dag.cancel done","dag.retry refused: running","dag.trigger refused: the run before is not over","dag.trigger done"]`
	if got := r.json("SELECT VALUE action + ' ' + outcome FROM _00_audit WHERE actor = 'ann'", nil); got != want {
		t.Errorf("the audit has %s", got)
	}
}

// TestARunForEachRow runs one of them again, with its row.
func TestARunForEachRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.flows()
	r.exec("CREATE site:a SET url = 'x'; CREATE site:b SET url = 'y'", nil)
	started, err := d.Trigger(r.ctx, "sites")
	if err != nil || started.Started != 2 {
		t.Fatalf("%+v, %v", started, err)
	}
	runs, err := d.Runs(r.ctx, "sites", "", 0)
	if err != nil || len(runs) != 2 || runs[0].Key == runs[1].Key {
		t.Fatalf("%+v, %v", runs, err)
	}
	again, err := d.Rerun(r.ctx, runs[0].ID)
	r.check(err)
	type payload struct {
		Input struct {
			ID  surreal.RecordID `json:"id"`
			URL string           `json:"url"`
		} `json:"input"`
	}
	was, err := surreal.First[payload](r.ctx, r.db, "RETURN (SELECT VALUE payload FROM ONLY type::record('job', $id))", map[string]any{"id": "wf_" + runs[0].ID + "_fetch"})
	r.check(err)
	is, err := surreal.First[payload](r.ctx, r.db, "RETURN (SELECT VALUE payload FROM ONLY type::record('job', $id))", map[string]any{"id": "wf_" + again + "_fetch"})
	if err != nil || is.Input.URL == "" || is != was {
		t.Errorf("%+v, was %+v, %v", is, was, err)
	}
	r.exec("DELETE _00_schedule:sites", nil)
	if _, err := d.Rerun(r.ctx, again); !errors.Is(err, ErrNotFound) {
		t.Errorf("a DAG that is gone: %v", err)
	}
	if one, err := d.Run(r.ctx, again); err != nil || one.Key != runs[0].Key {
		t.Errorf("%+v, %v", one, err)
	}
}

// TestAStepStartsAnInstance has the route of a step create an instance of a workflow, and answer with its id; the
// next step gets it.
func TestAStepStartsAnInstance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /fetch", func(w http.ResponseWriter, q *http.Request) {
		id, err := r.durable.Create(q.Context(), NewInstance{Binding: "ALPHA", ID: "of-a-step"})
		if err != nil && !errors.Is(err, ErrExists) { // the request may come again
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"instance": %q}`, id)
	})
	mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) {})
	r.app = mux
	d := r.flows()
	started, err := d.Trigger(r.ctx, "nightly")
	r.check(err)
	r.running(func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[map[string]any], step *wf.Step) (int, error) {
			return wf.Do(ctx, step, "one", func(context.Context) (int, error) { return 1, nil })
		})
	})
	r.eventually("the run succeeds", func() bool {
		run, err := d.Run(r.ctx, started.Runs[0])
		r.check(err)
		return run.Status == RunSuccess
	})
	if got := r.json("SELECT VALUE payload FROM ONLY type::record('job', $id)", map[string]any{"id": "wf_" + started.Runs[0] + "_check"}); got != `{"steps":{"fetch":{"instance":"of-a-step"}}}` {
		t.Errorf("the next step got %s", got)
	}
	r.eventually("the instance is complete", func() bool { return r.get("of-a-step").Status == wf.Complete })
}

// eventually asks until the condition holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.t.Fatalf("did not happen: %s", what)
		}
	}
}

// TestWhatIsRetiredStartsNothing has a DAG and a schedule that no configuration has any more.
func TestWhatIsRetiredStartsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, d := r.deployed(), r.flows()
	started, err := d.Trigger(r.ctx, "nightly")
	r.check(err)
	r.exec("UPDATE _00_schedule SET retired_at = time::now(), next_fire_at = NONE RETURN NONE", nil)
	if one, err := s.Get(r.ctx, "campaigns"); err != nil || one.State != ScheduleRetired || one.Late || len(one.Verbs()) != 0 {
		t.Errorf("%+v, %v", one, err)
	}
	if one, err := d.Get(r.ctx, "nightly"); err != nil || one.State != ScheduleRetired {
		t.Errorf("%+v, %v", one, err)
	}
	for name, verb := range map[string]func() error{
		"pause":   func() error { _, err := s.Pause(r.ctx, "campaigns"); return err },
		"resume":  func() error { _, err := s.Resume(r.ctx, "campaigns"); return err },
		"trigger": func() error { _, err := s.Trigger(r.ctx, "campaigns"); return err },
		"dag":     func() error { _, err := d.Trigger(r.ctx, "nightly"); return err },
		"rerun":   func() error { _, err := d.Rerun(r.ctx, started.Runs[0]); return err },
	} {
		var refused *StateError
		if err := verb(); !errors.As(err, &refused) || refused.Status != ScheduleRetired || len(refused.Possible) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.over(started.Runs[0], "fetch", "success") // what runs goes on
	if run, err := d.Run(r.ctx, started.Runs[0]); err != nil || stepStates(run) != "fetch:success check:dispatched tell:dispatched done:blocked" {
		t.Errorf("%+v, %v", run, err)
	}
}

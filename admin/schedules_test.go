package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// deployed writes a schedule of each kind: nightly starts jobs, campaigns instances of ALPHA, off is disabled.
func (r *rig) deployed(change ...func(*schedule.Spec)) *Schedules {
	r.t.Helper()
	daily := config.Schedule{Name: "nightly", Cron: "0 3 * * *", Timezone: "Europe/Berlin", Backend: "api", Route: "/night", Payload: map[string]any{"secret": "x"}, Concurrency: "skip", Enabled: true}
	nightly := schedule.Spec{Table: "job", Schedule: daily}
	for _, apply := range change {
		apply(&nightly)
	}
	campaigns := schedule.Spec{Table: "job", Schedule: config.Schedule{Name: "campaigns", Every: time.Hour, Timezone: "UTC", Workflow: "ALPHA", Backend: "api", Concurrency: "allow", Enabled: true}}
	off := schedule.Spec{Table: "job", Schedule: config.Schedule{Name: "off", Every: time.Hour, Timezone: "UTC", Backend: "api", Route: "/off", Concurrency: "allow"}}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, []schedule.Spec{nightly, campaigns, off}))
	return NewSchedules(r.db, redact.Rules{})
}

func TestSchedulesAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if all, err := NewSchedules(r.db, redact.Rules{}).List(r.ctx); err != nil || len(all) != 0 {
		t.Errorf("without schedules: %v, %v", all, err)
	}
	s := r.deployed()
	r.exec("UPDATE _00_schedule:campaigns SET next_fire_at = time::now() - 1m, trouble = 'no table'", nil)
	all, err := s.List(r.ctx)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	campaigns, nightly, off := all[0], all[1], all[2]
	if campaigns.Name != "campaigns" || campaigns.Workflow != "ALPHA" || campaigns.EveryMS != time.Hour.Milliseconds() || !campaigns.Late || campaigns.Trouble != "no table" {
		t.Errorf("%+v", campaigns)
	}
	if nightly.State != ScheduleActive || nightly.Timezone != "Europe/Berlin" || nightly.Route != "/night" || nightly.Late || nightly.NextAt == nil || nightly.LastRun != nil {
		t.Errorf("%+v", nightly)
	}
	if off.State != ScheduleDisabled || off.Late {
		t.Errorf("%+v", off)
	}
	if _, err := s.Get(r.ctx, "missing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a schedule that there is not: %v", err)
	}
}

func TestASchedulePausesAndResumesWithoutMakingUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.deployed()
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "cli"})
	if was, err := s.Pause(ctx, "nightly"); was != ScheduleActive || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	_, err := s.Pause(ctx, "nightly")
	var refused *StateError
	wants(t, "paused twice", err, &refused, "paused")
	if len(refused.Possible) == 0 || refused.Possible[0] != verbResume {
		t.Errorf("possible is %v", refused.Possible)
	}
	r.exec("UPDATE _00_schedule:nightly SET next_fire_at = time::now() - 3d", nil)
	got, err := s.Get(ctx, "nightly")
	if err != nil || got.State != SchedulePaused || got.Late || got.PausedAt == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if was, err := s.Resume(ctx, "nightly"); was != SchedulePaused || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	got, err = s.Get(ctx, "nightly")
	if err != nil || got.State != ScheduleActive || got.NextAt == nil || !got.NextAt.After(r.now()) || got.Fires != 0 {
		t.Errorf("resumed: %+v, %v", got, err)
	}
	_, err = s.Resume(ctx, "nightly")
	wants(t, "resumed twice", err, &refused, "active")
	for _, verb := range []func() error{
		func() error { _, err := s.Pause(ctx, "missing"); return err },
		func() error { _, err := s.Resume(ctx, "missing"); return err },
		func() error { _, err := s.Trigger(ctx, "missing"); return err },
		func() error { _, err := s.Release(ctx, "missing", ""); return err },
	} {
		if err := verb(); !errors.Is(err, ErrNotFound) {
			t.Errorf("a schedule that there is not: %v", err)
		}
	}
	if got := r.json("SELECT VALUE action + ' ' + target + ' ' + outcome FROM _00_audit WHERE actor = 'ann'", nil); got !=
		`["schedule.release missing not found","schedule.trigger missing not found","schedule.resume missing not found","schedule.pause missing not found",`+
			`"schedule.resume nightly refused: active","schedule.resume nightly done","schedule.pause nightly refused: paused","schedule.pause nightly done"]` {
		t.Errorf("the audit has %s", got)
	}
}

// TestATriggerStartsNow has several at once: a schedule that skips starts one of them.
func TestATriggerStartsNow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.deployed()
	before, err := s.Get(r.ctx, "nightly")
	r.check(err)
	var mu sync.Mutex
	started, refusals := 0, 0
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			got, err := s.Trigger(r.ctx, "nightly")
			mu.Lock()
			defer mu.Unlock()
			var refused *StateError
			switch {
			case err == nil && got.Started == 1 && got.Job != "" && got.Was == ScheduleActive:
				started++
			case errors.As(err, &refused):
				refusals++
			default:
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if started != 1 || refusals != 4 {
		t.Errorf("%d started, %d were refused", started, refusals)
	}
	after, err := s.Get(r.ctx, "nightly")
	if err != nil || !after.NextAt.Equal(*before.NextAt) || after.Fires != 0 {
		t.Errorf("a trigger moved the clock: %+v, %v", after, err)
	}
	runs, err := s.Runs(r.ctx, "nightly", 0)
	if err != nil || len(runs) != 5 {
		t.Fatalf("%+v, %v", runs, err)
	}
	for _, run := range runs {
		if run.Manual && (run.Status == "running" && run.Job != "" || run.Status == "skipped" && run.Reason != "" && run.FinishedAt != nil) {
			continue
		}
		t.Errorf("%+v", run)
	}
	if got := r.json("SELECT path, payload, status FROM job", nil); got != `[{"path":"/night","payload":{"secret":"x"},"status":"pending"}]` {
		t.Errorf("jobs: %s", got)
	}
	for _, name := range []string{"campaigns", "off"} {
		if got, err := s.Trigger(r.ctx, name); err != nil || got.Started != 1 || (got.Instance == "") == (name == "campaigns") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestKeysAreReleasedFromQuarantine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.deployed()
	for i := range 3 {
		r.exec("CREATE type::record('_00_schedule_key', ['nightly', $key]) SET schedule = 'nightly', key = $key, failures = 3, quarantined_at = IF $key = 'k2' { NONE } ELSE { time::now() }",
			map[string]any{"key": fmt.Sprintf("k%d", i)})
	}
	keys, err := s.Keys(r.ctx, "nightly")
	if err != nil || len(keys) != 3 || keys[0].QuarantinedAt == nil || keys[2].QuarantinedAt != nil {
		t.Errorf("%+v, %v", keys, err)
	}
	if got, err := s.Release(r.ctx, "nightly", "k1"); err != nil || len(got) != 1 || got[0] != "k1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.Release(r.ctx, "nightly", ""); err != nil || len(got) != 1 || got[0] != "k0" {
		t.Errorf("%v, %v", got, err)
	}
	_, err = s.Release(r.ctx, "nightly", "k2")
	var refused *StateError
	wants(t, "nothing in quarantine", err, &refused, "nothing is in quarantine")
}

func TestRunsOfASchedule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.deployed()
	for range 3 {
		_, err := s.Trigger(r.ctx, "campaigns")
		r.check(err)
	}
	runs, err := s.Runs(r.ctx, "campaigns", 2)
	if err != nil || len(runs) != 2 || runs[0].Tick.Before(runs[1].Tick) || runs[0].Instance == "" {
		t.Errorf("%+v, %v", runs, err)
	}
	got, err := s.Get(r.ctx, "campaigns")
	if err != nil || got.LastRun == nil || !got.LastRun.Tick.Equal(runs[0].Tick) || got.LastRun.Instance != runs[0].Instance {
		t.Errorf("%+v, %v", got, err)
	}
	for _, limit := range []int{-1, 201} {
		if _, err := s.Runs(r.ctx, "campaigns", limit); err == nil {
			t.Errorf("limit %d is taken", limit)
		}
	}
	r.exec("UPDATE _00_schedule:nightly SET spec.strategy = 'odd'", nil)
	if _, err := s.Trigger(r.ctx, "nightly"); err == nil {
		t.Error("a job that the table refuses is taken")
	}
	if got, err := surreal.First[[]string](r.ctx, r.db, "SELECT VALUE outcome FROM _00_audit WHERE action = 'schedule.trigger'", nil); err != nil || len(got) != 4 {
		t.Errorf("the audit has %v, %v", got, err)
	}
}

// TestARunOfAWorkflowEndsWithItsInstance has an engine and a node run what a schedule starts.
func TestARunOfAWorkflowEndsWithItsInstance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.deployed()
	r.running(func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[map[string]any], step *wf.Step) (int, error) {
			return wf.Do(ctx, step, "one", func(context.Context) (int, error) { return 1, nil })
		})
	})
	started, err := s.Trigger(r.ctx, "campaigns")
	if err != nil || started.Instance == "" {
		t.Fatalf("%+v, %v", started, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := schedule.Store{DB: r.db.Retrying()}.Close(r.ctx, []string{"campaigns"})
		r.check(err)
		got, err := s.Get(r.ctx, "campaigns")
		r.check(err)
		if got.LastRun != nil && got.LastRun.Status == "success" && got.LastRun.FinishedAt != nil {
			break
		}
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			t.Fatalf("the run does not end: %+v", got.LastRun)
		}
	}
	if i := r.get(started.Instance); i.Status != wf.Complete {
		t.Errorf("%+v", i)
	}
}

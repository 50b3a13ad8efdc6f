package admin

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/ssp/schedule"
)

// TestSchedulesAreExplained puts a schedule into every state that keeps it from starting something.
func TestSchedulesAreExplained(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	if e, err := r.explainer.Any(r.ctx, "nightly"); !errors.Is(err, ErrNotFound) || len(e.Causes) == 0 {
		t.Errorf("before there is one: %+v, %v", e, err)
	}
	if e, err := r.explainer.Schedule(r.ctx, "nightly"); !errors.Is(err, ErrNotFound) || e.codes()[0] != "not_found" {
		t.Errorf("before there is one: %+v, %v", e, err)
	}
	s := r.deployed(func(s *schedule.Spec) { s.Name = "by night, all" })
	name := "by night, all"
	set := func(what string) {
		t.Helper()
		r.exec("UPDATE type::record('_00_schedule', $name) SET "+what+" RETURN NONE", map[string]any{"name": name})
	}
	e := r.explains(name, "not_due")
	r.says(e.Causes[0], "next tick comes in", "spky schedules trigger 'by night, all'")
	started, err := s.Trigger(r.ctx, name)
	r.check(err)
	r.says(r.explains(name, "not_due", "run_going").Causes[1], "are skipped", started.Job)
	r.exec("UPDATE _00_schedule_run SET status = 'failed', finished_at = time::now()", nil)
	r.says(r.explains(name, "not_due", "last_run_failed").Causes[1], started.Job, "failed")
	r.exec("UPDATE _00_schedule_run SET status = 'skipped', reason = 'the run before is not over', target = NONE", nil)
	r.says(r.explains(name, "not_due", "tick_skipped").Causes[1], "not over")
	r.exec("DELETE _00_schedule_run; FOR $k IN ['a', 'b'] { CREATE type::record('_00_schedule_key', [$name, $k]) SET schedule = $name, key = $k, failures = 3, quarantined_at = time::now() }", map[string]any{"name": name})
	r.says(r.explains(name, "not_due", "in_quarantine").Causes[1], "2 keys", "release")
	r.exec("DELETE _00_schedule_key", nil)
	set("next_fire_at = time::now() - 1m")
	r.explains(name, "no_node", "tick_overdue")
	set("trouble = 'forEach.query: no table'")
	r.says(r.explains(name, "tick_refused").Causes[0], "no table")
	set("trouble = NONE, next_fire_at = NONE")
	r.explains(name, "never_due")
	set("paused_at = time::now()")
	if e := r.explains(name, "paused"); e.State != SchedulePaused || e.Kind != "schedule" {
		t.Errorf("%+v", e)
	}
	set("enabled = false")
	r.explains(name, "disabled")
	set("retired_at = time::now()")
	r.explains(name, "retired")
}

// TestRunsAreExplained takes a run from its start to its end.
func TestRunsAreExplained(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	d := r.flows()
	r.exec("CREATE site:a", nil)
	r.says(r.explains("sites", "no_clock").Causes[0], "spky dag trigger sites")
	r.exec("UPDATE _00_schedule:sites SET paused_at = time::now()", nil) // while it had a clock
	r.says(r.explains("sites", "no_clock").Causes[0], "by hand only")
	r.exec("UPDATE _00_schedule:sites SET paused_at = NONE", nil)
	r.exec("UPDATE _00_schedule:sites SET spec.concurrency = 'skip'", nil)
	beside, err := d.Trigger(r.ctx, "sites")
	r.check(err)
	r.says(r.explains("sites", "no_clock", "run_going").Causes[1], beside.Runs[0], "none of the same key starts beside it")
	if _, err := d.Trigger(r.ctx, "sites"); !strings.Contains(err.Error(), "trigger DAG sites: the run before is not over") {
		t.Errorf("beside it: %v", err)
	}
	r.says(r.explains("sites", "no_clock", "tick_skipped").Causes[1], "It was triggered", "started nothing", "spky dag runs sites")
	started, err := d.Trigger(r.ctx, "nightly")
	r.check(err)
	run := started.Runs[0]
	e := r.explains(run, "step_dispatched", "steps_blocked")
	r.says(e.Causes[0], `"fetch"`, "is pending. No node is alive", "no_node")
	r.says(e.Causes[1], "3 steps wait", "check, tell, done")
	if e.Kind != "run" || e.State != RunRunning {
		t.Errorf("%+v", e)
	}
	r.says(r.explains("nightly", "not_due", "run_going").Causes[1], run)
	job := "job:`wf_" + run + "_fetch`"
	if e, err := r.explainer.Job(r.ctx, job); err != nil || e.codes()[len(e.Causes)-1] != "step_of_run" {
		t.Errorf("%+v, %v", e, err)
	}
	r.exec("UPDATE _00_step_run SET status = 'ready', job = NONE WHERE status = 'dispatched'", nil)
	r.says(r.explains(run, "steps_ready", "steps_blocked").Causes[0], "1 step may begin", "none is alive")
	r.exec("UPDATE _00_step_run SET status = 'dispatched', job = type::record('job', $id) WHERE status = 'ready'", map[string]any{"id": "wf_" + run + "_fetch"})
	r.exec("UPDATE _00_workflow_run SET stopping = { code: 'killed', reason: 'cancelled' }", nil)
	r.says(r.explains(run, "stopping", "step_dispatched", "steps_blocked").Causes[0], "cancelled")
	r.exec("UPDATE _00_workflow_run SET stopping = NONE", nil)
	r.over(run, "fetch", "success")
	r.over(run, "check", "failed")
	r.explains(run, "step_dispatched", "step_over")
	r.over(run, "tell", "success")
	e = r.explains(run, "run_failed", "step_over")
	r.says(e.Causes[0], "step_failed", "2 of 4 steps", "spky dag retry "+run)
	r.says(e.Causes[1], `"check"`, "job_failed", "spky explain")
	again, err := d.Rerun(r.ctx, run)
	r.check(err)
	_, err = d.Cancel(r.ctx, again)
	r.check(err)
	r.explains(again, "run_killed", "step_over")
	last, err := d.Rerun(r.ctx, run)
	r.check(err)
	for _, step := range strings.Fields("fetch check tell done") {
		r.over(last, step, "success")
	}
	r.explains(last, "succeeded")
	if e, err := r.explainer.Run(r.ctx, "missing"); !errors.Is(err, ErrNotFound) || e.codes()[0] != "not_found" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := r.explainer.Job(r.ctx, r.job("wf_made-up_job", "{ path: '/x' }")); err != nil || strings.Contains(strings.Join(e.codes(), " "), "step_of_run") {
		t.Errorf("a job that only looks like a step's: %+v, %v", e, err)
	}
}

// TestAnyScheduleAndAnyRunIsExplained makes up facts that no database would give together, with texts that nobody
// should write.
func TestAnyScheduleAndAnyRunIsExplained(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, causes := range [][]Cause{anySchedule(t).causes(), anyRun(t).causes()} {
			if len(causes) == 0 {
				t.Fatal("nothing is explained")
			}
			for _, c := range causes {
				if !slices.Contains(CauseCodes(), c.Code) || !strings.HasSuffix(c.Sentence, ".") || strings.ContainsAny(c.Sentence+c.Remedy, "\n\r\x1b\u202e") || len(c.Sentence) > 4000 {
					t.Fatalf("cause %+v", c)
				}
				if _, err := json.Marshal(c); err != nil {
					t.Fatalf("cause %+v: %v", c, err)
				}
			}
		}
	})
}

func anySchedule(t *rapid.T) scheduleFacts {
	f := scheduleFacts{nodeFacts: anyNodes(t), name: anyText.Draw(t, "name"), tool: "dag", tables: []string{"job", "other"}, held: rapid.SliceOfN(anyText, 0, 3).Draw(t, "held")}
	f.row.Enabled, f.row.Trouble, f.row.Spec.Cron = rapid.Bool().Draw(t, "enabled"), anyText.Draw(t, "trouble"), anyText.Draw(t, "cron")
	f.row.Spec.Concurrency = rapid.SampledFrom([]string{"skip", "allow"}).Draw(t, "concurrency")
	f.row.PausedAt, f.row.RetiredAt, f.row.NextAt = anyMoment(t), anyMoment(t), anyMoment(t)
	if rapid.Bool().Draw(t, "ran") {
		f.last = &ScheduleRun{
			Tick: noon, Status: rapid.SampledFrom([]string{"running", "success", "failed", "skipped", "replaced", "killed", ""}).Draw(t, "status"),
			Reason: anyText.Draw(t, "reason"), Job: anyText.Draw(t, "job"), FinishedAt: anyMoment(t),
		}
	}
	return f
}

func anyRun(t *rapid.T) runFacts {
	f := runFacts{nodeFacts: anyNodes(t), jobs: map[string]Explanation{}}
	f.run.ID, f.run.Stopping, f.run.FinishedAt = anyText.Draw(t, "id"), rapid.Bool().Draw(t, "stopping"), anyMoment(t)
	f.run.Status = rapid.SampledFrom(RunStatuses()).Draw(t, "status")
	if f.run.Stopping || rapid.Bool().Draw(t, "error") {
		f.run.Error = &RunError{anyText.Draw(t, "code"), anyText.Draw(t, "reason")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		s := StepRun{Name: anyText.Draw(t, "step"), Status: rapid.SampledFrom([]string{"blocked", "ready", "dispatched", "success", "failed", "skipped"}).Draw(t, "of step"), Job: anyText.Draw(t, "job")}
		if rapid.Bool().Draw(t, "why") {
			s.Error = &RunError{anyText.Draw(t, "code"), anyText.Draw(t, "reason")}
		}
		if s.Status == "dispatched" {
			f.jobs[s.Name] = explained(kindJob, s.Job, anyText.Draw(t, "state"), anyJob(t, f.nodeFacts).causes())
		}
		f.run.Steps = append(f.run.Steps, s)
	}
	return f
}

package ssp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// act calls one of the functions on runs and answers with whether it did anything.
func (r *rig) act(verb, run string) bool {
	r.tb.Helper()
	answer, err := surreal.First[struct {
		OK bool `json:"ok"`
	}](r.ctx, r.db.Retrying(), "RETURN fn::spky::dag::"+verb+"($run)", map[string]any{"run": run})
	if err != nil {
		r.tb.Fatal(err)
	}
	r.advance(run)
	return answer.OK
}

// underWay waits until a path has been asked so often.
func (r *rig) underWay(c *crew, path string, times int) {
	r.tb.Helper()
	r.eventually(fmt.Sprintf("%s is asked %d times", path, times), func() bool { return len(c.requests(path)) >= times })
}

// TestACancelledRunEndsWithItsJobs cancels in the middle, with one job in flight; then goes on.
func TestACancelledRunEndsWithItsJobs(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	c.hold("/b")
	r.start(c.backends, with(flow("f", []config.DAGStep{step("a"), step("b", "a"), step("mail_c", "b"), step("d", "mail_c")})))
	run := r.triggered("f")[0]
	r.underWay(c, "/b", 1)
	if !r.act("cancel", run) {
		t.Fatal("a run that goes on is not cancelled")
	}
	killed := r.flowed(run, "killed")
	if killed.Error == nil || killed.Error.Code != "killed" || killed.Done != 1 {
		t.Errorf("%+v, %+v", killed, killed.Error)
	}
	if got := r.steps(run); got != "a:success b:failed mail_c:skipped d:skipped" {
		t.Errorf("steps: %s", got)
	}
	if rows := r.stepRows(run); rows[1].Error.Code != "killed" || rows[2].Error.Code != "not_started" {
		t.Errorf("errors: %+v, %+v", rows[1].Error, rows[2].Error)
	}
	if row, _ := r.row(*r.stepRows(run)[1].Job); row.Status != "cancelled" {
		t.Errorf("the job that was in flight is %+v", row)
	}
	if r.act("cancel", run) {
		t.Error("a run that is over is cancelled once more")
	}
	c.on("/b", nil)
	if !r.act("retry", run) {
		t.Fatal("a cancelled run is not retried")
	}
	r.flowed(run, "success")
	if n := len(c.requests("/a")); n != 1 {
		t.Errorf("a step that had succeeded ran %d times", n)
	}
	if r.act("retry", run) {
		t.Error("a run that succeeded is retried")
	}
}

// TestWhatDoesNotDependOnAFailureGoesOnOrHalts has the same failure with both modes.
func TestWhatDoesNotDependOnAFailureGoesOnOrHalts(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"halt":                 "bad:failed after:skipped slow:success mail_x:skipped y:skipped",
		"continue-independent": "bad:failed after:skipped slow:success mail_x:success y:success",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r, c := newFlows(t)
			c.status("/bad", http.StatusInternalServerError)
			slow := c.hold("/slow")
			steps := []config.DAGStep{step("bad"), step("after", "bad"), step("slow"), step("mail_x", "slow"), step("y", "mail_x")}
			r.start(c.backends, with(flow("f", steps, func(d *config.DAG) { d.OnFailure = mode })))
			run := r.triggered("f")[0]
			r.eventually("the failure is noted", func() bool { return strings.Contains(r.steps(run), "bad:failed after:skipped") })
			if got := r.dagRun(run).Status; got != "running" {
				t.Errorf("while a job is in flight the run is %s", got)
			}
			close(slow)
			r.flowed(run, "failed")
			if got := r.steps(run); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			wantCode := map[string]string{"halt": "run_halted"}[mode]
			if got := r.stepRows(run)[4].Error; wantCode != "" && (got == nil || got.Code != wantCode) {
				t.Errorf("y has the error %+v", got)
			}
		})
	}
}

// TestForEachRowARun has a run for each row of a query, each with its row as input; one of them fails.
func TestForEachRowARun(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	r.exec("CREATE site:one SET url = 'a'; CREATE site:two SET url = 'b'; CREATE site:⟨th-r/ee_x⟩ SET url = 'c'", nil)
	steps := []config.DAGStep{step("fetch"), step("mail_tell", "fetch")}
	steps[0].Payload = map[string]any{"depth": int64(2)}
	each := func(d *config.DAG) { d.ForEach = &config.ForEach{Query: "SELECT * FROM site", Key: "id"} }
	r.start(c.backends, with(flow("sites", steps, each)))
	runs := r.triggered("sites")
	if len(runs) != 3 {
		t.Fatalf("runs %v", runs)
	}
	seen := map[string]bool{}
	for _, run := range runs {
		if strings.Contains(run, "_") {
			t.Errorf("run %s has a _, after which a step is named", run)
		}
		seen[r.flowed(run, "success").Key] = true
	}
	if !seen["site:one"] || !seen["site:two"] || len(seen) != 3 {
		t.Errorf("keys %v", seen)
	}
	urls := ""
	for _, request := range append(c.requests("/fetch"), c.requests("/mail_tell")...) {
		input, _ := request.Payload["input"].(map[string]any)
		urls += fmt.Sprint(input["url"])
	}
	if len(urls) != 6 || strings.Count(urls, "c") != 2 || fmt.Sprint(c.requests("/fetch")[0].Payload["depth"]) != "2" {
		t.Errorf("inputs %s", urls)
	}
}

// TestARunIsStartedByTheClockAndNotBesideAnother has ticks come while a run goes on.
func TestARunIsStartedByTheClockAndNotBesideAnother(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	open := c.hold("/a")
	timed := flow("f", []config.DAGStep{step("a"), step("mail_b", "a")}, func(d *config.DAG) { d.Trigger = &config.Trigger{Every: time.Second, Timezone: "UTC"} })
	n := r.start(c.backends, with(timed))
	r.underWay(c, "/a", 1)
	r.eventually("a tick is skipped", func() bool {
		return slices.ContainsFunc(r.runs("f"), func(run scheduleRun) bool { return run.Status == "skipped" && strings.Contains(run.Reason, "not over") })
	})
	if n := len(c.requests("/a")); n != 1 {
		t.Errorf("%d runs beside each other", n)
	}
	r.eventually("ticks are counted", func() bool { return n.metric("spky_schedule_ticks_total", "f") >= 2 })
	close(open)
	r.eventually("later ticks start runs", func() bool { return len(c.requests("/mail_b")) >= 2 })
}

// TestTwoNodesOneKilledInTheMiddle has the node die that runs the jobs, at every level of the DAG.
func TestTwoNodesOneKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	spec := flow("nightly", ten(), func(d *config.DAG) { d.Concurrency = "allow" })
	first := r.victim(c.backends, with(spec))
	var runs []string
	for range 3 {
		runs = append(runs, r.triggered("nightly")...)
	}
	r.underWay(c, "/a", 1)
	first.kill()
	r.victim(c.backends, with(spec))
	for _, run := range runs {
		r.flowed(run, "success")
	}
	jobs, err := surreal.First[[]string](r.ctx, r.db, "RETURN (SELECT VALUE <string>id FROM job) + (SELECT VALUE <string>id FROM mail)", nil)
	if err != nil || len(jobs) != 30 {
		t.Errorf("%d jobs for three runs of ten steps, %v", len(jobs), err)
	}
}

// TestManyAdvanceOneRunAtOnce has as many as can be go on with the same run: each step gets one job.
func TestManyAdvanceOneRunAtOnce(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	r.start(c.backends, with(flow("nightly", ten())))
	run := r.triggered("nightly")[0]
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for r.dagRun(run).Status == "running" && r.ctx.Err() == nil {
				if _, err := (dag.Store{DB: r.db.Retrying()}).Advance(r.ctx, run); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	r.flowed(run, "success")
	for _, s := range ten() {
		if n := len(c.requests(s.Route)); n != 1 {
			t.Errorf("%s ran %d times", s.Name, n)
		}
	}
}

// TestHostileAnswersAndNames has backends answer, and steps be called, what nobody should.
func TestHostileAnswersAndNames(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	names := []string{"__proto__", "a.b c", "steps", "`; REMOVE TABLE job; --", "ключ_r1"}
	bodies := []string{`{"steps": {"x": null}, "$id": "job:1", "input": []}`, `"` + strings.Repeat("x", 65<<10) + `"`, "not JSON at all \x00\xff", "", `[1.5, null, {"a": {"b": true}}]`}
	var steps []config.DAGStep
	for i, name := range names {
		s := step(name)
		s.Route = fmt.Sprintf("/h%d", i)
		steps = append(steps, s)
		c.on(s.Route, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, bodies[i]) })
	}
	last := step("last", names...)
	last.Payload = map[string]any{"steps": "mine", "input": "mine"}
	r.start(c.backends, with(flow("f", append(steps, last))))
	run := r.triggered("f")[0]
	r.flowed(run, "success")
	payload := c.requests("/last")[0].Payload
	got, _ := payload["steps"].(map[string]any)
	if len(got) != len(names) || payload["input"] != "mine" {
		t.Fatalf("payload %v", payload)
	}
	if v, _ := got[names[0]].(map[string]any); v["$id"] != "job:1" {
		t.Errorf("%s is %v", names[0], got[names[0]])
	}
	if v, _ := got[names[1]].(map[string]any); v["spky_omitted"] == nil || !strings.HasPrefix(fmt.Sprint(v["job"]), "job:") {
		t.Errorf("an answer of 65 KiB is %.200v", got[names[1]])
	}
	if v, _ := got[names[2]].(string); !strings.HasPrefix(v, "not JSON at all") {
		t.Errorf("a text is %q", v)
	}
	if v, ok := got[names[3]]; v != nil || !ok {
		t.Errorf("an empty answer is %v, %v", v, ok)
	}
	if fmt.Sprint(got[names[4]]) != "[1.5 <nil> map[a:map[b:true]]]" {
		t.Errorf("a list is %v", got[names[4]])
	}
}

// TestAStepWhoseJobCannotBeWrittenHasFailed has a table that refuses jobs, and a job that is deleted.
func TestAStepWhoseJobCannotBeWrittenHasFailed(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	r.exec("DEFINE FIELD OVERWRITE path ON mail TYPE string ASSERT $value != '/mail_refused'", nil)
	steps := []config.DAGStep{step("mail_refused"), step("gone"), step("fine"), step("after", "fine", "mail_refused")}
	held := c.hold("/gone")
	defer close(held)
	r.start(c.backends, with(flow("f", steps, func(d *config.DAG) { d.OnFailure = "continue-independent" })))
	r.schedule("f")
	run := r.triggered("f")[0]
	r.underWay(c, "/gone", 1)
	r.exec("DELETE type::record('job', $id)", map[string]any{"id": "wf_" + run + "_gone"})
	failed := r.flowed(run, "failed")
	if failed.Error == nil || failed.Error.Code != "step_failed" {
		t.Errorf("%+v", failed.Error)
	}
	if got := r.steps(run); got != "mail_refused:failed gone:failed fine:success after:skipped" {
		t.Errorf("steps %s", got)
	}
	for i, want := range []string{"spawn_failed", "job_missing"} {
		if s := r.stepRows(run)[i]; s.Error == nil || s.Error.Code != want || s.Error.Reason == "" {
			t.Errorf("%s has the error %+v, want %s", s.Name, s.Error, want)
		}
	}
	r.exec("DEFINE FIELD OVERWRITE path ON mail TYPE string", nil)
	c.on("/gone", nil)
	if !r.act("retry", run) {
		t.Fatal("not retried")
	}
	r.flowed(run, "success")
}

// TestNobodysJobKeepsAStepFromHappening has the ids taken that the jobs of a run's steps would get, at its start, in the middle
// and after a retry: by a record user, and by somebody whose table lets him leave assigned_to out.
func TestNobodysJobKeepsAStepFromHappening(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	r.start(c.backends, with(flow("f", []config.DAGStep{step("a"), step("b", "a"), step("mail_c", "b")})))
	c.status("/b", http.StatusInternalServerError)
	r.schedule("f")
	fire, err := schedule.Store{DB: r.db}.Manual(r.ctx, "f")
	if err != nil {
		t.Fatal(err)
	}
	run := fire["items"].([]map[string]any)[0]["id"].(string)
	for _, id := range []string{"job:_a", "job:_b", "job:_b_r1", "mail:_mail_c"} {
		table, step, _ := strings.Cut(id, ":")
		owner := map[bool]string{true: ", assigned_to = user:mallory"}[step == "_b"]
		r.exec("CREATE type::record($table, $id) SET path = '/mine', delay = 31000000000"+owner+" RETURN NONE", map[string]any{"table": table, "id": "wf_" + run + step})
	}
	r.fired(fire)
	r.flowed(run, "failed")
	if got := r.steps(run); got != "a:success b:failed mail_c:skipped" || r.stepRows(run)[1].Error.Code != "job_failed" {
		t.Fatalf("steps %s, %+v", got, r.stepRows(run)[1].Error)
	}
	c.on("/b", nil)
	if !r.act("retry", run) {
		t.Fatal("not retried")
	}
	r.flowed(run, "success")
	for i, want := range []string{"_a_", "_b_r1_", "_mail_c_"} {
		if job := r.stepRows(run)[i].Job; job == nil || !strings.HasPrefix(job.ID.(string), "wf_"+run+want) {
			t.Errorf("the job of step %d is %v, want %s", i, job, want)
		}
	}
}

// TestARetryGetsOverAnIDThatWasTaken has a run as versions up to 10 of the schema left it where the id of a step's job was taken.
func TestARetryGetsOverAnIDThatWasTaken(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	c.status("/a", http.StatusInternalServerError)
	r.start(c.backends, with(flow("f", []config.DAGStep{step("a"), step("b", "a")})))
	run := r.triggered("f")[0]
	r.flowed(run, "failed")
	r.exec("UPDATE type::record('_00_step_run', [$run, 0]) SET job = NONE, error = { code: 'spawn_failed', reason: 'the id of its job is used already' } RETURN NONE", map[string]any{"run": run})
	c.on("/a", nil)
	if !r.act("retry", run) {
		t.Fatal("not retried")
	}
	r.flowed(run, "success")
}

// TestARunWithoutAWayToGoOnEnds has a table of jobs vanish, and a deadline pass.
func TestARunWithoutAWayToGoOnEnds(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	late := c.hold("/late")
	defer close(late)
	hasty := flow("hasty", []config.DAGStep{step("late"), step("never", "late")})
	hasty.DAG.Deadline = time.Second
	r.start(c.backends, with(hasty))
	run := r.triggered("hasty")[0]
	killed := r.flowed(run, "killed")
	if killed.Error == nil || killed.Error.Code != "deadline_exceeded" || r.steps(run) != "late:failed never:skipped" {
		t.Errorf("%+v, steps %s", killed.Error, r.steps(run))
	}
	r.exec("UPDATE type::record('_00_step_run', [$run, 0]) SET status = 'dispatched', job = gone:1, error = NONE RETURN NONE", map[string]any{"run": run})
	r.exec("UPDATE _00_workflow_run SET status = 'running', error = NONE RETURN NONE", nil)
	r.advance(run)
	if got := r.dagRun(run); got.Status != "failed" || got.Error == nil || got.Error.Code != "bad_dag" || !strings.Contains(got.Error.Reason, "gone") || got.FinishedAt == nil {
		t.Errorf("a run whose table is gone is %+v, %+v, steps %s", got, got.Error, r.steps(run))
	}
}

// TestARunAgain starts a run with the input of another.
func TestARunAgain(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	r.start(c.backends, with(flow("f", []config.DAGStep{step("a")})))
	first := r.triggered("f")[0]
	r.flowed(first, "success")
	fire, err := schedule.Store{DB: r.db}.Again(r.ctx, "f", "k", map[string]any{"n": int64(1)})
	if err != nil {
		t.Fatal(err)
	}
	second := r.fired(fire)[0]
	if got := r.flowed(second, "success"); got.Key != "k" || second == first {
		t.Errorf("%s after %s: %+v", second, first, got)
	}
	if input, _ := c.requests("/a")[1].Payload["input"].(map[string]any); fmt.Sprint(input["n"]) != "1" {
		t.Errorf("input %v", c.requests("/a")[1].Payload)
	}
	if _, err := (schedule.Store{DB: r.db}).Again(r.ctx, "missing", "", nil); err == nil {
		t.Error("a DAG that there is not is run again")
	}
}

// TestARunOfADAGReplacesTheOneBefore starts a run while another has a job in flight.
func TestARunOfADAGReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	c.hold("/a")
	r.start(c.backends, with(flow("f", []config.DAGStep{step("a"), step("mail_b", "a")}, func(d *config.DAG) { d.Concurrency = "replace" })))
	first := r.triggered("f")[0]
	r.underWay(c, "/a", 1)
	c.on("/a", nil)
	second := r.triggered("f")[0]
	if killed := r.flowed(first, "killed"); killed.Error == nil || killed.Error.Code != "killed" || r.steps(first) != "a:failed mail_b:skipped" {
		t.Errorf("%+v, steps %s", killed.Error, r.steps(first))
	}
	r.flowed(second, "success")
	statuses := map[string]bool{}
	r.eventually("both ticks are noted", func() bool {
		for _, run := range r.runs("f") {
			statuses[run.Status] = true
		}
		return statuses["replaced"] && statuses["success"]
	})
}

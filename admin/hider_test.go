package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// secretive is what a workflow is given, and gives.
type secretive struct {
	Secret string `json:"secret"`
}

// erring fails in a step, whose error repeats the params, what a step before it made, and an event.
func erring(ctx context.Context, ev wf.Event[secretive], step *wf.Step) (string, error) {
	made, err := wf.Do(ctx, step, "make", func(context.Context) (secretive, error) { return secretive{"TOPSECRET made"}, nil })
	if err != nil {
		return "", err
	}
	sent, err := wf.WaitForEvent[secretive](ctx, step, "wait", "sent")
	if err != nil {
		return "", err
	}
	return wf.Do(ctx, step, "echo", func(context.Context) (string, error) {
		text, err := json.Marshal(map[string]any{"params": ev.Payload, "made": made})
		return "", fmt.Errorf("cannot charge %s after %q (%w)", text, sent.Payload.Secret, err)
	}, wf.Retry(1, time.Millisecond, wf.Constant))
}

// echo answers to each job that it cannot do it, with what it was given.
func echo(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // what there is of it
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, "cannot charge %s", body)
}

// failures makes an instance, a job, a schedule's run and a DAG's run fail, each with an error that repeats secrets.
func (r *rig) failures() (instance, job, run string) {
	r.t.Helper()
	r.app = http.HandlerFunc(echo)
	schedules, dags := r.deployed(func(s *schedule.Spec) { s.Payload = map[string]any{"secret": "TOPSECRET nightly"}; s.Name = "night" }), r.flows()
	r.exec("CREATE site:a SET secret = 'TOPSECRET site'; UPDATE _00_schedule:night SET trouble = 'cannot start TOPSECRET nightly'", nil)
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", erring) })
	instance = r.create(NewInstance{Binding: "ALPHA", ID: "erring", Params: []byte(`{"secret":"TOPSECRET params"}`)})
	_, err := r.durable.SendEvent(r.ctx, instance, "sent", []byte(`{"secret":"TOPSECRET \"sent\""}`))
	r.check(err)
	job = r.newJob(NewJob{Path: "/charge", MaxRetries: 1, Payload: []byte(`{"secret":"TOPSECRET job"}`)})
	_, err = schedules.Trigger(r.ctx, "night")
	r.check(err)
	started, err := dags.Trigger(r.ctx, "sites")
	r.check(err)
	run = started.Runs[0]
	_, err = r.durable.Watch(r.ctx, instance, func(Progress) error { return nil })
	r.check(err)
	_, err = r.jobs().Watch(r.ctx, job, func(Job) error { return nil })
	r.check(err)
	r.eventually("the run has failed", func() bool { one, err := dags.Run(r.ctx, run); r.check(err); return one.Status == RunFailed })
	r.eventually("the schedule's run has failed", func() bool {
		_, err := schedule.Store{DB: r.db.Retrying()}.Close(r.ctx, []string{"night"})
		r.check(err)
		runs, err := schedules.Runs(r.ctx, "night", 1)
		r.check(err)
		return len(runs) == 1 && runs[0].Status == "failed"
	})
	return instance, job, run
}

// told is what each operation says that shows texts of errors.
func (r *rig) told(rules redact.Rules, instance, job, run string) map[string]string {
	r.t.Helper()
	durable := NewDurable(DurableConfig{DB: r.db, Backends: r.durable.backends, Redact: rules})
	jobs := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job"}, Redact: rules})
	explainer := NewExplainer(ExplainConfig{DB: r.db, Backends: r.durable.backends, Redact: rules})
	schedules, dags := NewSchedules(r.db, rules), NewDAGs(r.db, rules)
	said := map[string]string{}
	say := func(what string) func(any, error) {
		return func(v any, err error) {
			r.t.Helper()
			r.check(err)
			said[what] = pretty(r.t, v)
		}
	}
	one, err := durable.Get(r.ctx, instance)
	one.Params, one.Output = nil, nil
	say("instance")(one, err)
	page, err := durable.List(r.ctx, ListOptions{})
	say("instances")(page, err)
	page, err = durable.List(r.ctx, ListOptions{Query: instance})
	say("instances by id")(page, err)
	bare, err := durable.Steps(r.ctx, instance, one.Incarnation, false)
	say("steps")(bare, err)
	steps, err := durable.Steps(r.ctx, instance, one.Incarnation, true)
	for i := range steps {
		steps[i].Output = nil
	}
	say("steps with outputs")(steps, err)
	step, err := durable.Step(r.ctx, instance, one.Incarnation, Step{Kind: "do", Name: "echo", Occurrence: 1})
	say("step")(step, err)
	some, err := durable.StepPage(r.ctx, instance, one.Incarnation, StepOptions{Status: "errored"})
	say("page of steps")(some, err)
	var progress []Progress
	last, err := durable.Watch(r.ctx, instance, func(p Progress) error { progress = append(progress, p); return nil })
	say("watched")([]any{progress, last, last.Steps}, err)
	explained, err := explainer.Instance(r.ctx, instance)
	say("explained instance")(explained, err)
	ended, err := jobs.Get(r.ctx, job)
	ended.Payload = nil
	say("job")(ended, err)
	ended, err = jobs.Watch(r.ctx, job, func(Job) error { return nil })
	ended.Payload = nil
	say("watched job")(ended, err)
	explained, err = explainer.Job(r.ctx, job)
	say("explained job")(explained, err)
	ran, err := jobs.Get(r.ctx, r.jobOf(instance))
	say("result of the instance's job")(ran.Result, err)
	detailed, err := dags.Run(r.ctx, run)
	say("run")(detailed, err)
	runs, err := dags.ListRuns(r.ctx, RunListOptions{DAG: "sites"})
	say("runs")(runs, err)
	sites, err := dags.Get(r.ctx, "sites")
	say("DAG")(sites, err)
	explained, err = explainer.Run(r.ctx, run)
	say("explained run")(explained, err)
	night, err := schedules.Get(r.ctx, "night")
	say("schedule")(night.LastRun, err)
	say("trouble")(night.Trouble, err)
	started, err := schedules.Runs(r.ctx, "night", 0)
	say("runs of the schedule")(started, err)
	explained, err = explainer.Schedule(r.ctx, "night")
	say("explained schedule")(explained, err)
	return said
}

// jobOf is the job that ran an instance to its end.
func (r *rig) jobOf(instance string) string {
	r.t.Helper()
	ids, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM job WHERE payload.instance = $of AND result.error != NONE", map[string]any{"of": instance})
	r.check(err)
	if len(ids) != 1 {
		r.t.Fatalf("%s was run to its end by %v", instance, ids)
	}
	return surreal.FormatID(ids[0])
}

// TestErrorsDoNotRepeatWhatIsHidden looks at every operation that shows texts of errors.
func TestErrorsDoNotRepeatWhatIsHidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	instance, job, run := r.failures()
	plain, hidden, none := r.told(redact.Rules{}, instance, job, run), r.told(redact.New([]string{"*.secret"}), instance, job, run), r.told(redact.New([]string{"errors"}), instance, job, run)
	for what, text := range plain {
		if !strings.Contains(text, "TOPSECRET") || strings.Contains(text, redact.Shown) {
			t.Errorf("%s shows nothing that could be hidden: %s", what, text)
		}
		if h := hidden[what]; strings.Contains(h, "TOPSECRET") || !strings.Contains(h, redact.Shown) || !strings.Contains(h, "cannot") {
			t.Errorf("%s shows %s", what, h)
		}
		if n := none[what]; strings.Contains(n, "cannot") || !strings.Contains(n, redact.Shown) {
			t.Errorf("%s shows, with all errors hidden, %s", what, n)
		}
	}
	if len(plain) != len(hidden) || len(plain) < 20 {
		t.Errorf("told %d, %d", len(plain), len(hidden))
	}
}

// TestErrorsOfWhatIsGone: what an error may repeat is not known any more, so all of it is hidden.
func TestErrorsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rules := redact.New([]string{"*.secret"})
	path := durablePath + "ALPHA"
	r.create(NewInstance{Binding: "ALPHA", ID: "known", Params: []byte(`{"secret":"TOPSECRET"}`)})
	r.exec(`LET $errors = [{ code: 500, reason: 'cannot TOPSECRET', attempt: 1 }];
		CREATE job:ran SET path = $path, payload = { instance: 'known' }, status = 'failed', lease_epoch = 1, errors = $errors;
		CREATE job:orphan SET path = $path, payload = { instance: 'gone' }, status = 'failed', lease_epoch = 1, errors = $errors;
		CREATE job:odd SET path = '/x', payload = { secret: 'TOPSECRET', odd: /x/ }, status = 'failed', errors = $errors RETURN NONE;
		CREATE job:ended SET path = $path, payload = { instance: 'gone' }, status = 'success', lease_epoch = 1, result = { state: 'errored', error: 'cannot TOPSECRET' };
		CREATE job:suspended SET path = $path, payload = { instance: 'gone' }, status = 'success', lease_epoch = 1, result = { state: 'suspended' };
		CREATE job:unread SET path = $path, payload = { instance: 'known', odd: /x/ }, status = 'success', result = { state: 'errored', error: 'cannot TOPSECRET' } RETURN NONE;
		CREATE job:plain SET path = '/x', payload = { secret: 'other' }, status = 'failed', errors = $errors`, map[string]any{"path": path})
	jobs := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job"}, Redact: rules})
	explainer := NewExplainer(ExplainConfig{DB: r.db, Tables: []string{"job"}, Redact: rules})
	for id, want := range map[string]string{"job:ran": "cannot [redacted]", "job:orphan": redact.Shown, "job:odd": redact.Shown, "job:plain": "cannot TOPSECRET"} {
		job, err := jobs.Get(r.ctx, id)
		if err != nil || job.Status != outbox.Failed || len(job.Errors) != 1 || job.Errors[0].Reason != want {
			t.Errorf("%s: %s, %v, want %s", id, pretty(t, job), err, want)
		}
		why, err := explainer.Job(r.ctx, id)
		if text := pretty(t, why); err != nil || !strings.Contains(text, want) || strings.Contains(text, "TOPSECRET") != strings.Contains(want, "TOPSECRET") {
			t.Errorf("%s is explained as %s, %v", id, text, err)
		}
	}
	for id, want := range map[string]string{
		"job:ended": `{"error":"[redacted]","state":"errored"}`, "job:unread": `{"error":"[redacted]","state":"errored"}`, "job:suspended": `{"state":"suspended"}`,
	} {
		if job, err := jobs.Get(r.ctx, id); err != nil || string(job.Result) != want {
			t.Errorf("the result of %s: %s, %v, want %s", id, job.Result, err, want)
		}
	}
	_, err := r.durable.Restart(r.ctx, "known")
	r.check(err)
	failed := Error{Name: "Error", Message: "cannot TOPSECRET"}
	r.check(hider{db: r.db, rules: rules}.summaries(r.ctx, Summary{ID: "known", Incarnation: 0, Error: &failed}))
	if failed.Message != redact.Shown {
		t.Errorf("of an instance that was restarted meanwhile %q is shown", failed.Message)
	}
}

// TestStepsDoNotRepeatHiddenResults: the next step of a DAG is given the result of the one before.
func TestStepsDoNotRepeatHiddenResults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	started, err := r.flows().Trigger(r.ctx, "nightly")
	r.check(err)
	run := started.Runs[0]
	r.exec("UPDATE type::record('job', $id) SET status = 'success', result = { key: 'TOPSECRET', of: 'fetch' }", map[string]any{"id": "wf_" + run + "_fetch"})
	_, err = dag.Store{DB: r.db.Retrying()}.Advance(r.ctx, run)
	r.check(err)
	check := "job:wf_" + run + "_check"
	r.exec("UPDATE type::record('job', $id) SET errors = [{ code: 500, reason: 'cannot use TOPSECRET', attempt: 1 }]", map[string]any{"id": "wf_" + run + "_check"})
	for rule, want := range map[string]string{"result.key": `{"steps":{"fetch":{"key":"[redacted]","of":"fetch"}}} cannot use [redacted]`, "result.of": `{"steps":{"fetch":{"key":"TOPSECRET","of":"[redacted]"}}} cannot use TOPSECRET`} {
		job, err := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job"}, Redact: redact.New([]string{rule})}).Get(r.ctx, check)
		if err != nil || len(job.Errors) != 1 {
			t.Fatalf("the second step's job: %s, %v", pretty(t, job), err)
		}
		if got := fmt.Sprint(string(job.Payload), " ", job.Errors[0].Reason); got != want {
			t.Errorf("%s: shown is %s, want %s", rule, got, want)
		}
	}
}

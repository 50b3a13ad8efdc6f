package admin

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// TestRedactedEverywhere looks at every operation that shows values.
func TestRedactedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rules := redact.New([]string{"*.secret", "output"})
	jobs := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job"}, Redact: rules})
	r.durable.hider.rules = rules
	id := r.create(NewInstance{Binding: "ALPHA", Params: []byte(`{"text":"hello","secret":"TOPSECRET"}`)})
	r.exec("DEFINE FIELD mine ON job TYPE any; UPDATE job SET result = { list: [{ secret: 'TOPSECRET' }] }, mine = { secret: 'TOPSECRET' }", nil)
	job, err := newestJob(r, jobs)
	r.check(err)
	var told []string
	see := func(v any) { told = append(told, pretty(t, v)) }
	see(job)
	_, err = jobs.Cancel(r.ctx, job.ID)
	r.check(err)
	_, err = jobs.Watch(r.ctx, job.ID, func(j Job) error { see(j); return nil })
	r.check(err)
	_, err = r.durable.Retry(r.ctx, id)
	if err == nil {
		t.Error("retried one that is queued")
	}
	_, err = r.durable.Restart(r.ctx, id)
	r.check(err)
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", flow) })
	sent := false
	_, err = r.durable.Watch(r.ctx, id, func(p Progress) error {
		see(p)
		if p.Instance.Status != wf.Waiting || sent {
			return nil
		}
		sent = true
		_, err := r.durable.SendEvent(r.ctx, id, "answered", []byte(`{"text":"TOPSECRET","secret":"TOPSECRET"}`))
		return err
	})
	r.check(err)
	i := r.get(id)
	see(i)
	steps, err := r.durable.Steps(r.ctx, id, i.Incarnation, true)
	r.check(err)
	see(steps)
	events, err := r.durable.Events(r.ctx, id, i.Incarnation)
	r.check(err)
	if got := string(events[0].Payload); got != `{"secret":"[redacted]","text":"TOPSECRET"}` {
		t.Errorf("the event's payload is %s", got)
	}
	for _, text := range told {
		if strings.Contains(text, "TOPSECRET") {
			t.Errorf("shown: %s", text)
		}
	}
	if !strings.Contains(told[0], redact.Shown) || string(i.Output) != `"[redacted]"` || string(i.Params) != `{"secret":"[redacted]","text":"hello"}` {
		t.Errorf("shown: %s and %s %s", told[0], i.Output, i.Params)
	}
}

func newestJob(r *rig, jobs *Jobs) (Job, error) {
	page, err := jobs.List(r.ctx, JobListOptions{})
	r.check(err)
	return jobs.Get(r.ctx, page.Jobs[0].ID)
}

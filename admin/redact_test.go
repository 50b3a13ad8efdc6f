package admin

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/wf"
)

func TestRedaction(t *testing.T) {
	t.Parallel()
	row := map[string]any{
		"card":     map[string]any{"number": "4111", "name": "ann"},
		"cards":    []any{map[string]any{"number": "4112"}, map[string]any{"number": "4113", "deep": map[string]any{"Password": "p"}}},
		"password": []any{"a", "b"},
		"none":     nil,
	}
	for _, c := range []struct {
		paths  []string
		column string
		hidden []string
	}{
		{nil, "payload", nil},
		{[]string{"payload.card.number"}, "payload", []string{"4111"}},
		{[]string{"payload.card.number"}, "result", nil},
		{[]string{"payload.cards.number"}, "payload", []string{"4112", "4113"}},
		{[]string{"*.password"}, "payload", []string{`"p"`, `"a"`, `"b"`}},
		{[]string{"*.password", " "}, "params", []string{`"p"`, `"a"`, `"b"`}},
		{[]string{"*.card.number"}, "output", []string{"4111"}},
		{[]string{"payload.*.number"}, "payload", []string{"4111", "4112", "4113"}},
		{[]string{"payload"}, "payload", []string{"4111", "4112", "4113", "ann", `"p"`, `"a"`}},
		{[]string{"*.none", "payload.card.number.x"}, "payload", nil},
	} {
		r := NewRedaction(c.paths)
		shown := string(r.value(c.column, row))
		for _, secret := range []string{"4111", "4112", "4113", "ann", `"p"`, `"a"`, `"b"`} {
			hidden := false
			for _, h := range c.hidden {
				hidden = hidden || h == secret || c.column == "payload" && len(c.paths) == 1 && c.paths[0] == "payload"
			}
			if strings.Contains(shown, secret) == hidden {
				t.Errorf("%q of %s: %s hidden: %v, shown %s", c.paths, c.column, secret, hidden, shown)
			}
		}
	}
	if row["card"].(map[string]any)["number"] != "4111" {
		t.Error("the row itself was changed")
	}
	r := NewRedaction([]string{"payload.a"})
	for in, want := range map[string]string{`{"a":"x","b":1}`: `"{\"a\":\"[redacted]\",\"b\":1}"`, `plain`: `"plain"`, `12`: `"12"`, `{"a":`: `"{\"a\":"`} {
		if got := string(r.value("payload", in)); got != want {
			t.Errorf("a payload that is the text %s is shown as %s, want %s", in, got, want)
		}
	}
}

// TestRedactedEverywhere looks at every operation that shows values.
func TestRedactedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	redact := NewRedaction([]string{"*.secret", "output"})
	jobs := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job"}, Redact: redact})
	r.durable.redact = redact
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
	if !strings.Contains(told[0], redacted) || string(i.Output) != `"[redacted]"` || string(i.Params) != `{"secret":"[redacted]","text":"hello"}` {
		t.Errorf("shown: %s and %s %s", told[0], i.Output, i.Params)
	}
}

func newestJob(r *rig, jobs *Jobs) (Job, error) {
	page, err := jobs.List(r.ctx, JobListOptions{})
	r.check(err)
	return jobs.Get(r.ctx, page.Jobs[0].ID)
}

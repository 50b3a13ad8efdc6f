package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/wf"
)

type verb struct {
	name string
	call func(ctx context.Context, id string) (wf.Status, error)
}

func (d *Durable) verbs() []verb {
	return []verb{
		{verbPause, d.Pause},
		{verbResume, d.Resume},
		{verbTerminate, d.Terminate},
		{verbRestart, d.Restart},
		{verbRetry, d.Retry},
		{verbSendEvent, func(ctx context.Context, id string) (wf.Status, error) { return d.SendEvent(ctx, id, "go", nil) }},
	}
}

// TestVerbs tries every verb in every state, and holds the answer against what the state is said to
// allow.
func TestVerbs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, status := range Statuses() {
		for _, v := range r.durable.verbs() {
			id := r.create(NewInstance{Binding: "ALPHA"})
			r.exec("UPDATE $id SET status = $status", map[string]any{"id": instanceID(id), "status": string(status)})
			was, err := v.call(r.ctx, id)
			if slices.Contains(possible(status), v.name) {
				if err != nil || was != status {
					t.Errorf("%s of one that is %s: %s, %v", v.name, status, was, err)
				}
				continue
			}
			var state *StateError
			wants(t, v.name, err, &state, "it is "+string(status))
			if state.Status != string(status) || !slices.Equal(state.Possible, possible(status)) || r.get(id).Status != status {
				t.Errorf("%s of one that is %s: %+v, and it is %s", v.name, status, state, r.get(id).Status)
			}
		}
	}
	for _, v := range r.durable.verbs() {
		if _, err := v.call(r.ctx, "nowhere"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s of none: %v", v.name, err)
		}
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	do := func(name string) Instance {
		t.Helper()
		for _, v := range r.durable.verbs() {
			if v.name == name {
				_, err := v.call(r.ctx, id)
				r.check(err)
			}
		}
		return r.get(id)
	}
	jobs := func() string { return r.json("SELECT VALUE status FROM job", nil) }
	if i := do(verbPause); i.Status != wf.Paused || i.WaitingFor.Kind != "pause" || i.Job != "" || jobs() != "[]" {
		t.Errorf("paused: %+v, jobs %s", i, jobs())
	}
	if i := do(verbResume); i.Status != wf.Queued || i.Job == "" || jobs() != `["pending"]` {
		t.Errorf("resumed: %+v, jobs %s", i, jobs())
	}
	if i := do(verbTerminate); i.Status != wf.Terminated || i.Live() || i.FinishedAt == nil || jobs() != "[]" {
		t.Errorf("terminated: %+v, jobs %s", i, jobs())
	}
	if i := do(verbRestart); i.Status != wf.Queued || i.Incarnation != 1 || i.FinishedAt != nil || jobs() != `["pending"]` {
		t.Errorf("restarted: %+v, jobs %s", i, jobs())
	}
	r.exec("UPDATE $id SET stalled_at = time::now(), stalls = 3", map[string]any{"id": instanceID(id)})
	if !r.get(id).Stalled() {
		t.Error("it is not stalled")
	}
	if i := do(verbRetry); i.Stalled() || i.Stalls != 0 || jobs() != `["pending"]` {
		t.Errorf("retried: %+v, jobs %s", i, jobs())
	}
}

// TestStalledThenTerminated shows that retry brings nothing back that somebody ended.
func TestStalledThenTerminated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	r.exec("UPDATE $id SET stalled_at = time::now()", map[string]any{"id": instanceID(id)})
	_, err := r.durable.Terminate(r.ctx, id)
	r.check(err)
	_, err = r.durable.Retry(r.ctx, id)
	wants(t, "retry", err, new(*StateError), "terminated")
	if got := r.json("SELECT VALUE status FROM job", nil); got != "[]" {
		t.Errorf("jobs %s", got)
	}
}

func TestSendEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	for _, payload := range []string{`{"ok": true}`, "", "[1.5]"} {
		_, err := r.durable.SendEvent(r.ctx, id, "reviewed", []byte(payload))
		r.check(err)
	}
	events, err := r.durable.Events(r.ctx, id, 0)
	r.check(err)
	var got []string
	for _, e := range events {
		got = append(got, e.Type+string(e.Payload))
		if e.Consumed || e.SentAt.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
	if want := []string{`reviewed{"ok":true}`, `reviewed{}`, `reviewed[1.5]`}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	_, err = r.durable.SendEvent(r.ctx, id, "a b", nil)
	wants(t, "type", err, new(*InputError), "event type")
	_, err = r.durable.SendEvent(r.ctx, id, "a", []byte("{"))
	wants(t, "payload", err, new(*InputError), "payload")
	_, err = r.durable.SendEvent(r.ctx, id, "a", []byte(`"`+strings.Repeat("x", maxValue-1)+`"`))
	wants(t, "payload", err, new(*InputError), "1 MiB")
}

// TestVerbsAtOnce has operators do everything to an instance at the same moment: whatever came of it, what
// is to run has one job, and nothing else has any.
func TestVerbsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 15 {
		id := r.create(NewInstance{Binding: "ALPHA", ID: fmt.Sprint("at-once-", n)})
		var all sync.WaitGroup
		for _, v := range r.durable.verbs() {
			all.Go(func() {
				_, err := v.call(r.ctx, id)
				var state *StateError
				if err != nil && !errors.As(err, &state) {
					t.Errorf("%s: %v", v.name, err)
				}
			})
		}
		all.Wait()
		i := r.get(id)
		jobs := r.json("SELECT VALUE <string>id FROM job WHERE payload.instance = $id AND status IN ['pending', 'processing']", map[string]any{"id": id})
		want := "[]"
		if i.Status == wf.Queued {
			want = pretty(t, []string{i.Job})
		}
		if jobs != want || !slices.Contains([]wf.Status{wf.Queued, wf.Paused, wf.Terminated}, i.Status) {
			t.Errorf("it is %s, its job is %q, and there are %s", i.Status, i.Job, jobs)
		}
	}
}

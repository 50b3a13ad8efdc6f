package workflow_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// A verb is what anybody may ask of an instance.
type verb struct {
	name string
	do   func(context.Context, *wf.Instance) error
}

func verbs() []verb {
	return []verb{
		{"pause", func(ctx context.Context, i *wf.Instance) error { return i.Pause(ctx) }},
		{"resume", func(ctx context.Context, i *wf.Instance) error { return i.Resume(ctx) }},
		{"terminate", func(ctx context.Context, i *wf.Instance) error { return i.Terminate(ctx) }},
		{"restart", func(ctx context.Context, i *wf.Instance) error { return i.Restart(ctx) }},
		{"retry", func(ctx context.Context, i *wf.Instance) error { return i.Retry(ctx) }},
		{"send an event", func(ctx context.Context, i *wf.Instance) error { return i.SendEvent(ctx, "other", 1) }},
	}
}

// statesParams choose what the workflow STATES does.
type statesParams struct{ Do string }

// hold is a workflow that comes to any state, with the run in it where there is one.
type hold struct {
	*rig
	handler http.Handler
	flow    *wf.Workflow[statesParams]
	held    chan struct{} // gets a value when a function waits
	free    chan struct{} // lets it go on
	runs    sync.WaitGroup
}

func newHold(t *testing.T) *hold {
	h := &hold{rig: newDatabase(t), held: make(chan struct{}, 1), free: make(chan struct{}, 1)}
	engine := h.newEngine(wf.Config{})
	h.handler = engine.Handler(http.NotFoundHandler())
	h.flow = wf.Register(engine, "STATES", h.code)
	return h
}

func (h *hold) code(ctx context.Context, ev wf.Event[statesParams], s *wf.Step) (string, error) {
	switch ev.Payload.Do {
	case "sleep":
		return "", s.Sleep(ctx, "s", time.Hour)
	case "event":
		_, err := wf.WaitForEvent[int](ctx, s, "w", "go")
		return "", err
	case "retry":
		_, err := wf.Do(ctx, s, "r", func(context.Context) (int, error) { return 0, errors.New("no") }, wf.Retry(1, time.Hour, wf.Constant))
		return "", err
	case "fail":
		return "", errors.New("no")
	case "hold":
		_, err := wf.Do(ctx, s, "h", func(ctx context.Context) (int, error) {
			h.held <- struct{}{}
			select {
			case <-h.free:
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		if err != nil {
			return "", err
		}
		return "", s.Sleep(ctx, "after", time.Hour)
	}
	return "done", nil
}

// states bring an instance into a state and say what runs meanwhile.
func (h *hold) states() map[string]func(i *wf.Instance) {
	ctx := h.t.Context()
	run := func(i *wf.Instance) { h.run(h.handler, "STATES", i.ID()) }
	running := func(i *wf.Instance) {
		h.runs.Go(func() { h.run(h.handler, "STATES", i.ID()) })
		<-h.held
	}
	return map[string]func(i *wf.Instance){
		"queued":   func(*wf.Instance) {},
		"sleeping": run, "waiting for an event": run, "waiting to retry": run, "complete": run, "errored": run,
		"running":    running,
		"pausing":    func(i *wf.Instance) { running(i); check(h.t, i.Pause(ctx)) },
		"paused":     func(i *wf.Instance) { check(h.t, i.Pause(ctx)) },
		"terminated": func(i *wf.Instance) { check(h.t, i.Terminate(ctx)) },
		"stalled": func(i *wf.Instance) {
			h.Exec("DELETE $job", map[string]any{"job": h.Instance(i.ID()).Job})
			h.Exec("UPDATE $id SET updated_at = time::now() - 1m", map[string]any{"id": instanceKey(i.ID())})
			h.Exec("RETURN fn::spky::wf::sweep()", nil)
		},
	}
}

// TestVerbsInEveryState does every verb in every state: where it makes no sense it is refused with an
// error that names the state, and nothing is written; where it does, the state, the job and the lease
// fit together afterwards.
func TestVerbsInEveryState(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	states := h.states()
	for _, c := range []struct {
		state, does string
		// after is the status after each of verbs(), "" where it is refused.
		after [6]wf.Status
	}{
		{"queued", "", [6]wf.Status{"paused", "", "terminated", "queued", "", "queued"}},
		{"stalled", "", [6]wf.Status{"paused", "", "terminated", "queued", "queued", "queued"}},
		{"running", "hold", [6]wf.Status{"running", "", "terminated", "queued", "", "running"}},
		{"pausing", "hold", [6]wf.Status{"running", "running", "terminated", "queued", "", "running"}},
		{"sleeping", "sleep", [6]wf.Status{"paused", "", "terminated", "queued", "", "waiting"}},
		{"waiting for an event", "event", [6]wf.Status{"paused", "", "terminated", "queued", "", "waiting"}},
		{"waiting to retry", "retry", [6]wf.Status{"paused", "", "terminated", "queued", "", "waiting"}},
		{"paused", "sleep", [6]wf.Status{"", "queued", "terminated", "queued", "", "paused"}},
		{"complete", "", [6]wf.Status{"", "", "", "queued", "", ""}},
		{"errored", "fail", [6]wf.Status{"", "", "", "queued", "queued", ""}},
		{"terminated", "", [6]wf.Status{"", "", "", "queued", "", ""}},
	} {
		for n, v := range verbs() {
			i, err := h.flow.Create(t.Context(), statesParams{c.does})
			check(t, err)
			states[c.state](i)
			was := h.Instance(i.ID())
			h.judge(c.state, v, i, was, c.after[n])
			if c.does == "hold" { // let the run go on, to its end or to its discovery that it is lost
				h.free <- struct{}{}
				h.runs.Wait()
				h.Consistent(i.ID())
				h.fits(c.state+", "+v.name+", and the run's end", h.Instance(i.ID()))
			}
			select {
			case <-h.free: // the run was lost
			default:
			}
		}
	}
}

func (h *hold) judge(state string, v verb, i *wf.Instance, was instanceRow, want wf.Status) {
	h.t.Helper()
	err := v.do(h.t.Context(), i)
	now := h.Instance(i.ID())
	if want == "" {
		var refused *wf.StateError
		if !errors.As(err, &refused) || string(refused.Status) != was.Status || refused.Verb != v.name || !strings.Contains(err.Error(), was.Status) {
			h.t.Errorf("%s: %s gives %v", state, v.name, err)
		}
		if !reflect.DeepEqual(now, was) && was.LeaseToken == "" {
			h.t.Errorf("%s: %s was refused and changed\n%+v\nto\n%+v", state, v.name, was, now)
		}
		return
	}
	if err != nil || now.Status != string(want) {
		h.t.Errorf("%s: %s gives %v, and the instance is %s", state, v.name, err, now.Status)
	}
	h.fits(state+", "+v.name, now)
}

// fits checks that an instance has a job if and only if something has to happen by itself.
func (h *hold) fits(what string, row instanceRow) {
	h.t.Helper()
	status := ""
	if row.Job.Table != "" {
		if found := read[[]string](h.rig, "SELECT VALUE status FROM $job", map[string]any{"job": row.Job}); len(found) > 0 {
			status = found[0]
		}
	}
	jobs := read[[]surreal.RecordID](h.rig, "SELECT VALUE id FROM job WHERE payload.instance = $id AND status = 'pending'", map[string]any{"id": row.ID.ID})
	switch row.Status {
	case "queued", "waiting":
		if status != "pending" || len(jobs) != 1 || row.LeaseToken != "" {
			h.t.Errorf("%s: the instance is %s with the job %v (%s), the jobs %v, the lease %q", what, row.Status, row.Job, status, jobs, row.LeaseToken)
		}
	case "paused", "complete", "errored", "terminated":
		// The job of the run under which it ended is the node's to end; here nobody claimed it.
		for _, job := range jobs {
			if surreal.FormatID(job) != surreal.FormatID(row.Job) {
				h.t.Errorf("%s: the instance is %s with the pending job %v", what, row.Status, job)
			}
		}
		if row.LeaseToken != "" {
			h.t.Errorf("%s: the instance is %s and leased", what, row.Status)
		}
	}
}

// TestVerbsOnNobody: an instance that does not exist is not found.
func TestVerbsOnNobody(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	i, err := h.flow.Create(t.Context(), statesParams{})
	check(t, err)
	h.Exec("DELETE $id", map[string]any{"id": instanceKey(i.ID())})
	for _, v := range verbs() {
		if err := v.do(t.Context(), i); !errors.Is(err, wf.ErrNotFound) {
			t.Errorf("%s gives %v", v.name, err)
		}
	}
	if _, err := i.Status(t.Context()); !errors.Is(err, wf.ErrNotFound) {
		t.Errorf("status gives %v", err)
	}
	if got := h.serveRun(h.handler, runRequest(t, "", "STATES", i.ID(), surreal.RecordID{})); got.Code != http.StatusNotFound {
		t.Errorf("a run gives %+v", got)
	}
}

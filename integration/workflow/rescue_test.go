package workflow_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// often makes a node look for instances without a job several times a second.
func often(c *ssp.Config) { c.SweepInterval = 50 * time.Millisecond }

// age lets a minute pass for instances.
func (r *rig) age(id string) {
	r.t.Helper()
	r.Exec("UPDATE $id SET updated_at = updated_at - 1m, wake_at = IF wake_at = NONE { NONE } ELSE { wake_at - 1m } RETURN NONE", map[string]any{"id": instanceKey(id)})
	r.lapse(id)
}

// TestRescue: an instance whose job was deleted, has run out of attempts or was cancelled gets another
// by itself, in every state in which one is due; the operator sees that it was stalled.
func TestRescue(t *testing.T) {
	t.Parallel()
	spoils := map[string]string{
		"deleted": "DELETE $job", "exhausted": "UPDATE $job SET status = 'failed', run_at = NONE", "cancelled": "UPDATE $job SET status = 'cancelled', run_at = NONE",
		"done": "UPDATE $job SET status = 'success', run_at = NONE",
	}
	states := map[string]func(h *hold, i *wf.Instance){
		"queued":  func(*hold, *wf.Instance) {},
		"waiting": func(h *hold, i *wf.Instance) { h.run(h.handler, "STATES", i.ID()) },
		"running": func(h *hold, i *wf.Instance) { // by a process that died
			h.Exec("RETURN fn::spky::wf::acquire($id, 'STATES', NONE, 'dead', 15s)", map[string]any{"id": i.ID()})
		},
	}
	h := newHold(t)
	for state, reach := range states {
		for what, spoil := range spoils {
			i, err := h.flow.Create(t.Context(), statesParams{"sleep"})
			check(t, err)
			reach(h, i)
			row := h.Instance(i.ID())
			h.Exec(spoil, map[string]any{"job": row.Job})
			if state == "waiting" { // until its time has come nothing is missing
				h.Exec("RETURN fn::spky::wf::sweep()", nil)
				if now := h.Instance(i.ID()); surreal.FormatID(now.Job) != surreal.FormatID(row.Job) || now.StalledAt != nil {
					t.Errorf("%s, %s: rescued before it was due: %+v", state, what, now)
				}
				h.Exec("UPDATE $id SET wake_at = wake_at - 1h", map[string]any{"id": instanceKey(i.ID())})
			}
			h.age(i.ID())
			var sweeps sync.WaitGroup
			for range 4 { // by several nodes at once
				sweeps.Go(func() {
					if err := surreal.Exec(context.WithoutCancel(t.Context()), h.DB.Retrying(), "RETURN fn::spky::wf::sweep()", nil); err != nil {
						t.Errorf("sweep: %v", err)
					}
				})
			}
			sweeps.Wait()
			now := h.Instance(i.ID())
			if now.StalledAt == nil || now.Stalls != 1 || now.LeaseToken != "" {
				t.Errorf("%s, %s: after the sweep the instance is %+v", state, what, now)
			}
			if row.Status == "running" {
				row.Status = "queued"
			}
			if now.Status != row.Status {
				t.Errorf("%s, %s: it was %s and is %s", state, what, row.Status, now.Status)
			}
			h.fits(state+", "+what, now)
			if got := h.run(h.handler, "STATES", i.ID()); got.State != "suspended" && got.State != "complete" {
				t.Errorf("%s, %s: the run after the rescue is %+v", state, what, got)
			}
			if now := h.Instance(i.ID()); now.StalledAt != nil {
				t.Errorf("%s, %s: it runs and is still marked as stalled", state, what)
			}
		}
	}
}

// TestRescueLeavesTheRestAlone: instances that have a job, are held, paused or finished.
func TestRescueLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	states := h.states()
	for _, state := range []string{"queued", "running", "sleeping", "paused", "complete", "terminated", "errored"} {
		does := map[string]string{"running": "hold", "sleeping": "sleep", "errored": "fail"}[state]
		i, err := h.flow.Create(t.Context(), statesParams{does})
		check(t, err)
		states[state](i)
		h.Exec("UPDATE $id SET updated_at = updated_at - 1h", map[string]any{"id": instanceKey(i.ID())})
		was := h.Instance(i.ID())
		found := read[[]string](h.rig, "RETURN fn::spky::wf::sweep()", nil)
		now := h.Instance(i.ID())
		if len(found) > 0 || surreal.FormatID(now.Job) != surreal.FormatID(was.Job) || now.Status != was.Status || now.Stalls != 0 {
			t.Errorf("%s: the sweep found %v and left %+v", state, found, now)
		}
		if state == "running" {
			// Not even when its job is gone: whoever holds it goes on.
			h.Exec("DELETE $job", map[string]any{"job": was.Job})
			if found := read[any](h.rig, "RETURN [fn::spky::wf::rescue($id), fn::spky::wf::sweep()]", map[string]any{"id": instanceKey(i.ID())}); fmt.Sprint(found) != "[<nil> []]" {
				t.Errorf("an instance that is held was rescued: %v", found)
			}
			h.free <- struct{}{}
			h.runs.Wait()
		}
	}
}

// TestEventWithoutAJob: an instance that waits for an event for a day is woken by it although its job
// was deleted by hand, and not only when the day is over.
func TestEventWithoutAJob(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "WOKEN", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			got, err := wf.WaitForEvent[int](ctx, s, "w", "go")
			return got.Payload, err
		})
	})
	for _, spoil := range []string{"DELETE $job", "UPDATE $job SET status = 'failed', run_at = NONE", "UPDATE $job SET status = 'cancelled', run_at = NONE"} {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		r.untilStatus(i, wf.Waiting)
		r.Exec(spoil, map[string]any{"job": r.Instance(i.ID()).Job})
		check(t, i.SendEvent(t.Context(), "go", 7))
		r.untilStatus(i, wf.Complete)
	}
}

// TestCreateWithoutNode: create, events and other verbs need no node; the instance runs when one is there.
func TestCreateWithoutNode(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "LATER", func(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
		got, err := wf.WaitForEvent[int](ctx, s, "w", "go")
		return ev.Payload + got.Payload, err
	})
	i, err := flow.Create(t.Context(), 40)
	check(t, err)
	check(t, i.SendEvent(t.Context(), "go", 2))
	check(t, i.Pause(t.Context()))
	check(t, i.Resume(t.Context()))
	r.StartNode(r.Serve(engine.Handler(http.NotFoundHandler())))
	var out int
	check(t, r.untilStatus(i, wf.Complete).Output(&out))
	if out != 42 {
		t.Errorf("the output is %d", out)
	}
}

// TestBackendAway: a backend that is away for longer than a job has attempts. Jobs run out of them one
// after the other, the instance is marked as stalled and gets new ones, and finishes by itself once
// the backend is back. Every pause on the way is made to pass at once.
func TestBackendAway(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "AWAY", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		return wf.Do(ctx, s, "a", func(context.Context) (string, error) { return "done", nil })
	})
	var back atomic.Bool
	handler := engine.Handler(http.NotFoundHandler())
	r.StartNode(r.Serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !back.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, req)
	})), often)
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	first := r.Instance(i.ID()).Job
	r.Poll("two jobs have run out of attempts", func() (bool, any) {
		r.Exec("UPDATE job SET run_at = time::now() WHERE status = 'pending' RETURN NONE", nil)
		r.age(i.ID())
		row := r.Instance(i.ID())
		return row.Stalls >= 2, row
	})
	row := r.Instance(i.ID())
	if row.StalledAt == nil || row.Runs != 0 {
		t.Errorf("the instance is %+v", row)
	}
	old := read[[]struct {
		Status  string
		Retries int
	}](r, "SELECT status, retries FROM $job", map[string]any{"job": first})
	if len(old) != 1 || old[0].Status != "failed" || old[0].Retries != 10 {
		t.Errorf("the first job is %+v", old)
	}
	back.Store(true)
	r.Exec("UPDATE job SET run_at = time::now() WHERE status = 'pending' RETURN NONE", nil)
	report := r.untilStatus(i, wf.Complete)
	if row := r.Instance(i.ID()); report.StepsDone != 1 || row.StalledAt != nil {
		t.Errorf("the instance ends as %+v", row)
	}
}

// TestBackendRefusesConnections: while nothing listens no attempt is used up, and the instance
// finishes by itself afterwards.
func TestBackendRefusesConnections(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "GONE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "a", func(context.Context) (int, error) { return 1, nil })
	})
	address := newAddress(t)
	r.StartNode("http://"+address, often)
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.Poll("the job was tried in vain", func() (bool, any) {
		epochs := read[[]int](r, "SELECT VALUE lease_epoch ?? 0 FROM job", nil)
		return len(epochs) == 1 && epochs[0] >= 3, epochs
	})
	serveOn(t, address, engine.Handler(http.NotFoundHandler()))
	r.untilStatus(i, wf.Complete)
	if retries := read[[]int](r, "SELECT VALUE retries FROM job", nil); len(retries) != 1 || retries[0] != 0 {
		t.Errorf("the job has used up the attempts %v", retries)
	}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
	"sp00ky.cloud/spky/wf"
)

type none struct{}

// plan is a workflow that does what a test says.
func plan(code func(ctx context.Context, step *wf.Step) error) func(*wf.Engine) {
	return func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[any], step *wf.Step) (none, error) {
			return none{}, code(ctx, step)
		})
	}
}

// one is an instance of a workflow that does so, with a node and a backend that run it.
func (r *explainRig) one(code func(ctx context.Context, step *wf.Step) error) string {
	r.t.Helper()
	r.node(backend(r.engine(wf.Config{}, plan(code))))
	return r.create(NewInstance{Binding: "ALPHA", ID: "one"})
}

func TestExplainASleeper(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.node(backend(r.engine(wf.Config{}, plan(func(ctx context.Context, step *wf.Step) error { return step.Sleep(ctx, "a nap", 2*time.Hour) }))))
	id := r.create(NewInstance{Binding: "ALPHA"})
	r.says(r.explains(id, "sleeping").Causes[0], `"a nap"`, "and wakes in 1 h (")
}

func TestExplainASleeperWithoutNodes(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	_, stop := r.node(backend(r.engine(wf.Config{}, plan(func(ctx context.Context, step *wf.Step) error { return step.Sleep(ctx, "a nap", 3*time.Second) }))))
	id := r.create(NewInstance{Binding: "ALPHA"})
	r.explains(id, "sleeping")
	stop()
	r.explains(id, "sleeping", "no_node")
	e := r.explainsWhen(id, "its job's cause, once the time is over", func(e Explanation) bool {
		return len(e.Causes) == 2 && e.Causes[1].Code == "no_node" && e.Causes[1].Facts["job"] != nil
	})
	r.says(e.Causes[0], "should have woken")
}

func TestExplainAWaitForAnEvent(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.one(func(ctx context.Context, step *wf.Step) error {
		_, err := wf.WaitForEvent[any](ctx, step, "review", "reviewed")
		return err
	})
	c := r.explains(id, "waiting_for_event").Causes[0]
	r.says(c, `"review"`, "it has been waiting for ", `type "reviewed"; the wait times out in 2`, "spky workflows instances send-event ALPHA one --type reviewed --payload")
	for _, typ := range []string{"other", "approved", "other"} {
		_, err := r.durable.SendEvent(r.ctx, id, typ, nil)
		r.check(err)
	}
	r.says(r.explains(id, "waiting_for_event").Causes[0], `1 event "approved", 2 events "other"`)
	_, err := r.durable.SendEvent(r.ctx, id, "reviewed", nil)
	r.check(err)
	r.says(r.explains(id, "complete").Causes[0], "after 1 step", "restart ALPHA one")
}

func TestExplainARetriedStep(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.one(func(ctx context.Context, step *wf.Step) error {
		_, err := wf.Do(ctx, step, "convert", func(context.Context) (int, error) { return 0, errors.New("no\nink") }, wf.Retry(2, time.Hour, wf.Constant))
		return err
	})
	r.says(r.explains(id, "retrying_step").Causes[0], `Attempt 1 of 3 of its step "convert" failed: "no\nink"`, "the next begins in 59 min")
}

// TestExplainARunningStep pauses the instance while it runs, and then terminates it.
func TestExplainARunningStep(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	let := make(chan struct{})
	code := func(ctx context.Context, step *wf.Step) error {
		for _, name := range []string{"first", "second"} {
			if _, err := wf.Do(ctx, step, name, func(ctx context.Context) (int, error) {
				select {
				case <-let:
				case <-ctx.Done():
				}
				return 1, ctx.Err()
			}); err != nil {
				return err
			}
		}
		return nil
	}
	id := r.one(code)
	c := r.explainsWhen(id, "a step's row", func(e Explanation) bool { return e.Causes[0].Facts["step"] != nil }).Causes[0]
	r.says(c, "Run 1 holds it", `step "first", attempt 1 of 6, for `, "spky workflows instances watch ALPHA one")
	_, err := r.durable.Pause(r.ctx, id)
	r.check(err)
	r.says(r.explains(id, "pause_requested", "running").Causes[0], "was asked for", "resume ALPHA one")
	close(let)
	r.says(r.explains(id, "paused").Causes[0], "has been paused for ", "resume ALPHA one")
	_, err = r.durable.Terminate(r.ctx, id)
	r.check(err)
	r.explains(id, "terminated")
}

func TestExplainErrors(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.node(backend(r.engine(wf.Config{}, func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[any], step *wf.Step) (int, error) {
			v, err := wf.Do(ctx, step, "pay", func(context.Context) (int, error) { return 0, errors.New("card refused") }, wf.Retry(1, 0, wf.Constant))
			if err != nil {
				return v, fmt.Errorf("order: %w", err)
			}
			return v, nil
		})
		wf.Register(e, "BETA", func(context.Context, wf.Event[any], *wf.Step) (int, error) { return 0, errors.New("no such order") })
	})))
	r.says(r.explains(r.create(NewInstance{Binding: "ALPHA", ID: "a"}), "step_errored").Causes[0], `step "pay" failed for good`, "after 2 attempts", `"card refused"`, "retry ALPHA a")
	r.says(r.explains(r.create(NewInstance{Binding: "BETA", ID: "b"}), "errored").Causes[0], `"no such order"`, "restart BETA b")
}

// TestExplainChangedCode deploys code that misses a stored step, first with Strict and then without.
func TestExplainChangedCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  []wf.RegisterOption
		codes []string
	}{
		"strict": {[]wf.RegisterOption{wf.Strict()}, []string{"code_misfit", "stalled", "not_due"}},
		"loose":  {nil, []string{"sleeping", "code_changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newExplainRig(t)
			flow := func(steps ...string) func(*wf.Engine) {
				return func(e *wf.Engine) {
					wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[any], step *wf.Step) (int, error) {
						for _, name := range steps {
							if _, err := wf.Do(ctx, step, name, func(context.Context) (int, error) { return 1, nil }); err != nil {
								return 0, err
							}
						}
						return 0, step.Sleep(ctx, "between", time.Hour)
					}, c.opts...)
				}
			}
			_, stop := r.node(backend(r.engine(wf.Config{}, flow("old", "kept"))))
			id := r.create(NewInstance{Binding: "ALPHA"})
			r.explains(id, "sleeping")
			stop()
			r.node(backend(r.engine(wf.Config{}, flow("new", "kept"))))
			r.exec("UPDATE job SET run_at = time::now()", nil)
			e := r.explains(id, c.codes...)
			for _, one := range e.Causes {
				if one.Code == "code_misfit" || one.Code == "code_changed" {
					r.says(one, `"old`, "deploy code that still has those steps")
				}
			}
		})
	}
}

// TestExplainABackendThatDoesNotFit asks backends for runs that can't run them.
func TestExplainABackendThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		cfg  func(r *explainRig) wf.Config
		says string
		name string // of the workflow that is registered
	}{
		"binding_not_registered": {func(*explainRig) wf.Config { return wf.Config{} }, `registered as "ALPHA"`, "OTHER"},
		"backend_refuses_token":  {func(*explainRig) wf.Config { return wf.Config{AuthToken: "a-secret-that-is-not-sent"} }, "auth.token", "ALPHA"},
		"instance_unknown":       {func(r *explainRig) wf.Config { return wf.Config{DB: newRig(r.t).db.Retrying()} }, "SPKY_DB_URL", "ALPHA"},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			r := newExplainRig(t)
			at := r.engine(c.cfg(r), func(e *wf.Engine) {
				wf.Register(e, c.name, func(context.Context, wf.Event[any], *wf.Step) (int, error) { return 0, nil })
			})
			r.node(backend(at))
			id := r.create(NewInstance{Binding: "ALPHA"})
			r.says(r.explains(id, code, "backing_off").Causes[0], c.says, id)
		})
	}
}

// TestExplainALostRun cuts the backend off from the database while a step runs.
func TestExplainALostRun(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	proxy, err := faultproxy.Listen(r.cfg.Endpoint)
	r.check(err)
	t.Cleanup(func() { _ = proxy.Close() })
	db := r.connect("ws://" + proxy.Addr() + "/rpc")
	begun := make(chan struct{}, 10)
	r.node(backend(r.engine(wf.Config{DB: db.Retrying()}, plan(func(ctx context.Context, step *wf.Step) error {
		_, err := wf.Do(ctx, step, "long", func(ctx context.Context) (int, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return 0, ctx.Err()
		})
		return err
	}))))
	t.Cleanup(proxy.Restore)
	id := r.create(NewInstance{Binding: "ALPHA"})
	<-begun
	proxy.Blackhole(true)
	r.says(r.explains(id, "run_silent", "running").Causes[0], "Run 1 holds it and was last heard of", "see whether the backend api runs")
	e := r.explainsWhen(id, "run_lost first", func(e Explanation) bool { return e.Causes[0].Code == "run_lost" })
	r.says(e.Causes[0], "the lease ended", "another run takes over")
}

// TestExplainARunWhoseRequestFailed has a backend that could not begin the run that it had taken the lease for, and said why; what
// it said of an earlier run, or nobody said, explains nothing.
func TestExplainARunWhoseRequestFailed(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	job, err := surreal.ParseID(r.get(id).Job)
	r.check(err)
	r.exec("UPDATE $id SET status = 'running', lease_token = 'x', lease_until = time::now() - 5s", map[string]any{"id": instanceID(id)})
	for _, c := range []struct{ entry, says string }{
		{"code: 500, reason: 'acquire instance: too large', at: time::now() - 19s", `the request failed with 500 "acquire instance: too large"`},
		{"code: 500, reason: 'acquire instance: too large', at: time::now() - 5m", "The process died or was cut off"},
		{"code: 'lease_expired', reason: 'the node is gone', at: time::now()", "The process died or was cut off"},
		{"code: 0, reason: 'connection reset', at: time::now()", "The process died or was cut off"},
	} {
		r.exec("UPDATE $job SET retries = 1, errors = [{ "+c.entry+" }]", map[string]any{"job": job})
		e, err := r.explainer.Any(r.ctx, id)
		r.check(err)
		r.sound(e)
		if e.Causes[0].Code != "run_lost" {
			t.Fatalf("it is explained by %s", pretty(t, e))
		}
		r.says(e.Causes[0], "lease ended", c.says)
	}
}

func TestExplainAnInstanceThatIsQueued(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	job := r.get(id).Job
	e := r.explains(id, "no_node")
	r.says(e.Causes[0], "Its job "+job+": No node is alive", "job:"+job)
	record, err := surreal.ParseID(job)
	r.check(err)
	r.exec("fn::spky::job::cancel($job, 'cancelled')", map[string]any{"job": record})
	r.says(r.explains(id, "job_over", "cancelled", "no_node").Causes[0], "has ended as cancelled")
	r.exec("DELETE $job", map[string]any{"job": record})
	r.explains(id, "no_job", "no_node")
	r.exec("UPDATE _00_wf_instance SET updated_at = time::now() - 1m; fn::spky::wf::sweep()", nil)
	r.says(r.explains(id, "stalled", "no_node").Causes[0], "1 job ended without progress", "retry ALPHA "+id)
	r.explainer = NewExplainer(ExplainConfig{DB: r.db, Backends: []config.Backend{{Name: "other", Table: "job"}}})
	r.explains(id, "stalled", "no_node", "workflow_not_declared")
	_, err = r.durable.Pause(r.ctx, id)
	r.check(err)
	r.explains(id, "paused", "workflow_not_declared")
}

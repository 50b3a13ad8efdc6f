package workflow_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

// TestResumeMovesTimers: what was left of a sleep, a wait and a retry wait when the instance was
// paused is left of it after resume, however long the pause was.
func TestResumeMovesTimers(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	for does, key := range map[string]string{"sleep": "sleep s #1", "event": "waitForEvent w #1", "retry": "do r #1"} {
		i, err := h.flow.Create(t.Context(), statesParams{does})
		check(t, err)
		h.run(h.handler, "STATES", i.ID())
		timer := func() time.Time {
			s := h.Steps(i.ID())[key]
			if s.RetryAt != nil {
				return *s.RetryAt
			}
			return *s.WakeAt
		}
		before := timer()
		check(t, i.Pause(t.Context()))
		h.Exec("UPDATE $id SET paused_at = paused_at - 10m", map[string]any{"id": instanceKey(i.ID())})
		check(t, i.Resume(t.Context()))
		moved := timer().Sub(before)
		if moved < 10*time.Minute || moved > 10*time.Minute+patience {
			t.Errorf("%s: a pause of 10 minutes moved the timer by %s", does, moved)
		}
		if got := h.run(h.handler, "STATES", i.ID()); got.State != "suspended" {
			t.Errorf("%s: the run after resume is %+v", does, got)
		}
		after, job := h.Instance(i.ID()), read[[]time.Time](h.rig, "SELECT VALUE run_at FROM $id.job", map[string]any{"id": instanceKey(i.ID())})
		if after.WakeAt == nil || !after.WakeAt.Equal(timer()) || !timer().Equal(before.Add(moved)) || len(job) != 1 || !job[0].Equal(timer()) {
			t.Errorf("%s: the instance wakes at %v by the job due at %v, want %s", does, after.WakeAt, job, timer())
		}
	}
}

// TestPauseBetweenAttempts: a step with attempts left does not keep a pause waiting until they are used up.
func TestPauseBetweenAttempts(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	var calls atomic.Int32
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "FLAKY", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "flaky", func(context.Context) (int, error) {
				calls.Add(1)
				return 0, errors.New("no")
			}, wf.Retry(10_000, 20*time.Millisecond, wf.Constant))
		})
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.Poll("the step has failed some times", func() (bool, any) { return calls.Load() > 2, calls.Load() })
	check(t, i.Pause(t.Context()))
	before := calls.Load()
	r.untilStatus(i, wf.Paused)
	n := calls.Load()
	if n > before+2 {
		t.Errorf("%d attempts were made after the pause was asked for", n-before)
	}
	if step := r.Steps(i.ID())["do flaky #1"]; step.Status != "retrying" || len(step.Attempts) != int(n) {
		t.Errorf("after %d calls the step is %s with %d attempts", n, step.Status, len(step.Attempts))
	}
	check(t, i.Resume(t.Context()))
	r.Poll("it goes on", func() (bool, any) { return calls.Load() > n, calls.Load() })
	check(t, i.Terminate(t.Context()))
}

// TestPauseTakenBack: a pause that is taken back right before it comes about leaves nothing waiting
// that would go on, while a branch sleeps for an hour.
func TestPauseTakenBack(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	held, free := make(chan struct{}), make(chan struct{})
	g := newGate(r.DB.Retrying(), "suspend")
	engine := r.newEngine(wf.Config{DB: g})
	code := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		nap := wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) { return 0, s.Sleep(ctx, "long", time.Hour) })
		slow := wf.Go(ctx, s, "slow", func(context.Context) (int, error) { close(held); <-free; return 1, nil })
		if _, err := slow.Wait(); err != nil {
			return 0, err
		}
		if _, err := wf.Do(ctx, s, "next", func(context.Context) (int, error) { return 2, nil }); err != nil {
			return 0, err
		}
		return nap.Wait()
	}
	wf.Register(engine, "BACK", code)
	flow := wf.Register(r.newEngine(wf.Config{}), "BACK", code)
	handler := engine.Handler(http.NotFoundHandler())
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	answers := make(chan reply, 1)
	go func() { answers <- r.run(handler, "BACK", i.ID()) }()
	<-held
	r.Poll("the branch sleeps", func() (bool, any) {
		s := r.Steps(i.ID())
		return s["sleep long #1"].Status == "waiting" && s["do slow #1"].Status == "running", s
	})
	check(t, i.Pause(t.Context()))
	close(free) // the commit of slow learns of the pause
	<-g.reached
	check(t, i.Resume(t.Context()))
	close(g.open)
	<-answers
	if row := r.Instance(i.ID()); row.Status != "queued" {
		t.Errorf("the instance is %s, waiting for %v until %v", row.Status, row.WaitingFor, row.WakeAt)
	}
	if got := r.run(handler, "BACK", i.ID()); got.State != "suspended" || r.Steps(i.ID())["do next #1"].Status != "complete" {
		t.Errorf("the next run is %+v and leaves %+v", got, r.Steps(i.ID()))
	}
}

// TestPausedByADeadProcess: a pause asked for while a process ran that then died is honoured by the
// next run, before any further step.
func TestPausedByADeadProcess(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.StartNode(r.Serve(r.world))
	var later atomic.Int32
	held := make(chan struct{}, 2)
	code := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		_, err := wf.Do(ctx, s, "held", func(ctx context.Context) (int, error) {
			held <- struct{}{}
			<-ctx.Done()
			return 0, ctx.Err()
		}, wf.Retry(5, 0, wf.Constant))
		later.Add(1)
		return 0, err
	}
	var flow *wf.Workflow[int]
	p := r.newProcess("DYING", func(e *wf.Engine) { wf.Register(e, "DYING", code) })
	flow = wf.Register(r.newEngine(wf.Config{}), "DYING", code)
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	<-held
	check(t, i.Pause(t.Context()))
	p.kill()
	r.untilStatus(i, wf.Paused)
	if len(held) != 0 {
		t.Error("the step was called again although the instance was to pause")
	}
	check(t, i.Terminate(t.Context()))
}

// TestTerminateReachesARunningStep: its context ends long before the run's next heartbeat would have
// noticed, because the node aborts the request.
func TestTerminateReachesARunningStep(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	held, ended := make(chan struct{}), make(chan error, 1)
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "LONG", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			_, err := wf.Do(ctx, s, "long", func(ctx context.Context) (int, error) {
				close(held)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return 0, ctx.Err()
			})
			if !errors.Is(err, wf.ErrSuspended) {
				t.Errorf("the step gives %v", err)
			}
			return 0, err
		})
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	<-held
	r.Poll("the step shows as running; nothing is written from then on", func() (bool, any) { return r.Steps(i.ID())["do long #1"].Status == "running", nil })
	began := time.Now()
	check(t, i.Terminate(t.Context()))
	<-ended
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %s, as long as a heartbeat", took)
	}
	r.untilStatus(i, wf.Terminated)
	r.Consistent(i.ID())
}

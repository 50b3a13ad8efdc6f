package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

// TestEventRacesSuspension sends each of 200 instances its event while its first run is going to
// sleep: before, during and after the write that suspends it. None misses it, none has it twice.
func TestEventRacesSuspension(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "RACE", func(ctx context.Context, ev wf.Event[int], s *wf.Step) ([]int, error) {
			first, err := wf.WaitForEvent[int](ctx, s, "w", "go")
			if err != nil {
				return nil, err
			}
			second, err := wf.WaitForEvent[int](ctx, s, "w", "go")
			return []int{first.Payload, second.Payload}, err
		})
	})
	const n = 200
	instances := make([]*wf.Instance, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, 20)
	for k := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			i, err := flow.Create(context.WithoutCancel(t.Context()), k)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			instances[k] = i
			pause := time.NewTimer(time.Duration(k%40) * time.Millisecond / 2)
			<-pause.C
			for e := range 2 {
				if err := i.SendEvent(context.WithoutCancel(t.Context()), "go", 2*k+e); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	all.Wait()
	for k, i := range instances {
		var out []int
		check(t, r.untilStatus(i, wf.Complete).Output(&out))
		if !slices.Equal(out, []int{2 * k, 2*k + 1}) {
			t.Errorf("instance %d got %v", k, out)
		}
		r.Consistent(i.ID())
	}
}

// TestEventRightBeforeSuspension: an event sent when the run has looked for it in vain, right before or
// right after the write that suspends it, wakes the instance at once.
func TestEventRightBeforeSuspension(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	for _, before := range []bool{true, false} {
		g := newGate(r.DB.Retrying(), "suspend")
		engine := r.newEngine(wf.Config{DB: g})
		code := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			got, err := wf.WaitForEvent[int](ctx, s, "w", "go")
			return got.Payload, err
		}
		wf.Register(engine, "EDGE", code)
		i, err := wf.Register(r.newEngine(wf.Config{}), "EDGE", code).Create(t.Context(), 0)
		check(t, err)
		handler := engine.Handler(http.NotFoundHandler())
		answers := make(chan reply, 1)
		go func() { answers <- r.run(handler, "EDGE", i.ID()) }()
		<-g.reached
		if before {
			check(t, i.SendEvent(t.Context(), "go", 7))
		}
		close(g.open)
		<-answers
		if !before {
			check(t, i.SendEvent(t.Context(), "go", 7))
		}
		due := read[[]bool](r, "SELECT VALUE run_at <= time::now() FROM $id.job WHERE status = 'pending'", map[string]any{"id": instanceKey(i.ID())})
		if len(due) != 1 || !due[0] {
			t.Errorf("before %t: the job is due: %v; %+v", before, due, r.Instance(i.ID()))
		}
		if got := r.run(handler, "EDGE", i.ID()); got.State != "complete" {
			t.Errorf("before %t: the next run is %+v", before, got)
		}
	}
}

// TestEventRacesTimeout: an event sent around the deadline is either received or kept, never both and
// never neither.
func TestEventRacesTimeout(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "DEADLINE", func(ctx context.Context, ev wf.Event[int], s *wf.Step) (string, error) {
			got, err := wf.WaitForEvent[int](ctx, s, "w", "go", wf.Timeout(time.Second))
			if errors.Is(err, wf.ErrTimeout) {
				later, err := wf.WaitForEvent[int](ctx, s, "later", "go")
				return fmt.Sprintf("late %d", later.Payload), err
			}
			return fmt.Sprintf("in time %d", got.Payload), err
		})
	})
	const n = 60
	var all sync.WaitGroup
	instances := make([]*wf.Instance, n)
	for k := range n {
		all.Go(func() {
			i, err := flow.Create(context.WithoutCancel(t.Context()), k)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			instances[k] = i
			waits := r.until(i, "waiting", func(rep wf.Report) bool { return rep.WakeAt != nil })
			left := time.Until(*waits.WakeAt)
			if left > time.Second { // so slow a machine that the deadline has passed already
				left = 0
			}
			pause := time.NewTimer(left + time.Duration(k-n/2)*time.Millisecond)
			<-pause.C
			if err := i.SendEvent(context.WithoutCancel(t.Context()), "go", k); err != nil {
				t.Errorf("send: %v", err)
			}
		})
	}
	all.Wait()
	inTime := 0
	for k, i := range instances {
		var out string
		check(t, r.untilStatus(i, wf.Complete).Output(&out))
		events := r.Events(i.ID())
		if out != fmt.Sprintf("late %d", k) && out != fmt.Sprintf("in time %d", k) || len(events) != 1 || events[0].ConsumedBy == nil {
			t.Errorf("instance %d came to %q with %+v", k, out, events)
		}
		if out[0] == 'i' {
			inTime++
		}
		r.Consistent(i.ID())
	}
	t.Logf("%d of %d in time", inTime, n)
}

// TestEventsSideBySide: two branches that wait for one type get one event each, and one more of the
// same type stays for whoever waits next.
func TestEventsSideBySide(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "PAIR", func(ctx context.Context, _ wf.Event[int], s *wf.Step) ([]int, error) {
			branch := func(name string) *wf.Future[int] {
				return wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) {
					got, err := wf.WaitForEvent[int](ctx, s, name, "go")
					return got.Payload, err
				})
			}
			left, right := branch("left"), branch("right")
			l, err := left.Wait()
			if err != nil {
				return nil, err
			}
			m, err := right.Wait()
			if err != nil {
				return nil, err
			}
			last, err := wf.WaitForEvent[int](ctx, s, "last", "go")
			out := []int{l, m}
			slices.Sort(out)
			return append(out, last.Payload), err
		})
	})
	for _, together := range []bool{true, false} {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		r.until(i, "waiting twice", func(rep wf.Report) bool { return fmt.Sprint(rep.WaitingFor["waits"]) == "2" })
		for n := 1; n <= 3; n++ {
			check(t, i.SendEvent(t.Context(), "go", n))
			if !together {
				r.until(i, "some steps further", func(rep wf.Report) bool { return rep.StepsDone == n })
			}
		}
		var out []int
		check(t, r.untilStatus(i, wf.Complete).Output(&out))
		if !slices.Equal(out, []int{1, 2, 3}) {
			t.Errorf("together %t: %v", together, out)
		}
		r.Consistent(i.ID())
	}
}

package admin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

type ask struct {
	Text string `json:"text"`
}

// flow is a step that fails once, a step with a number, a wait for an event.
func flow(ctx context.Context, ev wf.Event[ask], step *wf.Step) (string, error) {
	tries := 0
	_, err := wf.Do(ctx, step, "flaky", func(context.Context) (int, error) {
		if tries++; tries == 1 {
			return 0, errors.New("not today")
		}
		return 7, nil
	}, wf.Retry(2, time.Millisecond, wf.Constant))
	if err != nil {
		return "", err
	}
	for range 2 {
		if _, err := wf.Do(ctx, step, "again", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
	}
	got, err := wf.WaitForEvent[ask](ctx, step, "answer", "answered")
	if err != nil {
		return "", err
	}
	return ev.Payload.Text + " " + got.Payload.Text, nil
}

// TestWatch follows an instance from before its first run to its end, and looks at what is left.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA", Params: []byte(`{"text": "hello"}`)})
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", flow) })
	var told []Progress
	sent := false
	end, err := r.durable.Watch(r.ctx, id, func(p Progress) error {
		told = append(told, p)
		if p.Instance.Status == wf.Waiting && !sent { // to send it changes the instance, which is told too
			sent = true
			_, err := r.durable.SendEvent(r.ctx, id, "answered", []byte(`{"text": "world"}`))
			return err
		}
		return nil
	})
	r.check(err)
	last := told[len(told)-1]
	if end.Instance.Status != wf.Complete || last.Instance.Status != wf.Complete || last.Instance.StepsDone != 4 || len(last.Steps) != 4 {
		t.Errorf("told last: %s", pretty(t, last))
	}
	var finished []string
	for i, p := range told {
		if i > 0 && p.Instance.StepsDone < told[i-1].Instance.StepsDone {
			t.Errorf("steps_done fell from %d to %d", told[i-1].Instance.StepsDone, p.Instance.StepsDone)
		}
		for _, s := range p.Changed {
			if s.Done() {
				finished = append(finished, s.Label())
			}
		}
	}
	if want := []string{"flaky", "again", "again #2", "answer"}; !slices.Equal(finished, want) {
		t.Errorf("told as finished: %q, want %q", finished, want)
	}
	r.looksWell(id)
	if expected, err := r.durable.Expected(r.ctx, "ALPHA"); expected != 4 || err != nil {
		t.Errorf("the next one is expected to have %d steps: %v", expected, err)
	}
}

// looksWell checks what can be read of a complete instance of flow.
func (r *rig) looksWell(id string) {
	r.t.Helper()
	i := r.get(id)
	if string(i.Output) != `"hello world"` || i.LeasedUntil != nil || i.StartedAt == nil || i.FinishedAt == nil {
		r.t.Errorf("instance %s", pretty(r.t, i))
	}
	steps, err := r.durable.Steps(r.ctx, id, i.Incarnation, true)
	r.check(err)
	flaky, answer := steps[0], steps[3]
	if len(flaky.Attempts) != 2 || flaky.Attempts[0].Error.Message != "not today" || flaky.Attempts[1].Error != nil || string(flaky.Output) != "7" ||
		flaky.Config.Retries.Limit != 2 || flaky.Config.Retries.Backoff != "constant" {
		r.t.Errorf("step %s", pretty(r.t, flaky))
	}
	if answer.Kind != "waitForEvent" || answer.Status != "complete" || answer.FinishedAt == nil {
		r.t.Errorf("step %s", pretty(r.t, answer))
	}
	if events, err := r.durable.Events(r.ctx, id, 0); err != nil || len(events) == 0 || !events[0].Consumed {
		r.t.Errorf("events %v %v", events, err)
	}
}

// TestWatchOfARestart sees steps go and come.
func TestWatchOfARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", flow) })
	restarted := false
	end, err := r.durable.Watch(r.ctx, id, func(p Progress) error {
		if p.Instance.Incarnation == 1 && p.Instance.StepsDone != countDone(p.Steps) && !p.Instance.Live() {
			t.Errorf("%d steps are done and %d are told", p.Instance.StepsDone, countDone(p.Steps))
		}
		if p.Instance.Status != wf.Waiting {
			return nil
		}
		if !restarted {
			restarted = true
			_, err := r.durable.Restart(r.ctx, id)
			return err
		}
		_, err := r.durable.Terminate(r.ctx, id)
		return err
	})
	r.check(err)
	if end.Instance.Status != wf.Terminated || end.Instance.Incarnation != 1 {
		t.Errorf("the end: %s", pretty(t, end))
	}
}

func countDone(steps []Step) int {
	n := 0
	for _, s := range steps {
		if s.Done() {
			n++
		}
	}
	return n
}

func TestWatchOfNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	never := func(Progress) error { t.Error("told"); return nil }
	if _, err := r.durable.Watch(r.ctx, "nowhere", never); !errors.Is(err, ErrNotFound) {
		t.Errorf("watch: %v", err)
	}
	if _, err := r.durable.Get(r.ctx, "nowhere"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	id := r.create(NewInstance{Binding: "ALPHA"})
	if _, err := r.durable.Watch(ctx, id, func(Progress) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("watch until the context ends: %v", err)
	}
}

// TestAPanic shows where it happened, to operators alone.
func TestAPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA"})
	r.running(func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, _ wf.Event[ask], step *wf.Step) (int, error) {
			return wf.Do(ctx, step, "explode", func(context.Context) (int, error) { panic("boom") }, wf.Retry(0, 0, wf.Constant))
		})
	})
	end, err := r.durable.Watch(r.ctx, id, func(Progress) error { return nil })
	r.check(err)
	if end.Instance.Error == nil || end.Instance.Error.Stack != "" || end.Steps[0].Error.Stack != "" {
		t.Errorf("told last: %s", pretty(t, end))
	}
	steps, err := r.durable.Steps(r.ctx, id, 0, true)
	r.check(err)
	if e := steps[0].Error; e == nil || e.Name != "PanicError" || e.Message != "panic: boom" || !strings.Contains(e.Stack, "watch_test.go") {
		t.Errorf("the step's error is %+v", steps[0].Error)
	}
}

package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// parts is a workflow of many steps whose functions are counted:
//
//	do a · wait w · do b · sleep b · do c · what the params say · do b #2
type parts struct {
	*rig
	handler http.Handler
	flow    *wf.Workflow[string]
	held    chan struct{} // gets a value when step c is held
	runs    sync.WaitGroup

	mu    sync.Mutex
	calls map[string]int
}

func newParts(t *testing.T) *parts {
	p := &parts{rig: newDatabase(t), held: make(chan struct{}, 1), calls: map[string]int{}}
	engine := p.newEngine(wf.Config{})
	p.handler = engine.Handler(http.NotFoundHandler())
	p.flow = wf.Register(engine, "PARTS", p.code)
	return p
}

// do is a step that answers with how often its function was called in the life of the instance.
func (p *parts) do(ctx context.Context, s *wf.Step, name string) (int, error) {
	return wf.Do(ctx, s, name, func(ctx context.Context) (int, error) {
		p.mu.Lock()
		p.calls[s.InstanceID()+" "+name]++
		n := p.calls[s.InstanceID()+" "+name]
		p.mu.Unlock()
		return n, nil
	})
}

func (p *parts) code(ctx context.Context, ev wf.Event[string], s *wf.Step) (string, error) {
	a, errA := p.do(ctx, s, "a")
	w, errW := wf.WaitForEvent[int](ctx, s, "w", "go")
	b, errB := p.do(ctx, s, "b")
	if err := errors.Join(errA, errW, errB, s.Sleep(ctx, "b", time.Millisecond)); err != nil {
		return "", err
	}
	c, err := p.do(ctx, s, "c")
	if err != nil {
		return "", err
	}
	if b == 1 { // what is done again goes through
		if err := p.ending(ctx, ev.Payload, s); err != nil {
			return "", err
		}
	}
	again, err := p.do(ctx, s, "b")
	return fmt.Sprintf("a %d, w %d, b %d, c %d, b %d", a, w.Payload, b, c, again), err
}

func (p *parts) ending(ctx context.Context, how string, s *wf.Step) error {
	switch how {
	case "errored":
		_, err := wf.Do(ctx, s, "fails", func(context.Context) (int, error) { return 0, wf.NonRetryable(errors.New("no")) })
		return err
	case "sleeping", "paused":
		return s.Sleep(ctx, "long", time.Hour)
	case "waiting", "terminated":
		_, err := wf.WaitForEvent[int](ctx, s, "more", "more")
		return err
	case "running":
		_, err := wf.Do(ctx, s, "held", func(ctx context.Context) (int, error) {
			p.held <- struct{}{}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		return err
	}
	return nil
}

// bring creates an instance and brings it into a state; three events are sent, of which its step w gets one.
func (p *parts) bring(state string) *wf.Instance {
	p.t.Helper()
	ctx := p.t.Context()
	i, err := p.flow.Create(ctx, state)
	check(p.t, err)
	for _, typ := range []string{"other", "go", "go"} {
		check(p.t, i.SendEvent(ctx, typ, 7))
	}
	if state == "running" {
		p.runs.Go(func() {
			for p.Instance(i.ID()).Incarnation == 0 { // a run that is lost has been held
				p.run(p.handler, "PARTS", i.ID())
			}
		})
		<-p.held
	} else {
		p.until(i, "where it stays", func(r wf.Report) bool {
			p.run(p.handler, "PARTS", i.ID())
			return r.FinishedAt != nil || r.Status == wf.Waiting
		})
	}
	switch state {
	case "paused":
		check(p.t, i.Pause(ctx))
	case "terminated":
		check(p.t, i.Terminate(ctx))
	}
	return i
}

// TestRestartFromAStep: in any state, an instance begins again from a step. What began before it stays, with the event
// that it got, and is replayed; what began later is forgotten, and so is a run under way.
func TestRestartFromAStep(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	for _, state := range []string{"complete", "errored", "running", "paused", "sleeping", "waiting", "terminated"} {
		i := p.bring(state)
		was, steps := p.Instance(i.ID()), p.Steps(i.ID())
		check(t, i.Restart(t.Context(), wf.From(wf.StepRef{Name: "b"})))
		p.runs.Wait() // a run that was under way has found that it is lost
		p.begunAgain(state, i, was, steps)
		row := p.finish(p.handler, "PARTS", i)
		if row.Status != "complete" || row.Output != "a 1, w 7, b 3, c 2, b 4" && row.Output != "a 1, w 7, b 2, c 2, b 3" {
			t.Errorf("%s: it comes to %s with %v, %v", state, row.Status, row.Output, row.Error)
		}
		p.Consistent(i.ID())
	}
}

// begunAgain looks at an instance that was restarted from its do b #1.
func (p *parts) begunAgain(state string, i *wf.Instance, was instanceRow, steps map[string]durable.StepRow) {
	p.t.Helper()
	now, left := p.Instance(i.ID()), p.Steps(i.ID())
	p.Consistent(i.ID())
	want := map[string]durable.StepRow{"do a #1": steps["do a #1"], "waitForEvent w #1": steps["waitForEvent w #1"]}
	if !reflect.DeepEqual(left, want) {
		p.t.Errorf("%s: left are the steps\n%+v, want\n%+v", state, left, want)
	}
	events := p.Events(i.ID())
	if len(events) != 1 || events[0].ConsumedBy == nil || !strings.Contains(surreal.FormatID(*events[0].ConsumedBy), "['"+i.ID()+"', 1, 'waitForEvent', 'w', 1]") {
		p.t.Errorf("%s: left are the events %+v", state, events)
	}
	gone := now
	gone.Job, gone.UpdatedAt = was.Job, was.UpdatedAt
	kept := instanceRow{
		ID: was.ID, Binding: was.Binding, Status: "queued", StepsDone: 2, CreatedAt: was.CreatedAt, UpdatedAt: was.UpdatedAt, Runs: was.Runs,
		Fence: was.Fence + 1, Incarnation: 1, Job: was.Job, EventsSent: 2,
	}
	if !reflect.DeepEqual(gone, kept) {
		p.t.Errorf("%s: it is\n%+v, want\n%+v", state, gone, kept)
	}
	due := read[bool](p.rig, "RETURN (SELECT VALUE run_at <= time::now() AND status = 'pending' FROM ONLY $job)", map[string]any{"job": now.Job})
	if now.Job == was.Job || !due {
		p.t.Errorf("%s: it has no job of its own that is due: %v, was %v", state, now.Job, was.Job)
	}
}

// TestRestartFromWhichStep: a step is found by its name, and by count and type where several have it; what is not
// there is refused, and changes nothing.
func TestRestartFromWhichStep(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	for name, c := range map[string]struct {
		from wf.StepRef
		left []string
	}{
		"do before sleep":         {wf.StepRef{Name: "b"}, []string{"do a #1", "waitForEvent w #1"}},
		"the same, said in full":  {wf.StepRef{Name: "b", Count: 1, Type: "do"}, []string{"do a #1", "waitForEvent w #1"}},
		"the sleep":               {wf.StepRef{Name: "b", Type: "sleep"}, []string{"do a #1", "do b #1", "waitForEvent w #1"}},
		"the second do":           {wf.StepRef{Name: "b", Count: 2}, []string{"do a #1", "do b #1", "do c #1", "sleep b #1", "waitForEvent w #1"}},
		"a wait, without type":    {wf.StepRef{Name: "w"}, []string{"do a #1"}},
		"a wait, by type":         {wf.StepRef{Name: "w", Type: "waitForEvent"}, []string{"do a #1"}},
		"the first: all are gone": {wf.StepRef{Name: "a"}, nil},
	} {
		i := p.bring("complete")
		check(t, i.Restart(t.Context(), wf.From(c.from)))
		left := slices.Sorted(maps.Keys(p.Steps(i.ID())))
		if row := p.Instance(i.ID()); !slices.Equal(left, c.left) || row.StepsDone != len(left) {
			t.Errorf("%s: left are %v of which %d count as done, want %v", name, left, row.StepsDone, c.left)
		}
		p.Consistent(i.ID())
	}
	p.refusesFrom(p.bring("waiting"))
}

// refusesFrom tries what no instance of parts has, or nobody can mean.
func (p *parts) refusesFrom(i *wf.Instance) {
	p.t.Helper()
	ctx := p.t.Context()
	before := p.snapshot()
	for _, c := range []struct {
		from wf.StepRef
		want error
		says string
	}{
		{wf.StepRef{Name: "none"}, wf.ErrStepNotFound, `restart from "none" of instance ` + i.ID() + ": wf: step not found in execution history"},
		{wf.StepRef{Name: "a", Count: 2}, wf.ErrStepNotFound, `"a" #2`},
		{wf.StepRef{Name: "b", Count: 2}, wf.ErrStepNotFound, ""},
		{wf.StepRef{Name: "a", Type: "sleep"}, wf.ErrStepNotFound, `sleep "a"`},
		{wf.StepRef{}, wf.ErrName, "missing"},
		{wf.StepRef{Name: strings.Repeat("x", 257)}, wf.ErrName, "longer than 256"},
		{wf.StepRef{Name: "a\xff"}, wf.ErrName, "UTF-8"},
		{wf.StepRef{Name: "a", Count: -1}, wf.ErrConfig, "counted from 1"},
		{wf.StepRef{Name: "a", Type: "step"}, wf.ErrConfig, "allowed: do, sleep, waitForEvent"},
	} {
		if err := i.Restart(ctx, wf.From(c.from)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			p.t.Errorf("from %+v: %v", c.from, err)
		}
		p.unchanged(fmt.Sprintf("a restart from %+v", c.from), before)
	}
	check(p.t, i.Terminate(ctx))
	p.Exec("DELETE $id", map[string]any{"id": instanceKey(i.ID())})
	if err := i.Restart(ctx, wf.From(wf.StepRef{Name: "a"})); !errors.Is(err, wf.ErrNotFound) {
		p.t.Errorf("of an instance that there is not: %v", err)
	}
}

// beside is a workflow whose steps run side by side; in its first pass each begins when the one before has its row.
type beside struct {
	*rig
	handler http.Handler
	flow    *wf.Workflow[string]
	next    chan struct{} // lets the next step begin, until it is closed
	passes  atomic.Int32
	runs    sync.WaitGroup
}

func newBeside(t *testing.T) *beside {
	b := &beside{rig: newDatabase(t), next: make(chan struct{})}
	engine := b.newEngine(wf.Config{})
	b.handler = engine.Handler(http.NotFoundHandler())
	b.flow = wf.Register(engine, "BESIDE", b.code)
	return b
}

func (b *beside) code(ctx context.Context, ev wf.Event[string], s *wf.Step) ([]int, error) {
	first := b.passes.Add(1) == 1
	hold := func(ctx context.Context) (int, error) {
		if first {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}
		return wf.Attempt(ctx), nil
	}
	nap := wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) { return 1, s.Sleep(ctx, "nap", time.Hour) })
	<-b.next
	early := wf.Go(ctx, s, "early", func(ctx context.Context) (int, error) {
		if ev.Payload == "waits" {
			return 1, nil
		}
		return hold(ctx)
	}, wf.Retry(1, 0, wf.Constant))
	<-b.next
	last := wf.Go(ctx, s, "last", func(context.Context) (int, error) { return 1, nil })
	if ev.Payload == "waits" {
		if _, err := wf.WaitForEvent[int](ctx, s, "more", "more"); err != nil {
			return nil, err
		}
	} else if _, err := wf.Do(ctx, s, "late", hold); err != nil {
		return nil, err
	}
	var all []int
	for _, f := range []*wf.Future[int]{early, last, nap} {
		n, err := f.Wait()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// bring starts an instance and lets its steps begin in their order, until the last has its row.
func (b *beside) bring(does, last string) *wf.Instance {
	b.t.Helper()
	i, err := b.flow.Create(b.t.Context(), does)
	check(b.t, err)
	b.runs.Go(func() { b.run(b.handler, "BESIDE", i.ID()) })
	for _, key := range []string{"sleep nap #1", "do early #1", last} {
		b.Poll(key+" has begun", func() (bool, any) { _, ok := b.Steps(i.ID())[key]; return ok, b.Steps(i.ID()) })
		if key != last {
			b.next <- struct{}{}
		}
	}
	close(b.next)
	return i
}

// TestRestartFromBesideOthers: of steps that ran side by side, those that began earlier stay as they are although they
// are not done: a sleep goes on sleeping, and a function that was cut off counts as an attempt, as after a crash.
func TestRestartFromBesideOthers(t *testing.T) {
	t.Parallel()
	b := newBeside(t)
	i := b.bring("holds", "do late #1")
	was := b.Steps(i.ID())
	check(t, i.Restart(t.Context(), wf.From(wf.StepRef{Name: "late"})))
	b.runs.Wait()
	left := b.Steps(i.ID())
	for _, key := range []string{"sleep nap #1", "do early #1"} {
		if left[key].Done() || !reflect.DeepEqual(left[key], was[key]) {
			t.Errorf("%s is\n%+v, and was\n%+v", key, left[key], was[key])
		}
	}
	if _, ok := left["do late #1"]; ok {
		t.Errorf("left are %+v", left)
	}
	b.Consistent(i.ID())
	b.run(b.handler, "BESIDE", i.ID())
	b.run(b.handler, "BESIDE", i.ID())
	row, steps := b.Instance(i.ID()), b.Steps(i.ID())
	early := steps["do early #1"]
	if len(early.Attempts) != 2 || early.Attempts[0].Error == nil || early.Attempts[0].Error.Name != "AttemptLostError" || early.Attempts[1].Error != nil {
		t.Errorf("the step that was cut off has the attempts %+v", early.Attempts)
	}
	if row.WaitingFor["name"] != "nap" || row.WakeAt == nil || !row.WakeAt.Equal(*was["sleep nap #1"].WakeAt) {
		t.Errorf("it waits for %v until %v, want until %v", row.WaitingFor, row.WakeAt, was["sleep nap #1"].WakeAt)
	}
	b.Consistent(i.ID())
}

// TestRestartFromEndsAPause: the timers of steps that stay move by the time that a pause lasted, as with resume.
func TestRestartFromEndsAPause(t *testing.T) {
	t.Parallel()
	b := newBeside(t)
	i := b.bring("waits", "waitForEvent more #1")
	b.runs.Wait()
	check(t, i.Pause(t.Context()))
	b.Exec("UPDATE $id SET paused_at = time::now() - 10m", map[string]any{"id": instanceKey(i.ID())})
	was := b.Steps(i.ID())["sleep nap #1"].WakeAt
	check(t, i.Restart(t.Context(), wf.From(wf.StepRef{Name: "more"})))
	now := b.Steps(i.ID())["sleep nap #1"].WakeAt
	if moved := now.Sub(*was); moved < 10*time.Minute || moved > 11*time.Minute {
		t.Errorf("after a pause of ten minutes the sleep has moved by %s", moved)
	}
	if b.run(b.handler, "BESIDE", i.ID()); b.Instance(i.ID()).Status != "waiting" {
		t.Errorf("it is %+v", b.Instance(i.ID()))
	}
}

// TestRestartFromLate keeps many steps and events in one transaction.
func TestRestartFromLate(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	i, err := p.flow.Create(t.Context(), "")
	check(t, err)
	const kept = 1000
	vars := map[string]any{"id": i.ID(), "key": instanceKey(i.ID()), "kept": kept}
	p.Exec(`UPDATE $key SET status = 'complete', finished_at = time::now(), runs = 1, started_at = time::now(), steps_done = $kept + 2, events_sent = $kept, job = NONE;
		INSERT INTO _00_wf_step (array::range(0, $kept + 2).map(|$n| { RETURN {
			id: type::record('_00_wf_step', [$id, 0, 'waitForEvent', 'w', $n + 1]), instance: $key, seq: $n + 1, kind: 'waitForEvent', name: 'w', occurrence: $n + 1,
			status: 'complete', output: $n, attempts: [], started_at: time::now(), finished_at: time::now()
		} })) RETURN NONE;
		INSERT INTO _00_wf_event (array::range(0, $kept).map(|$n| { RETURN {
			id: type::record('_00_wf_event', [$id, 0, $n + 1]), instance: $key, type: 'go', payload: $n, sent_at: time::now(),
			consumed_by: type::record('_00_wf_step', [$id, 0, 'waitForEvent', 'w', $n + 1])
		} })) RETURN NONE`, vars)
	began := time.Now()
	check(t, i.Restart(t.Context(), wf.From(wf.StepRef{Name: "w", Count: kept + 1})))
	t.Logf("%d steps and events are kept in %s", kept, time.Since(began))
	p.Consistent(i.ID())
	if row := p.Instance(i.ID()); row.StepsDone != kept || row.EventsSent != kept || len(p.Events(i.ID())) != kept {
		t.Errorf("%d steps, %d events of %d", row.StepsDone, len(p.Events(i.ID())), row.EventsSent)
	}
}

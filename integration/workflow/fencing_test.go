package workflow_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// fencedCalls are all the protocol's functions that a run calls, with the text of each answer to a
// run that has lost its instance: { ok: false }, or a THROW for the halves of a statement block.
func fencedCalls() map[string]string {
	const row = "{ id: _00_wf_step:[$id, 0, 'do', 'stale', 1], instance: type::record('_00_wf_instance', $id), seq: 9, kind: 'do', name: 'stale', occurrence: 1, status: 'complete', attempts: [], output: 'stale', started_at: time::now(), finished_at: time::now() }"
	const op = "{ instance: type::record('_00_wf_instance', $id), fence: $fence, ttl: 15s, name: 'stale' }"
	const step = op + ", " + row
	finish := "{ id: $id, fence: $fence, status: 'complete', output: 'stale', error: NONE, warning: NONE }"
	suspend := "{ id: $id, fence: $fence, waiting_for: { kind: 'sleep', name: 'stale', types: [] }, wake_at: time::now() + 1h, events: [] }"
	return map[string]string{
		"begin_step":    "fn::spky::wf::begin_step(" + step + ")",
		"commit_step":   "fn::spky::wf::commit_step(" + step + ", 1)",
		"commit_steps":  "fn::spky::wf::commit_steps([" + op + "], [" + row + "])[0]",
		"fail_attempt":  "fn::spky::wf::fail_attempt(" + step + ")",
		"all":           "fn::spky::wf::all([], [], [" + op + "], [" + row + "], [" + finish + "]).commits[0]",
		"renew":         "fn::spky::wf::renew($id, $fence, 15s)",
		"suspend":       "fn::spky::wf::suspend(" + suspend + ")",
		"hand_over":     "fn::spky::wf::hand_over($id, $fence)",
		"finish":        "fn::spky::wf::finish(" + finish + ")",
		"warn":          "fn::spky::wf::warn($id, $fence, { code: 'stale' }, false)",
		"warn, stalled": "fn::spky::wf::warn($id, $fence, { code: 'stale' }, true)",
		"hold":          "fn::spky::wf::hold(" + step + ")",
		"commit_query":  "fn::spky::wf::commit_query(" + step + ", 'stale')",
	}
}

// TestStaleFencesWriteNothing calls every fenced function with the fence of a run that has lost the
// instance, in each of the ways in which it can.
func TestStaleFencesWriteNothing(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "STALE", func(context.Context, wf.Event[int], *wf.Step) (int, error) { return 0, nil })
	acquire := func(id, token string) int {
		got := read[struct {
			State    string
			Instance struct{ Fence int }
		}](r, "RETURN fn::spky::wf::acquire($id, 'STALE', NONE, $run, 15s)", map[string]any{"id": id, "run": token})
		if got.State != "acquired" {
			t.Fatalf("acquire gives %+v", got)
		}
		return got.Instance.Fence
	}
	losses := map[string]func(i *wf.Instance, fence int){
		"taken over": func(i *wf.Instance, _ int) { r.lapse(i.ID()); acquire(i.ID(), "other") },
		"suspended": func(i *wf.Instance, fence int) {
			r.Exec("RETURN fn::spky::wf::hand_over($id, $fence)", map[string]any{"id": i.ID(), "fence": fence})
		},
		"finished": func(i *wf.Instance, fence int) {
			r.Exec("RETURN fn::spky::wf::finish({ id: $id, fence: $fence, status: 'complete', output: 1, error: NONE, warning: NONE })", map[string]any{"id": i.ID(), "fence": fence})
		},
		"terminated": func(i *wf.Instance, _ int) { check(t, i.Terminate(t.Context())) },
		"restarted":  func(i *wf.Instance, _ int) { check(t, i.Restart(t.Context())) },
		"restarted from a step": func(i *wf.Instance, fence int) {
			r.Exec(`RETURN fn::spky::wf::begin_step({ instance: $key, fence: $fence, ttl: 15s, name: 'a' }, {
				id: type::record('_00_wf_step', [$id, 0, 'do', 'a', 1]), instance: $key, seq: 1, kind: 'do', name: 'a', occurrence: 1,
				status: 'running', attempts: [], started_at: time::now()
			})`, map[string]any{"id": i.ID(), "key": instanceKey(i.ID()), "fence": fence})
			check(t, i.Restart(t.Context(), wf.From(wf.StepRef{Name: "a"})))
		},
		"restarted and taken over": func(i *wf.Instance, _ int) { check(t, i.Restart(t.Context())); acquire(i.ID(), "other") },
		"paused":                   func(i *wf.Instance, _ int) { r.lapse(i.ID()); check(t, i.Pause(t.Context())) },
		"paused, resumed, taken over": func(i *wf.Instance, _ int) {
			r.lapse(i.ID())
			check(t, i.Pause(t.Context()))
			check(t, i.Resume(t.Context()))
			acquire(i.ID(), "other")
		},
	}
	for loss, lose := range losses {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		fence := acquire(i.ID(), "mine")
		check(t, i.SendEvent(t.Context(), "kept", 1))
		lose(i, fence)
		for name, call := range fencedCalls() {
			before := r.snapshot()
			answer, err := surreal.First[map[string]any](t.Context(), r.DB.Retrying(), "RETURN "+call, map[string]any{"id": i.ID(), "fence": fence})
			if strings.HasPrefix(name, "hold") || name == "commit_query" {
				if thrown, _ := surreal.IsThrown(err); !strings.Contains(thrown, "spky: fenced") {
					t.Errorf("%s: %s gives %v (%v)", loss, name, answer, err)
				}
			} else if err != nil || answer["ok"] != false {
				t.Errorf("%s: %s gives %v (%v)", loss, name, answer, err)
			}
			r.unchanged(loss+": "+name, before)
		}
	}
}

// A gate freezes a database's user before its first call of a kind: that call and all others, such as
// heartbeats, wait until it is opened.
type gate struct {
	surreal.Querier
	before  string // part of the calls' text
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

func newGate(db surreal.Querier, before string) *gate {
	return &gate{Querier: db, before: before, reached: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	if strings.Contains(surql, g.before) {
		g.once.Do(func() { close(g.reached) })
	}
	select {
	case <-g.reached:
		<-g.open
	default:
	}
	return g.Querier.Query(ctx, surql, vars)
}

// TestFrozenBeforeAWrite freezes a run right before each kind of write that it can make, lets another
// run take the instance over and finish it, and lets the first go on: nothing changes any more.
func TestFrozenBeforeAWrite(t *testing.T) {
	t.Parallel()
	ok := func(context.Context) (int, error) { return 1, nil }
	fail := func(context.Context) (int, error) { return 0, fmt.Errorf("no") }
	for name, c := range map[string]struct {
		before string
		code   func(context.Context, *wf.Step) (int, error)
	}{
		"begin": {"begin_step", func(ctx context.Context, s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "a", ok, wf.Retry(0, 0, wf.Constant))
		}},
		"failed attempt": {"begin_step", func(ctx context.Context, s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "a", fail, wf.Retry(1, 0, wf.Constant))
		}},
		"commit": {"commit_steps", func(ctx context.Context, s *wf.Step) (int, error) { return wf.Do(ctx, s, "a", ok) }},
		"failed step": {"commit_steps", func(ctx context.Context, s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "a", func(context.Context) (int, error) { return 0, wf.NonRetryable(nil) })
		}},
		"sleep":   {"begin_step", func(ctx context.Context, s *wf.Step) (int, error) { return 1, s.Sleep(ctx, "s", 50*time.Millisecond) }},
		"suspend": {"suspend", func(ctx context.Context, s *wf.Step) (int, error) { return 1, s.Sleep(ctx, "s", 50*time.Millisecond) }},
		"finish":  {"finish", func(context.Context, *wf.Step) (int, error) { return 1, nil }},
		"errored": {"finish", func(context.Context, *wf.Step) (int, error) { return 0, fmt.Errorf("no") }},
		"event": {"commit_step(", func(ctx context.Context, s *wf.Step) (int, error) {
			got, err := wf.WaitForEvent[int](ctx, s, "w", "go")
			return got.Payload, err
		}},
		"query": {"BEGIN", func(ctx context.Context, s *wf.Step) (int, error) {
			return wf.Query[int](ctx, s, "q", "LET $n = UPSERT ONLY counter:one SET n += 1; RETURN $n.n", nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testFrozenBefore(t, c.before, c.code)
		})
	}
}

func testFrozenBefore(t *testing.T, before string, code func(context.Context, *wf.Step) (int, error)) {
	r := newDatabase(t)
	r.Exec("DEFINE TABLE counter", nil)
	g := newGate(r.DB.Retrying(), before)
	frozen, other := r.newEngine(wf.Config{DB: g}), r.newEngine(wf.Config{})
	flow := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) { return code(ctx, s) }
	wf.Register(frozen, "FROZEN", flow)
	i, err := wf.Register(other, "FROZEN", flow).Create(t.Context(), 0)
	check(t, err)
	check(t, i.SendEvent(t.Context(), "go", 7))
	answers := make(chan reply, 1)
	go func() { answers <- r.run(frozen.Handler(http.NotFoundHandler()), "FROZEN", i.ID()) }()
	select {
	case <-g.reached:
	case <-time.After(time.Minute):
		t.Fatalf("no call of %s within a minute", before)
	}
	r.lapse(i.ID())
	handler := other.Handler(http.NotFoundHandler())
	r.Poll("the other run finishes", func() (bool, any) {
		got := r.run(handler, "FROZEN", i.ID())
		status := r.Instance(i.ID()).Status
		return status == "complete" || status == "errored", got
	})
	r.Consistent(i.ID())
	was := r.snapshot()
	counted := read[[]int](r, "SELECT VALUE n FROM counter", nil)
	close(g.open)
	if got := <-answers; got.State != "lost" && got.State != "suspended" {
		t.Errorf("the frozen run answers %+v", got)
	}
	r.unchanged("the frozen run", was)
	if now := read[[]int](r, "SELECT VALUE n FROM counter", nil); len(now) != len(counted) || len(now) > 0 && now[0] != 1 {
		t.Errorf("the block ran: %v, then %v", counted, now)
	}
}

// TestManyRunsAtOneInstant: of any number of runs of one instance in two processes one executes, the
// others are told that it is busy.
func TestManyRunsAtOneInstant(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	var calls atomic.Int32
	release := make(chan struct{})
	flow := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "once", func(context.Context) (int, error) { calls.Add(1); <-release; return 1, nil })
	}
	one, two := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
	wf.Register(one, "ONCE", flow)
	i, err := wf.Register(two, "ONCE", flow).Create(t.Context(), 0)
	check(t, err)
	const each = 10
	answers := make(chan reply)
	for range each {
		for _, e := range []*wf.Engine{one, two} {
			go func() { answers <- r.run(e.Handler(http.NotFoundHandler()), "ONCE", i.ID()) }()
		}
	}
	for range 2*each - 1 {
		if got := <-answers; got.Code != http.StatusServiceUnavailable || got.Retry != "busy" {
			t.Errorf("a run beside another answers %+v", got)
		}
	}
	close(release)
	if got := <-answers; got.State != "complete" {
		t.Errorf("the run answers %+v", got)
	}
	if row := r.Instance(i.ID()); calls.Load() != 1 || row.Runs != 1 || row.StepsDone != 1 {
		t.Errorf("%d calls; %+v", calls.Load(), row)
	}
}

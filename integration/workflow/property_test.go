package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/wf"
)

// atOnce is how many random workflows run side by side.
const atOnce = 6

// A plan is a random workflow, with what it must come to and when its processes die.
type plan struct {
	c conformance
	// kills are numbers of calls to the database, of all processes of the workflow together: the
	// process that makes the call dies, before it where the number is odd, else after it.
	kills []int
	// verbs are what somebody does to the instance meanwhile, after pauses in milliseconds.
	verbs  []string
	pauses []int
}

// A generator draws workflows whose outcome is known beforehand.
type generator struct {
	t      *rapid.T
	steps  int
	events int
	vars   []any
	want   []any
	script []action
}

// keep names a variable for a value that the output must show.
func (g *generator) keep(value any) string {
	name := fmt.Sprintf("v%d", len(g.vars))
	g.vars, g.want = append(g.vars, map[string]any{"$var": name}), append(g.want, value)
	return name
}

func (g *generator) name(prefix string) string {
	g.steps++
	return fmt.Sprintf("%s%d", prefix, g.steps%3) // most names occur several times
}

// do is a step that fails some times and then returns, or fails for good and is caught. Attempts that
// die with a process count, so there are more than it needs.
func (g *generator) do(prefix string) op {
	no, bad := "no", "bad"
	delay := rapid.SampledFrom([]float64{0, 5, 20}).Draw(g.t, "delay")
	o := op{Do: g.name(prefix), Config: &opConfig{}}
	check(g.t, json.Unmarshal([]byte(fmt.Sprintf(`{"retries": {"limit": 20, "delay": %v, "backoff": %q}}`, delay, rapid.SampledFrom([]string{"constant", "linear"}).Draw(g.t, "backoff"))), o.Config))
	for range rapid.IntRange(0, 2).Draw(g.t, "failures") {
		o.Calls = append(o.Calls, behavior{Throw: &no})
	}
	switch rapid.IntRange(0, 3).Draw(g.t, "outcome") {
	case 0:
		o.Calls = append(o.Calls, behavior{NonRetryable: &bad})
		o.Caught = g.keep(map[string]any{"name": "NonRetryableError", "message": "bad"})
	case 1: // another value in each call: that all runs see the same is checked by the stage
		o.Calls = append(o.Calls, behavior{Return: json.RawMessage(`{"$step": "call"}`)})
	default:
		value := rapid.SampledFrom([]string{`1`, `null`, `"text"`, `[true, {"a": [1.5]}]`}).Draw(g.t, "value")
		var v any
		check(g.t, json.Unmarshal([]byte(value), &v))
		o.Calls = append(o.Calls, behavior{Return: json.RawMessage(value)})
		o.As = g.keep(v)
	}
	return o
}

func (g *generator) sleep(prefix string) op {
	name := g.name(prefix)
	return op{Sleep: &name, For: float64(rapid.SampledFrom([]int{0, 10, 60}).Draw(g.t, "sleep"))}
}

// wait is a wait for an event that is sent, or for one that is not. Each type is waited for by one
// goroutine of the workflow, which gets its events in order.
func (g *generator) wait(prefix string) op {
	name := g.name(prefix)
	o := op{Wait: &name, Type: "t" + prefix}
	if rapid.IntRange(0, 3).Draw(g.t, "unsent") == 0 {
		o.Type, o.Timeout = "never", 40.0
		o.Caught = g.keep(map[string]any{"name": "WorkflowTimeoutError", "message": "execution timed out after 40ms"})
		return o
	}
	g.events++
	n := float64(g.events)
	g.script = append(g.script, action{Send: &o.Type, Payload: n})
	o.As = g.keep(map[string]any{"type": o.Type, "payload": n})
	return o
}

// ops draws statements. Everything in a branch has names of its own, from prefix.
func (g *generator) ops(prefix string, depth int) []op {
	var ops []op
	for range rapid.IntRange(1, 4).Draw(g.t, "statements") {
		switch kind := rapid.IntRange(0, 9).Draw(g.t, "kind"); {
		case kind < 4:
			ops = append(ops, g.do(prefix))
		case kind < 6:
			ops = append(ops, g.sleep(prefix))
		case kind < 7:
			ops = append(ops, g.wait(prefix))
		case kind < 8:
			var all []op
			for range rapid.IntRange(1, 3).Draw(g.t, "side by side") {
				all = append(all, g.do(prefix))
			}
			ops = append(ops, op{All: all})
		case depth > 0:
			var branches [][]op
			for i := range rapid.IntRange(1, 3).Draw(g.t, "branches") {
				branches = append(branches, g.ops(fmt.Sprintf("%s%c", prefix, 'a'+i+len(ops)*3), depth-1))
			}
			ops = append(ops, op{Branches: branches})
		}
	}
	return ops
}

// plans draws a workflow, its outcome, and kills.
var plans = rapid.Custom(func(t *rapid.T) plan {
	g := &generator{t: t}
	c := conformance{ID: "random"}
	c.Workflow = g.ops("m", 2)
	c.Script = g.script
	c.Expect = expectation{Status: "complete"}
	if rapid.IntRange(0, 4).Draw(t, "ending") == 0 {
		end := "the end"
		c.Workflow = append(c.Workflow, op{Throw: &end})
		c.Expect = expectation{Status: "errored", Error: &expectedError{Name: "Error", Message: &end}}
	} else {
		value, want := json.RawMessage(durable.Must(json.Marshal(append([]any{}, g.vars...)))), json.RawMessage(durable.Must(json.Marshal(append([]any{}, g.want...))))
		c.Workflow = append(c.Workflow, op{Return: &value})
		c.Expect.Output = &want
	}
	p := plan{c: c, kills: rapid.SliceOfNDistinct(rapid.IntRange(1, 40), 2, 12, rapid.ID[int]).Draw(t, "kills")}
	p.verbs = rapid.SliceOfN(rapid.SampledFrom([]string{"pause", "pause", "resume", "resume", "resume", "restart", "restart from a step", "event"}), 0, 8).Draw(t, "verbs")
	p.pauses = rapid.SliceOfN(rapid.IntRange(0, 40), len(p.verbs), len(p.verbs)).Draw(t, "pauses")
	return p
})

// A reaper kills the processes of one workflow at the calls that the plan says.
type reaper struct {
	mu     sync.Mutex
	kills  []int
	before int
	after  int
}

func (k *reaper) beforeCall(string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before++
	return k.before%2 == 1 && slices.Contains(k.kills, k.before)
}

func (k *reaper) afterCall(string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.after++
	return k.after%2 == 0 && slices.Contains(k.kills, k.after)
}

// TestRandomWorkflows: whatever a workflow is made of and whenever its processes die, with two nodes
// and two processes at work, it comes to what its code says; every step is stored once, what a step
// came to is the same in every run, and steps_done equals the number of finished rows.
func TestRandomWorkflows(t *testing.T) {
	t.Parallel()
	testRandom(t, "RANDOM", func(r *rig, p plan, binding string) {
		d := r.stage(p, binding)
		d.play(p.c.Script)
		d.judge(p.c.Expect)
	})
}

// TestRandomVerbs: the same while somebody pauses, resumes and restarts the instance at any moment.
func TestRandomVerbs(t *testing.T) {
	t.Parallel()
	testRandom(t, "MEDDLED", func(r *rig, p plan, binding string) {
		p.kills = p.kills[:1]
		d := r.stage(p, binding)
		d.play(p.c.Script)
		d.meddle(p)
		d.judge(p.c.Expect)
	})
}

// meddle does the plan's verbs. What an instance's state refuses is as well; in the end it is left to
// itself, with all its events.
func (d *director) meddle(p plan) {
	d.t.Helper()
	ctx := d.t.Context()
	allow := func(err error) {
		d.t.Helper()
		var refused *wf.StateError
		if err != nil && !errors.As(err, &refused) {
			d.t.Errorf("meddling: %v", err)
		}
	}
	for n, verb := range p.verbs {
		<-after(ctx, int64(p.pauses[n]))
		switch verb {
		case "pause":
			allow(d.current.Pause(ctx))
		case "resume":
			allow(d.current.Resume(ctx))
		case "event":
			allow(d.current.SendEvent(ctx, "unheard", n))
		case "restart":
			check(d.t, d.current.Restart(ctx))
			d.sendAgain(p.c.Script)
		case "restart from a step":
			d.restartFromAny(p.pauses[n], p.c.Script)
		}
	}
	d.Poll("it is left to itself", func() (bool, any) {
		allow(d.current.Resume(ctx)) // a pause may still be coming about
		row := d.Instance(d.current.ID())
		return row.PauseRequested == nil && row.Status != "paused", row
	})
}

// restartFromAny restarts from one of the steps that there are, if any.
func (d *director) restartFromAny(which int, script []action) {
	d.t.Helper()
	steps := d.Steps(d.current.ID())
	if len(steps) == 0 {
		return
	}
	keys := slices.Sorted(maps.Keys(steps))
	step := steps[keys[which%len(keys)]]
	check(d.t, d.current.Restart(d.t.Context(), wf.From(wf.StepRef{Name: step.Name, Count: step.Occurrence, Type: step.Kind})))
	d.sendAgain(script)
}

// sendAgain sends the events of the script that a restart has dropped. Those that are left have been consumed, the first of
// their types.
func (d *director) sendAgain(script []action) {
	d.t.Helper()
	left := map[string]int{}
	for _, e := range d.Events(d.current.ID()) {
		if e.ConsumedBy != nil {
			left[e.Type]++
		}
	}
	for _, a := range script {
		if a.Send != nil && left[*a.Send] > 0 {
			left[*a.Send]--
			continue
		}
		err := d.act(a)
		var refused *wf.StateError
		if err != nil && !errors.As(err, &refused) {
			d.t.Errorf("sent again: %v", err)
		}
	}
}

// testRandom lets random workflows live on one database, with an eye on rows that must not change.
func testRandom(t *testing.T, name string, live func(r *rig, p plan, binding string)) {
	r := newDatabase(t)
	url := r.Serve(r.world)
	r.StartNode(url)
	r.StartNode(url)
	r.Exec(`DEFINE TABLE violation;
		DEFINE EVENT twice ON _00_wf_step WHEN $before.status IN ['complete', 'errored'] AND $event != 'DELETE' THEN {
			CREATE violation SET step = <string>$after.id, was = $before.status, now = $after.status
		};
		DEFINE EVENT resurrected ON _00_wf_instance
			WHEN $before.status IN ['complete', 'errored', 'terminated'] AND $event != 'DELETE' AND $after.incarnation = $before.incarnation THEN {
			CREATE violation SET instance = <string>$after.id, was = $before.status, now = $after.status
		};`, nil)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		drawn := rapid.SliceOfN(plans, atOnce, atOnce).Draw(rt, "plans")
		ok := t.Run(fmt.Sprint(round), func(t *testing.T) {
			for n, p := range drawn {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					t.Parallel()
					live(r.on(t), p, fmt.Sprintf("%s_%d_%d", name, round, n))
					if t.Failed() {
						t.Logf("kills %v, verbs %v, pauses %v of %s", p.kills, p.verbs, p.pauses, durable.Must(json.Marshal(p.c.Workflow)))
					}
				})
			}
		})
		if found := read[[]map[string]any](r, "SELECT * FROM violation", nil); len(found) > 0 {
			rt.Fatalf("finished rows were written again: %v", found)
		}
		if !ok {
			rt.Fatal("see above")
		}
	})
}

// stage starts the processes of a plan.
func (r *rig) stage(p plan, binding string) *director {
	stage := newStage(p.c, binding)
	k := &reaper{kills: p.kills}
	for range 2 {
		process := r.newProcess(binding, func(e *wf.Engine) { stage.register(e) })
		process.killBefore, process.killAfter = k.beforeCall, k.afterCall
	}
	return &director{rig: r, stage: stage, flow: stage.register(r.newEngine(wf.Config{}))}
}

package wftest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A driver is what the sync processor and the clients are to an instance: it asks for runs when they
// are due, and does what the test wants done in between.
type driver struct {
	t        T
	plan     *plan
	store    *memory.Store
	register func(*driver, *wf.Engine)
	engine   *wf.Engine
	runs     int
	checking bool // replays of what is stored, which execute no step

	mu        sync.Mutex
	acts      []*act
	notes     []note
	executing map[string]int // steps by their labels
	quiet     chan struct{}  // closed when none does any more, where somebody waits for it
	moved     time.Time      // when the workflow was last seen to do something, on the wall's clock
	strays    []string       // steps that a replay of the finished workflow came to execute
	silent    bool           // nothing is logged any more
	exited    string
	exits     chan struct{} // closed with exited
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the code of the present run returns
}

func newDriver(t T, p *plan, register func(*driver, *wf.Engine)) *driver {
	d := &driver{
		t: t, plan: p, store: memory.New(p.start), register: register, acts: p.acts,
		executing: map[string]int{}, exits: make(chan struct{}),
	}
	for _, now := range p.clocks {
		*now = d.store.Now
	}
	return d
}

// open makes the engine for a store.
func (d *driver) open(store *memory.Store) {
	kit := protocol.Kit{Store: store, Now: store.Now, Replay: d.plan.replay, Step: d.step, Logger: slog.New(d.handler())}
	if d.checking {
		kit.Step, kit.Logger = d.stray, slog.New(slog.DiscardHandler) // its lines have been seen
	}
	engine, err := wf.Testing(d.plan.ctx, kit)
	if err != nil {
		d.t.Fatalf("wftest: make engine: %v", err)
	}
	d.engine = engine
	d.register(d, engine)
}

// close ends the engine and waits for all of its goroutines, for as long as the test has patience.
func (d *driver) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.plan.ctx), d.plan.patience)
	defer cancel()
	err := d.engine.Close(ctx)
	select {
	case <-d.idle():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		d.t.Errorf("wftest: a step or a branch of the workflow does not end although its context has: %s", d.executes())
	}
}

func (d *driver) run(params []byte) *Result {
	d.t.Helper()
	d.store.Create(d.plan.id, d.plan.binding, params)
	d.open(d.store)
	defer func() { d.close() }()
	for d.advance() {
		d.t.Helper()
	}
	d.check()
	d.unused()
	return d.result()
}

// advance moves the clock to what comes next and does it; false once nothing does.
func (d *driver) advance() bool {
	d.t.Helper()
	i, _ := d.store.Instance(d.plan.id)
	if over(i.Status) {
		return false
	}
	d.schedule(i)
	acts, at := d.due()
	wake, live := d.wake(i)
	switch {
	case len(acts) > 0 && (!live || !at.After(wake)):
		d.store.Advance(at)
		d.perform(acts)
		return true
	case !live:
		return false // paused for good
	}
	d.store.Advance(wake)
	d.limit()
	d.runs++
	d.pass(d.store)
	return true
}

func over(status string) bool {
	return status == string(wf.Complete) || status == string(wf.Errored) || status == string(wf.Terminated)
}

// wake is when the next run is due: that of its job, and not before the lease of a dead one ends.
func (d *driver) wake(i memory.Instance) (time.Time, bool) {
	job, ok := d.store.Job(i.ID)
	if ok && i.LeaseToken != "" && i.LeaseUntil.After(job.Due) {
		return i.LeaseUntil, true
	}
	return job.Due, ok
}

// limit ends a workflow that comes to no end.
func (d *driver) limit() {
	d.t.Helper()
	if d.runs >= d.plan.runs {
		d.t.Fatalf("wftest: the workflow has not ended after %d runs and %s: a loop without end? wftest.MaxRuns allows more\n%s",
			d.runs, span(d.store.Now().Sub(d.plan.start)), d.result().tail(10))
	}
}

// pass makes one run and fails the test where it shows a fault.
func (d *driver) pass(store *memory.Store) {
	d.t.Helper()
	job, _ := store.Claim(d.plan.id)
	state := d.request(job.ID)
	select {
	case <-d.exits:
		d.give("%s", d.exited)
	default:
	}
	i, _ := store.Instance(d.plan.id)
	switch state {
	case "stalled":
		d.t.Fatalf("wftest: nondeterminism in run %d: %v; a workflow may decide only on its params and on what its steps returned", i.Runs, i.Warning["message"])
	case "shutdown":
		d.t.Fatalf("wftest: the test's context ended in run %d: %v", i.Runs, context.Cause(d.plan.ctx))
	}
}

// check replays the finished workflow: it must come to the same without executing a step.
func (d *driver) check() {
	d.t.Helper()
	was, _ := d.store.Instance(d.plan.id)
	if was.Status != string(wf.Complete) && was.Status != string(wf.Errored) {
		return
	}
	d.checking = true
	const times = 3
	for range times {
		again := d.store.Reopen(d.plan.id)
		d.close()
		d.open(again)
		d.pass(again)
		is, _ := again.Instance(d.plan.id)
		if told(is) != told(was) {
			d.t.Fatalf("wftest: nondeterminism: the workflow came to\n\t%s\nand, when it was replayed over the same stored steps, to\n\t%s%s\n"+
				"what it returns may depend only on its params and on what its steps returned", told(was), told(is), d.strayed())
		}
	}
}

// told is how an instance ended.
func told(i memory.Instance) string {
	if i.Error != nil {
		return fmt.Sprintf("%s: %s: %s", i.Status, i.Error.Name, i.Error.Message)
	}
	return fmt.Sprintf("%s: %s", i.Status, i.Output)
}

// unused finds options that nothing came of.
func (d *driver) unused() {
	d.t.Helper()
	for _, m := range d.plan.mocks {
		if !m.used {
			d.t.Errorf("wftest: %s: there was no such attempt; the steps were %s", m.what, d.result().names())
		}
	}
	for _, a := range d.plan.acts {
		if a.when.during != "" && !a.done {
			d.t.Errorf("wftest: %s: no such step was executed; the steps were %s", a.what, d.result().names())
		}
	}
}

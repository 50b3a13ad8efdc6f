package ssp

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/surreal"
)

const (
	// advanceAtOnce is how many runs of DAGs a node goes on with at once.
	advanceAtOnce = 4
	// runsInLine is how many may wait for that; the sweep finds what has no place.
	runsInLine = 10_000
)

// dags goes on with runs of DAGs: with those whose jobs this node has settled, at once; and with all others
// that something is to be done for, now and then. Its methods may be called from any goroutine.
type dags struct {
	node  *Node
	store dag.Store
	wake  chan struct{} // capacity 1: a worker is to look
	sweep chan struct{} // capacity 1: the sweep is to be now

	mu      sync.Mutex
	waiting []string
	places  map[string]place
}

// A place is where a run is.
type place int

const (
	inLine place = iota + 1
	underWay
	underWayAndInLine // something was heard of it meanwhile
)

func newDAGs(n *Node) *dags {
	return &dags{node: n, store: dag.Store{DB: n.aux.Retrying()}, wake: make(chan struct{}, 1), sweep: make(chan struct{}, 1), places: map[string]place{}}
}

// settled hears that a job is over.
func (d *dags) settled(job surreal.RecordID) {
	if run, ok := dag.RunOf(job.ID); ok {
		d.hear(run)
	}
}

// hear puts a run in line. One that is in line already is gone on with once; one that is under way, once more.
func (d *dags) hear(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.places[run] {
	case inLine, underWayAndInLine:
	case underWay:
		d.places[run] = underWayAndInLine
	default:
		d.queue(run)
	}
}

// queue puts a run in line, if there is a place, under d.mu.
func (d *dags) queue(run string) {
	if len(d.waiting) >= runsInLine {
		return
	}
	d.places[run] = inLine
	d.waiting = append(d.waiting, run)
	poke(d.wake)
}

// look makes the sweep look for runs now.
func (d *dags) look() { poke(d.sweep) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (d *dags) run(ctx context.Context) {
	var all errgroup.Group
	for range advanceAtOnce {
		all.Go(func() error { d.work(ctx); return nil })
	}
	d.sweeps(ctx)
	_ = all.Wait() // they only end
}

// work goes on with one run after another.
func (d *dags) work(ctx context.Context) {
	for {
		run, ok := d.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-d.wake:
			}
			continue
		}
		d.advance(ctx, run)
		d.done(run)
	}
}

// advance goes on with a run; where that can't be done at present, the sweep tries again.
func (d *dags) advance(ctx context.Context, run string) {
	log := d.node.log.With("run", run)
	got, err := d.store.Advance(ctx, run)
	switch {
	case err != nil:
		d.node.noticeError(ctx, "workflows", log, err)
	case got.Ended != "":
		d.node.metrics.dagRuns.WithLabelValues(got.Workflow, got.Ended).Inc()
		log.Debug("run of a DAG ended", "dag", got.Workflow, "status", got.Ended)
	}
}

// next takes the run that is first in line, and wakes the next worker where there are more.
func (d *dags) next() (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		return "", false
	}
	run := d.waiting[0]
	d.waiting = d.waiting[1:]
	d.places[run] = underWay
	if len(d.waiting) > 0 {
		poke(d.wake)
	}
	return run, true
}

func (d *dags) done(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	again := d.places[run] == underWayAndInLine
	delete(d.places, run)
	if again {
		d.queue(run)
	}
}

// sweeps looks for runs that nobody has heard of; one node of all does, unless it has started some itself.
func (d *dags) sweeps(ctx context.Context) {
	wait := time.Duration(0)
	for {
		asked := false
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.sweep:
			asked = true
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		wait = idleEvery
		if !asked && !d.node.mine("workflows") {
			continue
		}
		due, err := d.store.Due(ctx)
		if err != nil {
			d.node.noticeError(ctx, "workflows", d.node.log, err)
		}
		if due.Going || err != nil {
			wait = lookEvery
		}
		for _, run := range due.Runs {
			d.hear(run)
		}
	}
}

package ssp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// TestTheHolderAbortsWhereverTheCallComesIn has two nodes hold jobs, and cancels through a connection
// that is neither's. The next sweep is an hour away.
func TestTheHolderAbortsWhereverTheCallComesIn(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	rarely := func(c *Config) { c.SweepInterval = time.Hour }
	one := func(b *config.Backend) { b.Concurrency, b.Timeout = 3, time.Hour }
	nodes := []*running{r.start(s.backends(one), rarely), r.start(s.backends(one), rarely)}
	var jobs []surreal.RecordID
	for i := range 6 {
		jobs = append(jobs, r.job(i, "/x", nil))
	}
	r.eventually("all slots of both are taken", func() bool { return g.inside.Load() == 6 })
	slowest := time.Duration(0)
	for _, id := range jobs {
		began := time.Now()
		if was := r.cancel(id); was != outbox.Processing {
			t.Fatalf("cancel found %q", was)
		}
		r.settled(id, "cancelled")
		slowest = max(slowest, time.Since(began))
	}
	t.Log("slowest:", slowest)
	for _, n := range nodes {
		if got := n.metric("spky_jobs_cancelled_total"); got != 3 {
			t.Errorf("node %s has aborted %v jobs", n.ID(), got)
		}
	}
}

// TestADeafSignalFeedIsHealed makes the database forget the subscription that signals come by. The sweep
// finds the request to cancel, and has the node listen again.
func TestADeafSignalFeedIsHealed(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, _ := held(t)
	n := r.start(s.backends(func(b *config.Backend) { b.Timeout = time.Hour }))
	jobs := 0
	// heard cancels a job and says whether its signal arrived: the node deletes those that do.
	heard := func() bool {
		jobs++
		id := r.job(fmt.Sprint("x", jobs), "/x", nil)
		r.await(id, "processing", func(j jobRow) bool { return j.Status == "processing" })
		r.cancel(id)
		r.settled(id, "cancelled")
		arrived := false
		grace := time.Now().Add(2 * time.Second) // for the node to delete it
		r.eventually("the signal arrives, or does not", func() bool {
			left, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM _00_signal WHERE job = $id", map[string]any{"id": id})
			arrived = err == nil && len(left) == 0
			return arrived || time.Now().After(grace)
		})
		return arrived
	}
	r.eventually("it hears, perhaps not from the beginning", heard)
	noticed := func() bool { return n.metric("spky_live_deaf_total", "_00_signal") > 0 }
	for !noticed() { // more than once, for the race is lost at times, and so is a look that is too early
		if heard() {
			r.deafen(n, n.signals, "_00_signal", "CREATE _00_signal SET node = 'somebody', job = job:else", nil)
		}
	}
	r.eventually("it has subscribed again", n.signals.up)
	r.eventually("it hears again", heard)
}

// TestASignalMayComeBeforeTheClaimsAnswer tells a lane of a cancellation while it waits for that answer.
func TestASignalMayComeBeforeTheClaimsAnswer(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	n := r.launch(s.backends(), func(c *Config) { c.DB.Endpoint = "ws://127.0.0.1:1/rpc" }) // it does nothing by itself
	l := n.lanes[0]
	id := surreal.NewRecordID("job", "x")
	key := surreal.FormatID(id)
	l.mu.Lock()
	l.flights[key] = &flight{key: key}
	l.busy = l.backend.Concurrency // so that it waits for a slot
	l.mu.Unlock()
	l.abort(key)
	l.launches = r.ctx
	l.launch(outbox.Job{ID: id})
	if cause := l.flights[key].ctx; !errors.Is(context.Cause(cause), errCancelled) {
		t.Errorf("the flight is not cancelled: %v", cause.Err())
	}
	if len(s.requests()) != 0 {
		t.Error("its request was sent")
	}
}

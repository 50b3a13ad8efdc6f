package ssp

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// slowWrites makes the database take its time over every job's end, so that outcomes come faster than they can
// be written. It waits and does not compute: computing would take both cores from the heartbeats too, which
// says nothing of the order in which a node writes.
const slowWrites = `DEFINE EVENT slow ON job WHEN $before.status = 'processing' AND $after.status = 'success' THEN {
	sleep(15ms);
}`

// TestANodeThatCanNotKeepUpSlowsItsClaimsAndNeverItsHeartbeats has a database that writes outcomes far more
// slowly than the backend makes them. What the node holds stays bounded, and to the others it is alive all
// the time: no job is taken from it.
func TestANodeThatCanNotKeepUpSlowsItsClaimsAndNeverItsHeartbeats(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	const jobs = 800
	s := serve(t, nil)
	r.start(s.backends()).stop() // prepares the table
	r.exec(slowWrites, nil)
	r.tenants("x", repeated(jobs, "")...)
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 64 }))
	other := r.start(nil) // looks on
	r.eventually("the backlog of unwritten outcomes stops the claims", func() bool {
		if live, err := surreal.First[[]string](r.ctx, r.db, "RETURN fn::spky::node::live()", nil); err != nil || !slices.Contains(live, n.ID()) {
			t.Errorf("the node is taken for dead: %v, %v", live, err)
		}
		return n.lanes[0].settler.full()
	})
	most := 0
	for range 10 {
		most = max(most, r.count("job", "processing"))
	}
	// Unwritten ones, one batch more of them, slots, and claims ahead of a slot.
	if limit := settleBacklog + settleBatch + 64 + aheadMax; most > limit {
		t.Errorf("%d jobs were held at once, want %d at most", most, limit)
	}
	r.exec("REMOVE EVENT slow ON job", nil)
	r.eventually("all are done", func() bool { return len(s.requests()) >= jobs && r.count("job", "success") == jobs })
	lost, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM job WHERE retries > 0 OR lease_epoch > 1", nil)
	if err != nil || len(lost) > 0 {
		t.Errorf("jobs were taken from the node: %v, %v", lost, err)
	}
	if got := len(s.requests()); got != jobs {
		t.Errorf("%d requests for %d jobs", got, jobs)
	}
	if !slices.Contains(other.peers.all(), n.ID()) {
		t.Error("the other node does not know of it")
	}
}

// endless writes a job for each one that ends, so that those which are due never become fewer.
const endless = `DEFINE EVENT endless ON job WHEN $before.status = 'processing' AND $after.status = 'success' THEN {
	CREATE job SET path = $after.path RETURN NONE;
}`

// TestAFloodOfOneBackendDelaysNoOther has a backend with very many jobs that are due for ever, as fast as
// they come, and another one's jobs written into the middle of that.
func TestAFloodOfOneBackendDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.outbox("other")
	flood, calm := serve(t, nil), serve(t, nil)
	backends := []config.Backend{flood.backend(), calm.backend(func(b *config.Backend) { b.Name, b.Table = "calm", "other" })}
	r.start(backends).stop() // prepares the tables
	const jobs = 1000
	r.exec(endless, nil)
	r.tenants("x", repeated(jobs, "")...)
	n := r.start(backends)
	r.eventually("the flood runs", func() bool { return len(flood.requests()) > 50 })
	before := len(flood.requests())
	for i := range 20 {
		r.jobIn("other", i, "/x", nil)
		r.settled(surreal.NewRecordID("other", i), "success")
	}
	if due := r.count("job", "pending"); due == 0 || len(flood.requests()) == before {
		t.Errorf("%d jobs were due and %d requests made meanwhile: that was no flood", due, len(flood.requests())-before)
	}
	n.stop()
}

// TestAFailingFloodDelaysNoOther has a backend whose every job fails at once and comes again.
func TestAFailingFloodDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.outbox("other")
	bad := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	calm := serve(t, nil)
	r.start([]config.Backend{bad.backend(), calm.backend(func(b *config.Backend) { b.Name, b.Table = "calm", "other" })})
	for i := range 300 {
		r.job(fmt.Sprint(i), "/x", map[string]any{"max_retries": 100})
	}
	r.eventually("they fail", func() bool { return len(bad.requests()) > 300 })
	for i := range 20 {
		r.jobIn("other", i, "/x", nil)
		r.settled(surreal.NewRecordID("other", i), "success")
	}
	if ended := r.count("job", "failed") + r.count("job", "success"); ended > 0 {
		t.Errorf("%d of the failing jobs have ended, want none before the others", ended)
	}
}

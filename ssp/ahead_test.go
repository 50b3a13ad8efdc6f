package ssp

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestWhatWasClaimedAheadIsGivenBackWhenABackendHangs has a backend that is quick enough for jobs to
// be claimed ahead of its slots, and then stops answering.
func TestWhatWasClaimedAheadIsGivenBackWhenABackendHangs(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	const quick, jobs, slots = 200, 500, 2
	g := newGate()
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if asked.Add(1) > quick {
			g.serve(w, q)
		}
	})
	t.Cleanup(g.release)
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency, b.Timeout = slots, time.Hour }))
	rows := make([]map[string]any, jobs)
	for i := range rows {
		rows[i] = map[string]any{"id": surreal.NewRecordID("job", i), "path": "/x"}
	}
	r.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows})
	r.eventually("the backend hangs", func() bool { return g.inside.Load() == slots })
	r.eventually("only what runs is held", func() bool { return r.count("job", "processing") == slots })
	counted, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM job WHERE retries > 0 OR errors != []", nil)
	if err != nil || len(counted) > 0 {
		t.Errorf("jobs that were given back count as attempts: %v, %v", counted, err)
	}
	g.release()
	r.eventually("all are done", func() bool { return r.count("job", "success") == jobs })
	if got := len(s.requests()); got != jobs {
		t.Errorf("%d requests for %d jobs", got, jobs)
	}
	if most := g.most.Load(); most > slots {
		t.Errorf("%d requests at once on %d slots", most, slots)
	}
	if lost := n.metric("spky_leases_lost_total"); lost != 0 {
		t.Errorf("%v outcomes were dropped", lost)
	}
}

// TestAStopGivesBackWhatWasClaimedAhead stops a node in the middle of quick jobs.
func TestAStopGivesBackWhatWasClaimedAhead(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	const jobs = 600
	backends := s.backends(func(b *config.Backend) { b.Concurrency = 2 })
	n := r.start(backends)
	rows := make([]map[string]any, jobs)
	for i := range rows {
		rows[i] = map[string]any{"id": surreal.NewRecordID("job", i), "path": "/x", "max_retries": 1}
	}
	r.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows})
	r.eventually("it is in the middle", func() bool { return len(s.requests()) > jobs/6 })
	n.stop()
	if held := r.count("job", "processing"); held != 0 {
		t.Errorf("%d jobs are held by a node that has stopped", held)
	}
	r.start(backends)
	r.eventually("all are done", func() bool { return r.count("job", "success") == jobs })
	if got := len(s.requests()); got != jobs {
		t.Errorf("%d requests for %d jobs", got, jobs)
	}
}

package ssp

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// A gate holds requests until it is opened, and counts them.
type gate struct {
	open     chan struct{}
	once     sync.Once
	inside   atomic.Int64
	most     atomic.Int64
	answered atomic.Int64
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) serve(_ http.ResponseWriter, q *http.Request) {
	inside := g.inside.Add(1)
	defer g.inside.Add(-1)
	for most := g.most.Load(); inside > most && !g.most.CompareAndSwap(most, inside); most = g.most.Load() {
	}
	select {
	case <-g.open:
		g.answered.Add(1)
	case <-q.Context().Done():
	}
}

// held serves behind a gate that opens at the test's end at the latest.
func held(tb testing.TB) (*service, *gate) {
	tb.Helper()
	g := newGate()
	s := newService(g.serve)
	s.Start()
	tb.Cleanup(func() { g.release(); s.Close() })
	return s, g
}

// TestReportJ25OneBackendNeverWaitsForAnother fills all slots of a backend that hangs, and more. The
// jobs of the other must be done while all of them still hang.
func TestReportJ25OneBackendNeverWaitsForAnother(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.outbox("other")
	slow, g := held(t)
	fast := serve(t, nil)
	n := r.start([]config.Backend{
		slow.backend(func(b *config.Backend) { b.Name = "slow"; b.Concurrency = 4; b.Timeout = time.Hour }),
		fast.backend(func(b *config.Backend) { b.Name = "fast"; b.Table = "other" }),
	})
	for i := range 200 {
		r.job(i, "/hang", nil)
	}
	r.eventually("the slow backend's slots are taken", func() bool { return g.inside.Load() == 4 })
	for i := range 40 {
		r.jobIn("other", i, "/quick", nil)
	}
	for i := range 40 {
		r.settled(surreal.NewRecordID("other", i), "success")
	}
	if g.answered.Load() != 0 || g.inside.Load() != 4 {
		t.Errorf("meanwhile the slow backend had %d requests and answered %d; want 4 and 0", g.inside.Load(), g.answered.Load())
	}
	if busy := n.metric("spky_slots_busy", "slow"); busy != 4 {
		t.Errorf("metric slots_busy is %v, want 4", busy)
	}
	g.release()
	r.settled(surreal.NewRecordID("job", 199), "success")
	r.eventually("all slots are free again", func() bool { return n.metric("spky_slots_busy") == 0 })
}

func TestConcurrencyIsUsedAndNeverExceeded(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 7, 100} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			s, g := held(t)
			r.start(s.backends(func(b *config.Backend) { b.Concurrency = slots; b.Timeout = time.Hour }))
			for i := range 2*slots + 10 {
				r.job(i, "/x", nil)
			}
			r.eventually("all slots are taken", func() bool { return g.inside.Load() == int64(slots) })
			r.eventually("what is claimed is what has slots", func() bool { return r.count("job", "processing") == slots })
			g.release()
			r.eventually("all are done", func() bool { return r.count("job", "success") == 2*slots+10 })
			if most := g.most.Load(); most != int64(slots) {
				t.Errorf("%d requests at once, want %d", most, slots)
			}
		})
	}
}

// TestTheOldestDueJobGoesFirst writes jobs in another order than they are due in, before a node is there.
func TestTheOldestDueJobGoesFirst(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	var order []string
	var mu sync.Mutex
	s := serve(t, func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, q.URL.Path)
	})
	first := r.start(nil) // applies the schema
	first.stop()
	n := r.start(s.backends()) // adds run_at
	n.stop()
	base := time.Now().Add(-time.Minute)
	for i := range 40 {
		place := i * 7 % 40
		r.exec("CREATE $id SET path = $path, run_at = $at RETURN NONE",
			map[string]any{"id": surreal.NewRecordID("job", i), "path": fmt.Sprintf("/%02d", place), "at": base.Add(time.Duration(place))})
	}
	r.start(s.backends(func(b *config.Backend) { b.Concurrency = 1 }))
	r.eventually("all are done", func() bool { return r.count("job", "success") == 40 })
	for i, path := range order {
		if path != fmt.Sprintf("/%02d", i) {
			t.Fatalf("order is %v, want the oldest first", order)
		}
	}
}

// TestReportJ23ABackoffHoldsNoSlot has one slot and a job that fails all the time beside good ones.
func TestReportJ23ABackoffHoldsNoSlot(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/bad" {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 1 }))
	bad := r.job("bad", "/bad", nil)
	r.await(bad, "waiting", func(j jobRow) bool { return j.Status == "pending" && j.Retries == 1 })
	for i := range 5 {
		r.settled(r.job(i, "/good", nil), "success")
	}
	if row, _ := r.row(bad); row.Status != "pending" || row.RunAt == nil {
		t.Errorf("the bad job is %+v", row)
	}
	r.eventually("the slot is free", func() bool { return n.metric("spky_slots_busy") == 0 })
}

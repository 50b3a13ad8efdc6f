package ssp

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A stopwatch measures the time from when a job is written until its request comes.
type stopwatch struct {
	mu    sync.Mutex
	sent  map[string]time.Time
	times []time.Duration
}

func (s *stopwatch) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began, ok := s.sent[req.Header.Get("Spky-Job-Id")]; ok {
		s.times = append(s.times, time.Since(began))
	}
	w.WriteHeader(http.StatusNoContent)
}

// drive writes jobs every 10 ms until enough says so, and answers with the times from writing to request,
// shortest first.
func (s *stopwatch) drive(b *testing.B, r *rig, enough func(n int) bool) []time.Duration {
	b.Helper()
	s.mu.Lock()
	s.times = nil
	s.mu.Unlock()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	written := 0
	for ; !enough(written); written++ {
		<-tick.C
		id := surreal.NewRecordID("job", rand.Text())
		s.mu.Lock()
		s.sent[surreal.FormatID(id)] = time.Now()
		s.mu.Unlock()
		r.exec("CREATE $id SET path = '/x' RETURN NONE", map[string]any{"id": id})
	}
	r.eventually("all requests came", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.times) >= written
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.times))
}

// BenchmarkJobsWhileRowsArePruned compares the time from when a job is written until its request comes, at 100 a
// second, while nothing else happens and while 100,000 finished rows are pruned. It does the one and the other in
// turn, lest what else the machine does falls upon one of them:
//
//	go test ./ssp -run '^$' -bench RowsArePruned -benchtime 20x -timeout 1h
func BenchmarkJobsWhileRowsArePruned(b *testing.B) {
	const part = 5000 // in each turn
	r := newJobs(b)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	b.Cleanup(cancel)
	r.ctx = ctx
	watch := &stopwatch{sent: map[string]time.Time{}}
	n := r.start(serve(b, watch.ServeHTTP).backends(), func(c *Config) { c.PruneInterval = 100 * time.Millisecond })
	keep := func(seconds int) {
		r.exec("UPDATE _00_retention:default SET success_secs = $seconds", map[string]any{"seconds": seconds})
	}
	var before, during []time.Duration
	pruning := time.Duration(0)
	for turn := 1; b.Loop(); turn++ {
		r.exec(`INSERT INTO job (array::range(0, $part).map(|$n| {
			RETURN { path: '/old', status: 'success', payload: { n: $n }, created_at: time::now() - 3d - duration::from_secs($n), updated_at: time::now() - 2d };
		})) RETURN NONE`, map[string]any{"part": part})
		keep(86400)
		began := time.Now()
		during = append(during, watch.drive(b, r, func(int) bool { return n.metric("spky_pruned_total", "job") >= float64(part*turn) })...)
		pruning += time.Since(began)
		keep(0)
		for over := time.Now().Add(time.Since(began)); time.Now().Before(over); {
			before = append(before, watch.drive(b, r, func(n int) bool { return n >= 100 })...)
		}
	}
	b.ReportMetric(float64(len(during)), "jobs-during")
	b.ReportMetric(n.metric("spky_pruned_total", "job")/pruning.Seconds(), "rows/s")
	for name, times := range map[string][]time.Duration{"without": before, "during": during} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50-"+name)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99-"+name)
	}
}

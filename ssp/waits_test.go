package ssp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// claimGrace is how much too early a claim may be: a node's idea of the database's clock is a measurement.
const claimGrace = 30 * time.Millisecond

// arrivals notes when each path was first and last requested.
type arrivals struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (a *arrivals) note(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[string][]time.Time{}
	}
	a.at[path] = append(a.at[path], time.Now())
}

func (a *arrivals) of(path string) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[path]
}

// TestDelaysAreKept shows that a job starts no earlier than created_at + delay, whatever happens to
// its row meanwhile. The database and this test share a clock.
func TestDelaysAreKept(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	var seen arrivals
	s := serve(t, func(_ http.ResponseWriter, q *http.Request) { seen.note(q.URL.Path) })
	r.start(s.backends())
	r.job("far", "/far", map[string]any{"delay": 3600_000})
	cases := map[string]int{"negative": -5000, "none": 0, "short": 700, "touched": 1200, "beyond": 3200}
	for path, delay := range cases {
		r.job(path, "/"+path, map[string]any{"delay": delay})
	}
	for range 5 { // writers that touch the row move nothing
		r.exec("UPDATE job:touched SET payload = rand::int() RETURN NONE", nil)
	}
	for path, delay := range cases {
		row := r.settled(surreal.NewRecordID("job", path), "success")
		due := row.CreatedAt.Add(time.Duration(max(delay, 0)) * time.Millisecond)
		if at := seen.of("/" + path); len(at) != 1 || at[0].Before(due.Add(-claimGrace)) {
			t.Errorf("%s: requested at %v, due at %v", path, at, due)
		}
	}
	if len(seen.of("/far")) > 0 {
		t.Error("a job of an hour from now has run")
	}
}

// TestADelayIsShortenedByHand shows that an earlier run_at counts at once.
func TestADelayIsShortenedByHand(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends())
	id := r.job("x", "/x", map[string]any{"delay": 3600_000})
	r.exec("UPDATE $id SET run_at = time::now() RETURN NONE", map[string]any{"id": id})
	r.settled(id, "success")
}

// TestBackoffIsStoredAndGrows shows the waits between attempts as the table has them, and that
// Retry-After lengthens one.
func TestBackoffIsStoredAndGrows(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	var seen arrivals
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		seen.note(q.URL.Path)
		switch {
		case strings.HasPrefix(q.URL.Path, "/after") && q.Header.Get("Spky-Attempt") == "1":
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasPrefix(q.URL.Path, "/date"):
			w.Header().Set("Retry-After", time.Now().Add(40*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.HasPrefix(q.URL.Path, "/huge"):
			w.Header().Set("Retry-After", "99999999999999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r.start(s.backends())
	steps := map[string][]time.Duration{
		"linear":      {200, 400, 600},
		"exponential": {200, 400, 800},
	}
	for strategy := range steps {
		r.job(strategy, "/"+strategy, map[string]any{"max_retries": 4, "retry_strategy": strategy})
	}
	after, date, giant := r.job("after", "/after", map[string]any{"max_retries": 2}), r.job("date", "/date", nil), r.job("huge", "/huge", nil)
	for strategy, waits := range steps {
		r.settled(surreal.NewRecordID("job", strategy), "failed")
		at := seen.of("/" + strategy)
		for i, wait := range waits {
			if gap := at[i+1].Sub(at[i]); gap < wait*time.Millisecond-claimGrace {
				t.Errorf("%s: %v between attempts %d and %d, want at least %v", strategy, gap, i+1, i+2, wait*time.Millisecond)
			}
		}
	}
	r.settled(after, "failed")
	if at := seen.of("/after"); at[1].Sub(at[0]) < 2*time.Second-claimGrace {
		t.Errorf("a Retry-After of 2 s was followed after %v", at[1].Sub(at[0]))
	}
	for id, want := range map[string]time.Duration{"date": 40 * time.Minute, "huge": time.Hour} {
		row := r.await(map[string]surreal.RecordID{"date": date, "huge": giant}[id], "waiting", func(j jobRow) bool { return j.Status == "pending" && j.RunAt != nil && j.Retries == 1 })
		if wait := row.RunAt.Sub(row.Errors[0].At); wait > want+time.Minute || wait < want-time.Minute {
			t.Errorf("%s: the next attempt is %v away, want about %v", id, wait, want)
		}
	}
}

func TestTimeoutsEndAttempts(t *testing.T) {
	t.Parallel()
	for _, overridable := range []bool{false, true} {
		t.Run(fmt.Sprintf("overridable %t", overridable), func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			gone := make(chan struct{})
			s := serve(t, func(_ http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/hang" {
					<-q.Context().Done()
					gone <- struct{}{}
				}
			})
			r.start(s.backends(func(b *config.Backend) { b.TimeoutOverridable, b.Timeout = overridable, time.Second; b.Concurrency = 1 }))
			columns := map[string]any{"max_retries": 1}
			if overridable {
				columns["timeout"] = 2
			} else {
				columns["timeout"] = 3600
			}
			id := r.job("x", "/hang", columns)
			row := r.settled(id, "failed")
			<-gone // the request was let go
			if row.codes() != "0" || row.Retries != 1 || row.Errors[0].Reason != errTimeout.Error() {
				t.Errorf("job is %+v, want one timeout", row)
			}
			want := map[bool]string{false: "1000", true: "2000"}[overridable]
			if got := s.requests()[0].Header.Get("Spky-Timeout-Ms"); got != want {
				t.Errorf("timeout is %s ms, want %s", got, want)
			}
			if took := row.Errors[0].At.Sub(*row.CreatedAt); overridable && took < 2*time.Second {
				t.Errorf("the attempt was ended after %v", took)
			}
		})
	}
}

func TestTimeoutsOfJobsAreClamped(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends(func(b *config.Backend) { b.TimeoutOverridable, b.Timeout = true, 5*time.Second }))
	for timeout, want := range map[int]string{-7: "1000", 0: "1000", 1: "1000", 3600: "3600000", 3601: "3600000", 1 << 40: "3600000"} {
		path := fmt.Sprintf("/%d", timeout)
		r.settled(r.job(timeout, path, map[string]any{"timeout": timeout}), "success")
		if got := s.requests(path)[0].Header.Get("Spky-Timeout-Ms"); got != want {
			t.Errorf("timeout %d became %s ms, want %s", timeout, got, want)
		}
	}
}

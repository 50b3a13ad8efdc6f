package ssp

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// A told is what a node's row says of a backend.
type told struct {
	Name, Table   string
	Slots, Busy   int
	Claimed       int
	Queued, Due   int
	More          bool
	OldestDue     *time.Time `json:"oldest_due"`
	Circuit       string
	CircuitSince  time.Time `json:"circuit_since"`
	CircuitReason string    `json:"circuit_reason"`
	Refused       string
	Feed          bool
	Attempts      int
	Failures      int
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
}

// tells waits until the node's row says of its backend what is wanted.
func (r *rig) tells(n *running, what string, want func(told) bool) told {
	r.tb.Helper()
	var last told
	r.eventually("the node tells: "+what, func() bool {
		rows, err := surreal.First[[][]told](r.ctx, r.db, "SELECT VALUE backends FROM _00_node WHERE node = $node", map[string]any{"node": n.ID()})
		if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
			return false
		}
		last = rows[0][0]
		return want(last)
	}, func() string { return fmt.Sprintf("%+v", last) })
	return last
}

func often(c *Config) { c.BeatInterval = 20 * time.Millisecond }

func TestANodeTellsWhatItsSlotsAndItsQueueHold(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 2; b.Timeout = time.Hour }), often)
	first := time.Now().Add(-time.Minute)
	for i := range 5 {
		r.job(i, "/x", nil)
	}
	r.job("later", "/x", map[string]any{"delay": 3_600_000})
	was := r.tells(n, "full slots, three due", func(b told) bool { return b.Busy == 2 && b.Due == 3 })
	if was.Slots != 2 || was.Claimed != 2 || was.OldestDue == nil || was.OldestDue.Before(first) || was.Circuit != "closed" || !was.Feed || was.Attempts != 0 {
		t.Errorf("it tells %+v", was)
	}
	g.release()
	r.tells(n, "nothing is left to do", func(b told) bool {
		return b.Busy == 0 && b.Claimed == 0 && b.Due == 0 && b.OldestDue == nil && b.Attempts == 5 && b.Failures == 0 && b.P50 > 0 && b.P50 <= b.P99
	})
}

// TestANodeTellsWhyABackendIsLeftAlone opens a circuit, and closes it again. The reason is bounded and
// shows neither the backend's address nor its token.
func TestANodeTellsWhyABackendIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	const token = "a-long-secret-token"
	n := r.start(s.backends(func(b *config.Backend) { b.AuthToken = config.NewSecret(token) }), often)
	began := time.Now().Add(-time.Minute)
	for i := range 8 {
		r.job(i, "/x?key=hidden", map[string]any{"max_retries": 1})
	}
	was := r.tells(n, "an open circuit", func(b told) bool { return b.Circuit == "open" && b.Failures > 0 })
	if was.CircuitReason == "" || len(was.CircuitReason) > maxReport+len("…") || was.CircuitSince.Before(began) || was.CircuitSince.After(time.Now().Add(time.Minute)) {
		t.Errorf("it tells %+v", was)
	}
	if all := fmt.Sprintf("%+v", was); strings.Contains(all, token) || strings.Contains(all, "hidden") || strings.Contains(all, s.URL) {
		t.Errorf("it tells too much: %s", all)
	}
}

// TestANodeTellsThatATableRefusesIt has a rule of the table's own refuse every claim.
func TestANodeTellsThatATableRefusesIt(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start(serve(t, nil).backends(), often)
	r.exec("DEFINE FIELD OVERWRITE assignee ON job TYPE option<string> ASSERT $value = NONE", nil)
	r.job("x", "/x", nil)
	r.tells(n, "a table that refuses", func(b told) bool { return strings.Contains(b.Refused, "assignee") })
}

func TestARecentKnowsTheLastMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r recent
		if got := r.sum(); got != (recently{}) {
			t.Errorf("before anything: %+v", got)
		}
		for i := range 100 {
			took := 10 * time.Millisecond
			if i >= 90 {
				took = time.Second
			}
			r.note(took, i%4 == 0)
			time.Sleep(300 * time.Millisecond)
		}
		got := r.sum()
		near := func(have, want time.Duration) bool { return have >= want && have < want*5/4 }
		if got.attempts != 100 || got.failures != 25 || !near(got.p50, 10*time.Millisecond) || !near(got.p99, time.Second) {
			t.Errorf("after half a minute: %+v", got)
		}
		time.Sleep(35 * time.Second)
		r.note(time.Hour, false)
		if got := r.sum(); got.attempts < 40 || got.attempts > 90 {
			t.Errorf("after a minute: %+v", got)
		}
		time.Sleep(time.Hour)
		r.note(0, false)
		if got := r.sum(); got.attempts != 1 || got.p50 > recentLeast {
			t.Errorf("after an hour: %+v", got)
		}
	})
}

func TestARecentTakesAnyDuration(t *testing.T) {
	t.Parallel()
	for range 10_000 {
		if step := recentStep(time.Duration(rand.Uint64())); step < 0 || step >= recentSteps {
			t.Fatal(step)
		}
	}
}

package ssp

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// freeAddress is an address on which nobody listens.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// serveOn starts a service on this address.
func serveOn(tb testing.TB, address string, handler http.HandlerFunc) *service {
	tb.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatalf("listen again: %v", err)
	}
	s := newService(handler)
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	tb.Cleanup(s.Close)
	return s
}

// TestABackendThatIsDownBurnsNoAttempts refuses connections until the circuit is open, and comes
// back on the same address. Every job then runs at its first attempt.
func TestABackendThatIsDownBurnsNoAttempts(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	address := freeAddress(t)
	n := r.start([]config.Backend{backend("http://" + address)})
	ids := make([]surreal.RecordID, 30)
	for i := range ids {
		ids[i] = r.job(i, "/x", map[string]any{"max_retries": 1})
	}
	r.eventually("the circuit is open", func() bool { return n.metric("spky_circuit_open") == 1 })
	r.eventually("all are pending", func() bool { return r.count("job", "pending") == len(ids) })
	entries := 0
	for _, id := range ids {
		row, _ := r.row(id)
		entries += len(row.Errors)
		if row.Retries != 0 || len(row.Errors) > 5 {
			t.Errorf("%s is %+v while the backend is down", surreal.FormatID(id), row)
		}
		for _, e := range row.Errors {
			if e.Code != uint64(0) || !strings.Contains(e.Reason, "refused") {
				t.Errorf("%s has the error entry %+v", surreal.FormatID(id), e)
			}
		}
	}
	if entries == 0 {
		t.Error("no job tells that the backend could not be reached")
	}
	r.eventually("the log tells so", func() bool { return strings.Contains(n.log.String(), "circuit open") })
	s := serveOn(t, address, nil)
	for _, id := range ids {
		if row := r.settled(id, "success"); row.Retries != 0 {
			t.Errorf("%s lost attempts: %+v", surreal.FormatID(id), row)
		}
	}
	if got := len(s.requests()); got != len(ids) {
		t.Errorf("%d requests for %d jobs", got, len(ids))
	}
	for _, q := range s.requests() {
		if q.Header.Get("Spky-Attempt") != "1" {
			t.Errorf("attempt %s", q.Header.Get("Spky-Attempt"))
		}
	}
	r.eventually("the circuit is closed", func() bool { return n.metric("spky_circuit_open") == 0 })
}

// TestABackendThatIsDownIsProbedWhileItsTableIsPolled has jobs come so fast that no feed tells of them, nor does a sweep: only a
// look finds one to try with.
func TestABackendThatIsDownIsProbedWhileItsTableIsPolled(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	address := freeAddress(t)
	n := r.start([]config.Backend{backend("http://" + address)}, func(c *Config) { c.SweepInterval = time.Hour })
	l := n.lanes[0]
	busy := func() bool {
		l.pace.count(busyRate, 0)
		l.poke()
		return n.metric("spky_polling") == 1
	}
	r.eventually("the lane polls", busy)
	r.tenants("x", repeated(8, "")...)
	r.eventually("the circuit is open", func() bool { return busy() && n.metric("spky_circuit_open") == 1 })
	r.eventually("all are given back", func() bool { return busy() && r.count("job", "pending") == 8 })
	r.eventually("the lane has forgotten them", func() bool {
		busy()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue, l.polled = newDueQueue(), time.Unix(0, 0) // one may have been in the queue all the time
		return len(l.flights) == 0
	})
	serveOn(t, address, nil)
	r.eventually("all are done", func() bool { return busy() && r.count("job", "success") == 8 })
}

// TestWhileTheHealthCheckFailsNoAttemptsAreBurned has a backend that answers its jobs with 503 while
// it is ill. No attempt may count against any job, however few it has.
func TestWhileTheHealthCheckFailsNoAttemptsAreBurned(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	var well atomic.Bool
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	n := r.start(s.backends(func(b *config.Backend) { b.Healthcheck = "/healthz" }))
	ids := make([]surreal.RecordID, 20)
	for i := range ids {
		ids[i] = r.job(i, "/x", map[string]any{"max_retries": 1})
	}
	r.eventually("the circuit is open", func() bool { return n.metric("spky_circuit_open") == 1 })
	r.eventually("health is asked for again and again", func() bool { return len(s.requests("/healthz")) >= 3 })
	for _, id := range ids {
		if row, _ := r.row(id); row.Status != "pending" || row.Retries != 0 {
			t.Errorf("%s is %+v while the backend is ill", surreal.FormatID(id), row)
		}
	}
	if asked := len(s.requests("/x")); asked > 16 {
		t.Errorf("%d requests to an ill backend", asked)
	}
	well.Store(true)
	for _, id := range ids {
		if row := r.settled(id, "success"); row.Retries != 0 {
			t.Errorf("%s lost attempts: %+v", surreal.FormatID(id), row)
		}
	}
}

// TestAHealthyBackendsErrorsCountAsUsual has a health check that succeeds while jobs fail.
func TestAHealthyBackendsErrorsCountAsUsual(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/x" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n := r.start(s.backends(func(b *config.Backend) { b.Healthcheck = "healthz" }))
	row := r.settled(r.job("x", "/x", map[string]any{"max_retries": 3}), "failed")
	if row.codes() != "500 500 500" || row.Retries != 3 {
		t.Errorf("job is %+v", row)
	}
	if n.metric("spky_circuit_open") != 0 {
		t.Error("the circuit is open although the backend is healthy")
	}
}

// TestAnOpenCircuitWithNothingToDoCostsNothing lets a circuit open and takes the jobs away: the lane
// must then rest.
func TestAnOpenCircuitWithNothingToDoCostsNothing(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start([]config.Backend{backend("http://" + freeAddress(t))})
	for i := range 8 {
		r.job(i, "/x", nil)
	}
	r.eventually("the circuit is open", func() bool { return n.metric("spky_circuit_open") == 1 })
	r.exec("DELETE job RETURN NONE", nil)
	l := n.lanes[0]
	r.eventually("the queue is empty", func() bool { _, queued := l.held(); return queued == 0 })
	r.eventually("the lane rests", func() bool { return l.pause() > probeEvery })
}

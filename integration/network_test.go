package integration_test

import (
	"net/http"
	"testing"
	"time"

	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// A fault breaks the network between node and database while jobs run.
type fault struct {
	name string
	// strike breaks it; mend restores it.
	strike func(p *faultproxy.Proxy)
	// away says that the node can't work before it is mended, and must say so.
	away bool
}

func faults() []fault {
	return []fault{
		{"reset", (*faultproxy.Proxy).Reset, false},
		{"fin", (*faultproxy.Proxy).Fin, false},
		{"half close", (*faultproxy.Proxy).HalfClose, false},
		{"blackhole", func(p *faultproxy.Proxy) { p.Blackhole(true) }, true},
		{"cut", (*faultproxy.Proxy).Cut, true},
		{"slow link", func(p *faultproxy.Proxy) { p.Delay(40 * time.Millisecond); p.Dribble(256 << 10) }, false},
	}
}

// TestNetworkFaults: whatever the network does to the node's connections, the node goes on by itself,
// nothing is lost, and it tells the truth meanwhile.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			testNetwork(t, f)
		})
	}
}

func testNetwork(t *testing.T, f fault) {
	const jobs, atOnce = 300, 8
	db := fresh(t)
	b := newBackend(t, slowly(5*time.Millisecond))
	proxy, through := proxied(t, db.cfg)
	cfg := b.config()
	cfg.Concurrency = atOnce
	n := start(t, "n", through, cfg)
	db.mustInsert("a", jobs/2)
	b.reached(jobs / 4)
	f.strike(proxy)
	db.mustInsert("b", jobs/2)
	if f.away {
		n.says(http.StatusServiceUnavailable, "degraded")
		proxy.Restore()
	}
	db.settled(jobs)
	n.says(http.StatusOK, "ready")
	proxy.Restore()
	checkNothingLost(db, b, jobs, atOnce)
}

// proxied puts a fault proxy between a node and its database.
func proxied(tb testing.TB, cfg surreal.Config) (*faultproxy.Proxy, surreal.Config) {
	tb.Helper()
	proxy, err := faultproxy.Listen(cfg.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			tb.Errorf("close the proxy: %v", err)
		}
	})
	cfg.Endpoint = "ws://" + proxy.Addr()
	return proxy, cfg
}

// TestStartsWithoutDatabase: a node that starts before its database is there waits for it.
func TestStartsWithoutDatabase(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	proxy, through := proxied(t, db.cfg)
	proxy.Cut()
	n := begin(t, "n", through, b.config())
	n.says(http.StatusServiceUnavailable, "bootstrapping")
	db.mustInsert("j", 3)
	proxy.Restore()
	db.settled(3)
	n.says(http.StatusOK, "ready")
}

// TestSuccessWhoseWriteIsCut: the backend has answered when the database is cut off. The answer waits
// in the node and is written when the database is back, without a second request.
func TestSuccessWhoseWriteIsCut(t *testing.T) {
	t.Parallel()
	db, g := fresh(t), newGate(t)
	answered := make(chan struct{}, 1)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		answered <- struct{}{}
		return http.StatusOK, map[string]any{"job": c.Job}
	})
	proxy, through := proxied(t, db.cfg)
	n := start(t, "n", through, b.config())
	id := db.create(nil)
	b.reached(1)
	proxy.Cut()
	n.says(http.StatusServiceUnavailable, "degraded")
	g.Open()
	<-answered
	if r := db.job(id); r.Status != "processing" {
		t.Errorf("while the database is cut off: %+v", r)
	}
	proxy.Restore()
	db.settled(1)
	checkNothingLost(db, b, 1, 0)
}

// TestStopWithoutDatabase: a node that is told to end while its database is away ends all the same.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	proxy, through := proxied(t, db.cfg)
	n := start(t, "n", through, b.config(), func(c *ssp.Config) { c.ShutdownGrace = time.Second })
	proxy.Cut()
	n.says(http.StatusServiceUnavailable, "degraded")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		n.stop()
	}()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

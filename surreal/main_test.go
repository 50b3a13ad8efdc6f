package surreal

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen soon.
const patience = 2 * time.Minute

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// testConfig is a fresh database, with limits short enough for faults to be noticed soon.
func testConfig(tb testing.TB) Config {
	tb.Helper()
	target := devdbtest.Fresh(tb)
	return Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	}
}

// connect connects and closes at the test's end.
func connect(tb testing.TB, cfg Config) *Client {
	tb.Helper()
	c, stop, err := Connect(testContext(tb), cfg)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("stop: %v", err)
		}
	})
	return c
}

// open is a client on a fresh database.
func open(tb testing.TB) *Client {
	tb.Helper()
	return connect(tb, testConfig(tb))
}

func exec(tb testing.TB, q Querier, surql string, vars map[string]any) {
	tb.Helper()
	if err := Exec(testContext(tb), q, surql, vars); err != nil {
		tb.Fatalf("%s: %v", surql, err)
	}
}

// proxied puts a fault proxy in front of cfg's endpoint and makes the client notice faults quickly.
func proxied(tb testing.TB, cfg Config) (*faultproxy.Proxy, Config) {
	tb.Helper()
	proxy, err := faultproxy.Listen(cfg.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			tb.Errorf("close proxy: %v", err)
		}
	})
	cfg.Endpoint = "ws://" + proxy.Addr()
	cfg.PingInterval, cfg.PingTimeout = 500*time.Millisecond, 2*time.Second
	cfg.MaxBackoff = 50 * time.Millisecond
	return proxy, cfg
}

// states collects what OnState tells and lets tests wait for it.
type states struct {
	mu   sync.Mutex
	last State
	wake chan struct{}
}

func watch(cfg *Config) *states {
	s := &states{wake: make(chan struct{}, 1)}
	cfg.OnState = func(state State) {
		s.mu.Lock()
		s.last = state
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return s
}

// until waits for a state.
func (s *states) until(tb testing.TB, want func(State) bool) State {
	tb.Helper()
	ctx := testContext(tb)
	for {
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if want(last) {
			return last
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			tb.Fatalf("the client did not get there; it is in %+v", last)
		}
	}
}

package workflow_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/wf"
)

// A rig is one database with the platform's schema and, once started, a node of the sync processor
// and an HTTP server that stands for any number of backend processes.
type rig struct {
	*durable.Base
	t *testing.T
	*world
}

// A world is what tests that share a rig share.
type world struct {
	engine *wf.Engine // of newRig

	mu        sync.Mutex
	processes map[string][]*process // by binding
	requests  int
}

// on is the rig in the hands of a subtest.
func (r *rig) on(t *testing.T) *rig { return &rig{t: t, Base: r.On(t), world: r.world} }

// newDatabase is a rig without node and server.
func newDatabase(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, Base: durable.New(t), world: &world{processes: map[string][]*process{}}}
	return r
}

// newRig starts everything for one engine; register gets it before the first run.
func newRig(t *testing.T, register func(*wf.Engine)) *rig {
	t.Helper()
	r := newDatabase(t)
	r.engine = r.newEngine(wf.Config{})
	register(r.engine)
	r.StartNode(r.Serve(r.engine.Handler(http.NotFoundHandler())))
	return r
}

// newEngine is an engine on the rig's own connection, closed at the end of the test.
func (r *rig) newEngine(cfg wf.Config) *wf.Engine {
	r.t.Helper()
	if cfg.DB == nil {
		cfg.DB = r.DB.Retrying()
	}
	cfg.OutboxTable, cfg.Logger = r.Table, logger(r.t)
	engine, err := wf.New(r.t.Context(), cfg)
	check(r.t, err)
	r.t.Cleanup(func() { closeEngine(r.t, engine) })
	return engine
}

func closeEngine(t *testing.T, engine *wf.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := engine.Close(ctx); err != nil {
		t.Error(err)
	}
}

// read is a request's first result.
func read[T any](r *rig, surql string, vars map[string]any) T {
	r.t.Helper()
	return durable.Read[T](r.Base, surql, vars)
}

// until polls an instance until done says so, and answers with its state then.
func (r *rig) until(i *wf.Instance, what string, done func(wf.Report) bool) wf.Report {
	r.t.Helper()
	var last wf.Report
	r.Poll("instance "+i.ID()+" is "+what, func() (bool, any) {
		report, err := i.Status(r.t.Context())
		if err != nil {
			return false, err
		}
		last = report
		return done(report), report
	})
	return last
}

func (r *rig) untilStatus(i *wf.Instance, status wf.Status) wf.Report {
	r.t.Helper()
	return r.until(i, string(status), func(report wf.Report) bool { return report.Status == status })
}

// newAddress is one where nothing listens yet.
func newAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, listener.Close()) }()
	return listener.Addr().String()
}

func serveOn(t *testing.T, address string, handler http.Handler) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	check(t, err)
	server := httptest.NewUnstartedServer(handler)
	check(t, server.Listener.Close())
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
}

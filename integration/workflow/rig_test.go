package workflow_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// patience bounds the wait for something that must happen; it is never a measurement.
const patience = 60 * time.Second

// A rig is one database with the platform's schema and, once started, a node of the sync processor
// and an HTTP server that stands for any number of backend processes.
type rig struct {
	t *testing.T
	*world
}

// A world is what tests that share a rig share.
type world struct {
	target surreal.Config
	db     *surreal.Client
	table  string
	engine *wf.Engine // of newRig
	// afterlife waits for what goes on after a process was killed.
	afterlife sync.WaitGroup

	mu        sync.Mutex
	processes map[string][]*process // by binding
	requests  int
}

// on is the rig in the hands of a subtest.
func (r *rig) on(t *testing.T) *rig { return &rig{t: t, world: r.world} }

// newDatabase is a rig without node and server.
func newDatabase(t *testing.T) *rig {
	t.Helper()
	target := devdbtest.Fresh(t)
	cfg := surreal.Config{Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password}
	client, hangUp, err := surreal.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, hangUp()) })
	r := &rig{t: t, world: &world{target: cfg, db: client, table: "job", processes: map[string][]*process{}}}
	t.Cleanup(r.afterlife.Wait)
	ddl, err := config.OutboxSchema(r.table, config.OutboxOptions{})
	check(t, err)
	_, err = schema.Apply(t.Context(), client)
	check(t, err)
	r.exec(ddl, nil)
	_, err = schema.PrepareOutbox(t.Context(), client, r.table)
	check(t, err)
	return r
}

// newRig starts everything for one engine; register gets it before the first run.
func newRig(t *testing.T, register func(*wf.Engine)) *rig {
	t.Helper()
	r := newDatabase(t)
	r.engine = r.newEngine(wf.Config{})
	register(r.engine)
	r.startNode(r.serve(r.engine.Handler(http.NotFoundHandler())))
	return r
}

// newEngine is an engine on the rig's own connection, closed at the end of the test.
func (r *rig) newEngine(cfg wf.Config) *wf.Engine {
	r.t.Helper()
	if cfg.DB == nil {
		cfg.DB = r.db.Retrying()
	}
	cfg.OutboxTable, cfg.Logger = r.table, logger(r.t)
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

func (r *rig) serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	r.t.Cleanup(server.Close)
	return server.URL
}

// startNode starts a node for a backend and returns what stops it before the test's end.
func (r *rig) startNode(backend string, change ...func(*ssp.Config)) (stop func()) {
	r.t.Helper()
	base, err := url.Parse(backend)
	check(r.t, err)
	cfg := ssp.Config{DB: r.target, Jitter: -1, Logger: logger(r.t), Backends: []config.Backend{
		{Name: "wf", BaseURL: base, Table: r.table, Concurrency: 64, Timeout: 10 * time.Second, RetryOn: config.RetryAll},
	}}
	for _, alter := range change {
		alter(&cfg)
	}
	node, err := ssp.New(cfg)
	check(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("node: %v", err)
		}
	})
	r.t.Cleanup(stop)
	select {
	case <-node.Ready():
	case err := <-ended:
		ended <- err
		r.t.Fatalf("node ended: %v", err)
	}
	return stop
}

// exec runs a request for its effect, again where it lost a conflict.
func (r *rig) exec(surql string, vars map[string]any) {
	r.t.Helper()
	if err := surreal.Exec(r.t.Context(), r.db.Retrying(), surql, vars); err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
}

// read is a request's first result.
func read[T any](r *rig, surql string, vars map[string]any) T {
	r.t.Helper()
	value, err := surreal.First[T](r.t.Context(), r.db.Retrying(), surql, vars)
	if err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
	return value
}

// poll calls done until it says so, more and more rarely: the tests share one database. What it saw
// last shows where it never does.
func (r *rig) poll(what string, done func() (bool, any)) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := 3 * time.Millisecond; ; pause = min(pause*5/4, 60*time.Millisecond) {
		ok, saw := done()
		if ok {
			return
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			r.t.Fatalf("never: %s; but %+v", what, saw)
		case <-timer.C:
		}
	}
}

// until polls an instance until done says so, and answers with its state then.
func (r *rig) until(i *wf.Instance, what string, done func(wf.Report) bool) wf.Report {
	r.t.Helper()
	var last wf.Report
	r.poll("instance "+i.ID()+" is "+what, func() (bool, any) {
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

func check(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fataler is a test, rapid's too.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

func logger(t testing.TB) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
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

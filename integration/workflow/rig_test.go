package workflow_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// A rig is one database, one node of the sync processor and one backend with an engine.
type rig struct {
	t      *testing.T
	db     *surreal.Client
	engine *wf.Engine
	table  string
}

func dbConfig(target devdbtest.Target) surreal.Config {
	return surreal.Config{Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password}
}

// newRig starts everything; register gets the engine before the first run.
func newRig(t *testing.T, register func(*wf.Engine)) *rig {
	t.Helper()
	target := devdbtest.Fresh(t)
	client, hangUp, err := surreal.Connect(t.Context(), dbConfig(target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, hangUp()) })
	r := &rig{t: t, db: client, table: "job"}
	ddl, err := config.OutboxSchema(r.table, config.OutboxOptions{})
	check(t, err)
	_, err = schema.Apply(t.Context(), client)
	check(t, err)
	check(t, surreal.Exec(t.Context(), client, ddl, nil))
	r.engine = r.newEngine()
	register(r.engine)
	r.startNode(dbConfig(target), r.serve(r.engine))
	return r
}

func (r *rig) newEngine() *wf.Engine {
	r.t.Helper()
	engine, err := wf.New(r.t.Context(), wf.Config{DB: r.db.Retrying(), OutboxTable: r.table, Logger: logger(r.t)})
	check(r.t, err)
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		check(r.t, engine.Close(ctx))
	})
	return engine
}

func (r *rig) serve(engine *wf.Engine) string {
	server := httptest.NewServer(engine.Handler(http.NotFoundHandler()))
	r.t.Cleanup(server.Close)
	return server.URL
}

func (r *rig) startNode(db surreal.Config, backend string) {
	r.t.Helper()
	base, err := url.Parse(backend)
	check(r.t, err)
	node, err := ssp.New(ssp.Config{DB: db, Jitter: -1, Logger: logger(r.t), Backends: []config.Backend{
		{Name: "wf", BaseURL: base, Table: r.table, Concurrency: 32, Timeout: 10 * time.Second, RetryOn: config.RetryAll},
	}})
	check(r.t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	r.t.Cleanup(func() { stop(); check(r.t, <-ended) })
	select {
	case <-node.Ready():
	case err := <-ended:
		r.t.Fatalf("node ended: %v", err)
	}
}

// until polls an instance until done says so, and answers with its state then.
func (r *rig) until(i *wf.Instance, what string, done func(wf.Report) bool) wf.Report {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	var last wf.Report
	for {
		report, err := i.Status(ctx)
		if err == nil {
			last = report
			if done(report) {
				return report
			}
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("instance %s is not %s but %+v", i.ID(), what, last)
		case <-ticker.C:
		}
	}
}

func (r *rig) untilStatus(i *wf.Instance, status wf.Status) wf.Report {
	r.t.Helper()
	return r.until(i, string(status), func(report wf.Report) bool { return report.Status == status })
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

func logger(t *testing.T) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

package admintest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// closing is how long a backend has to end.
const closing = time.Minute

// A Backend runs workflows, and answers to jobs.
type Backend struct {
	// DB is the backend's connection, Cfg makes those of the node.
	DB  *surreal.Client
	Cfg surreal.Config
	// Register registers the workflows.
	Register func(*wf.Engine)
	// App answers to what is no run of a workflow. Defaults to 404.
	App http.Handler
	// Configured is what the node is told of the backend at an address. Defaults to one named api with the table job.
	Configured func(base *url.URL) []config.Backend
	// Node is the node's configuration beside that. Defaults to one without schedules.
	Node ssp.Config
}

// Run starts a backend and a node beside it, until the test ends, and waits until the node takes jobs.
func (b Backend) Run(ctx context.Context, tb testing.TB) *ssp.Node {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	engine, err := wf.New(ctx, wf.Config{DB: b.DB.Retrying(), OutboxTable: "job", Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	b.Register(engine)
	if b.App == nil {
		b.App = http.NotFoundHandler()
	}
	server := httptest.NewServer(engine.Handler(b.App))
	tb.Cleanup(func() {
		server.Close()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		if err := engine.Close(end); err != nil {
			tb.Errorf("engine: %v", err)
		}
	})
	base, err := url.Parse(server.URL)
	if err != nil {
		tb.Fatal(err)
	}
	if b.Configured == nil {
		b.Configured = apiAt
	}
	b.Node.DB, b.Node.Jitter, b.Node.Logger, b.Node.Backends = b.Cfg, -1, quiet, b.Configured(base)
	node, err := ssp.New(b.Node)
	if err != nil {
		tb.Fatal(err)
	}
	runNode(ctx, tb, node)
	return node
}

func apiAt(base *url.URL) []config.Backend {
	return []config.Backend{{Name: "api", BaseURL: base, Table: "job", Concurrency: 8, Timeout: 10 * time.Second, RetryOn: config.RetryAll}}
}

// runNode runs a node until the test ends, and returns once it is ready.
func runNode(ctx context.Context, tb testing.TB, node *ssp.Node) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("node: %v", err)
		}
	})
	select {
	case <-node.Ready():
	case err := <-ended:
		ended <- err
		tb.Fatalf("node ended: %v", err)
	}
}

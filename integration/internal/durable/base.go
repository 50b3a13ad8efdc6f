package durable

import (
	"context"
	"log/slog"
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
)

// Patience bounds the wait for something that must happen; it is never a measurement.
const Patience = 3 * time.Minute

// A Base is a fresh database with the platform's schema and an outbox table, in the hands of a test. Its
// methods end the test where something fails.
type Base struct {
	T      *testing.T
	Target surreal.Config
	DB     *surreal.Client
	Table  string
	// Afterlife is what goes on after a process was killed; the test's end waits for it.
	Afterlife *sync.WaitGroup
}

// New makes a base that goes with the test.
func New(t *testing.T) *Base {
	t.Helper()
	target := devdbtest.Fresh(t)
	cfg := surreal.Config{Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password}
	client, hangUp, err := surreal.Connect(t.Context(), cfg)
	Check(t, err)
	t.Cleanup(func() { Check(t, hangUp()) })
	b := &Base{T: t, Target: cfg, DB: client, Table: "job", Afterlife: new(sync.WaitGroup)}
	t.Cleanup(b.Afterlife.Wait)
	ddl, err := config.OutboxSchema(b.Table, config.OutboxOptions{})
	Check(t, err)
	_, err = schema.Apply(t.Context(), client)
	Check(t, err)
	b.Exec(ddl, nil)
	_, err = schema.PrepareOutbox(t.Context(), client, b.Table)
	Check(t, err)
	return b
}

// On is the base in the hands of a subtest.
func (b *Base) On(t *testing.T) *Base {
	other := *b
	other.T = t
	return &other
}

// Exec runs a request for its effect, again where it lost a conflict.
func (b *Base) Exec(surql string, vars map[string]any) {
	b.T.Helper()
	if err := surreal.Exec(b.T.Context(), b.DB.Retrying(), surql, vars); err != nil {
		b.T.Fatalf("%s: %v", surql, err)
	}
}

// Read is a request's first result.
func Read[T any](b *Base, surql string, vars map[string]any) T {
	b.T.Helper()
	value, err := surreal.First[T](b.T.Context(), b.DB.Retrying(), surql, vars)
	if err != nil {
		b.T.Fatalf("%s: %v", surql, err)
	}
	return value
}

// Poll calls done until it says so, more and more rarely: the tests share one database. What it saw last shows
// where it never does.
func (b *Base) Poll(what string, done func() (bool, any)) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), Patience)
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
			b.T.Fatalf("never: %s; but %+v", what, saw)
		case <-timer.C:
		}
	}
}

// Serve serves a handler until the end of the test, and answers with its address.
func (b *Base) Serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	b.T.Cleanup(server.Close)
	return server.URL
}

// StartNode starts a node for a backend and returns what stops it before the test's end.
func (b *Base) StartNode(backend string, change ...func(*ssp.Config)) (stop func()) {
	b.T.Helper()
	base, err := url.Parse(backend)
	Check(b.T, err)
	cfg := ssp.Config{DB: b.Target, Jitter: -1, Logger: Logger(b.T), Backends: []config.Backend{
		{Name: "wf", BaseURL: base, Table: b.Table, Concurrency: 64, Timeout: 10 * time.Second, RetryOn: config.RetryAll},
	}}
	for _, alter := range change {
		alter(&cfg)
	}
	node, err := ssp.New(cfg)
	Check(b.T, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.T.Errorf("node: %v", err)
		}
	})
	b.T.Cleanup(stop)
	select {
	case <-node.Ready():
	case err := <-ended:
		ended <- err
		b.T.Fatalf("node ended: %v", err)
	}
	return stop
}

// A Fataler is a test, rapid's too.
type Fataler interface {
	Helper()
	Fatal(args ...any)
}

// Check ends the test where err is one.
func Check(t Fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must is a value that cannot but be there.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) { w.t.Logf("%s", p); return len(p), nil }

// Logger writes into the test's log where it is verbose.
func Logger(t testing.TB) *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// A rig is a database of a test's own, with the platform's schema and an outbox table named job, whose
// backend has the workflows ALPHA and BETA.
type rig struct {
	t       *testing.T
	ctx     context.Context
	cfg     surreal.Config
	db      *surreal.Client
	durable *Durable
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	target := devdbtest.Fresh(t)
	r := &rig{t: t, ctx: ctx, cfg: surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	}}
	db, stop, err := surreal.Connect(ctx, r.cfg)
	r.check(err)
	t.Cleanup(func() { r.check(stop()) })
	r.db = db
	_, err = schema.Apply(ctx, db)
	r.check(err)
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	r.check(err)
	r.exec(ddl, nil)
	_, err = schema.PrepareOutbox(ctx, db, "job")
	r.check(err)
	r.durable = NewDurable(DurableConfig{DB: db, Backends: []config.Backend{
		{Name: "api", Table: "job", Workflows: []config.Workflow{{Binding: "ALPHA", Class: "Alpha"}, {Binding: "BETA", Class: "Beta"}}},
		{Name: "bare", Workflows: []config.Workflow{{Binding: "TABLELESS", Class: "T"}}},
	}})
	return r
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.t.Helper()
	if err := surreal.Exec(r.ctx, r.db, surql, vars); err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
}

// json is what a statement answers with.
func (r *rig) json(surql string, vars map[string]any) string {
	r.t.Helper()
	value, err := surreal.First[any](r.ctx, r.db, surql, vars)
	if err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
	text, err := surreal.ToJSON(value)
	r.check(err)
	return string(text)
}

func (r *rig) create(n NewInstance) string {
	r.t.Helper()
	id, err := r.durable.Create(r.ctx, n)
	r.check(err)
	return id
}

func (r *rig) get(id string) Instance {
	r.t.Helper()
	i, err := r.durable.Get(r.ctx, id)
	r.check(err)
	return i
}

// running starts a backend that runs register's workflows, and a node beside it.
func (r *rig) running(register func(*wf.Engine)) {
	r.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	engine, err := wf.New(r.ctx, wf.Config{DB: r.db.Retrying(), OutboxTable: "job", Logger: quiet})
	r.check(err)
	register(engine)
	server := httptest.NewServer(engine.Handler(http.NotFoundHandler()))
	base, err := url.Parse(server.URL)
	r.check(err)
	node, err := ssp.New(ssp.Config{DB: r.cfg, Jitter: -1, Logger: quiet, Backends: []config.Backend{
		{Name: "api", BaseURL: base, Table: "job", Concurrency: 8, Timeout: 10 * time.Second, RetryOn: config.RetryAll},
	}})
	r.check(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.ctx))
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("node: %v", err)
		}
		server.Close()
		end, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := engine.Close(end); err != nil {
			r.t.Errorf("engine: %v", err)
		}
	})
	select {
	case <-node.Ready():
	case err := <-ended:
		ended <- err
		r.t.Fatalf("node ended: %v", err)
	}
}

// wants fails unless an error is of target's kind, which it is put into, and says something.
func wants(t *testing.T, what string, err error, target any, says string) {
	t.Helper()
	if !errors.As(err, target) || !strings.Contains(err.Error(), says) {
		t.Fatalf("%s: %v, want %T and %q", what, err, target, says)
	}
}

func pretty(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r *rig) now() time.Time {
	r.t.Helper()
	now, err := r.durable.Now(r.ctx)
	r.check(err)
	return now
}

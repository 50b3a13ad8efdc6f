package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/admin/admintest"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// A rig is a database of a test's own, with the platform's schema and an outbox table named job, whose
// backend has the workflows ALPHA and BETA.
type rig struct {
	t       *testing.T
	ctx     context.Context
	cfg     surreal.Config
	db      *surreal.Client
	durable *Durable
	app     http.Handler // what the backend serves beside its workflows; nil is nothing
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx}
	r.db, r.cfg = admintest.Connect(ctx, t, devdbtest.Fresh(t))
	r.durable = NewDurable(DurableConfig{DB: r.db, Backends: []config.Backend{
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
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
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
	admintest.Backend{DB: r.db, Cfg: r.cfg, Register: register, App: r.app}.Run(r.ctx, r.t)
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

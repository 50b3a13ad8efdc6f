package retention

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// A rig is a database of a test's own with the platform's schema and an outbox table named job.
type rig struct {
	tb  testing.TB
	ctx context.Context
	cfg surreal.Config
	db  *surreal.Client
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	target := devdbtest.Fresh(tb)
	r := &rig{tb: tb, ctx: ctx, cfg: surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	}}
	r.db = r.connect()
	_, err := schema.Apply(ctx, r.db)
	r.check(err)
	r.outbox("job")
	return r
}

func (r *rig) connect() *surreal.Client {
	r.tb.Helper()
	db, stop, err := surreal.Connect(r.ctx, r.cfg)
	r.check(err)
	r.tb.Cleanup(func() { _ = stop() })
	return db
}

func (r *rig) outbox(table string) {
	r.tb.Helper()
	ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
	r.check(err)
	r.exec(ddl, nil)
	_, err = schema.PrepareOutbox(r.ctx, r.db, table)
	r.check(err)
}

func (r *rig) check(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.tb.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
}

// json is what a statement answers with.
func (r *rig) json(surql string, vars map[string]any) string {
	r.tb.Helper()
	value, err := surreal.First[any](r.ctx, r.db, surql, vars)
	if err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
	text, err := surreal.ToJSON(value)
	r.check(err)
	return string(text)
}

// want fails unless a statement answers so.
func (r *rig) want(what, surql, want string) {
	r.tb.Helper()
	if got := r.json(surql, nil); got != want {
		r.tb.Errorf("%s: %s, want %s", what, got, want)
	}
}

// configure writes settings for the tables.
func (r *rig) configure(c config.Retention, tables ...string) Settings {
	r.tb.Helper()
	s, err := Configure(r.ctx, r.db.Retrying(), c, tables)
	r.check(err)
	return s
}

// pruner is one that holds nothing yet.
func (r *rig) pruner(node string, change ...func(*Config)) *Pruner {
	cfg := Config{DB: r.db, Node: node, Trouble: func(err error) { r.tb.Errorf("node %s: %v", node, err) }}
	for _, apply := range change {
		apply(&cfg)
	}
	return New(cfg)
}

// pass prunes as long as there is something to prune.
func (r *rig) pass(p *Pruner) int {
	r.tb.Helper()
	all := 0
	for {
		n, err := p.Pass(r.ctx)
		r.check(err)
		if all += n; !p.more {
			return all
		}
	}
}

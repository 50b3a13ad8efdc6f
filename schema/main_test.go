package schema_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go"
	"go.uber.org/goleak"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// A rig is an empty database of a test's own.
type rig struct {
	tb  testing.TB
	ctx context.Context
	cfg surreal.Config
	db  *surreal.Client
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	target := devdbtest.Fresh(tb)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	r := &rig{tb: tb, ctx: ctx, cfg: surreal.Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	}}
	r.db = r.connect(r.cfg)
	return r
}

// newApplied is a rig with the platform's schema and, where ddl is not empty, a prepared outbox table job.
func newApplied(tb testing.TB, ddl string) *rig {
	tb.Helper()
	r := newRig(tb)
	if _, err := schema.Apply(r.ctx, r.db); err != nil {
		tb.Fatal(err)
	}
	if ddl != "" {
		r.exec(ddl, nil)
		r.prepare()
	}
	return r
}

func (r *rig) connect(cfg surreal.Config) *surreal.Client {
	r.tb.Helper()
	db, stop, err := surreal.Connect(r.ctx, cfg)
	if err != nil {
		r.tb.Fatalf("connect: %v", err)
	}
	r.tb.Cleanup(func() { _ = stop() })
	return db
}

func (r *rig) prepare() schema.Outbox {
	r.tb.Helper()
	box, err := schema.PrepareOutbox(r.ctx, r.db, "job")
	if err != nil {
		r.tb.Fatal(err)
	}
	return box
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.tb.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
}

// object runs a statement that answers with an object.
func (r *rig) object(surql string) map[string]any {
	r.tb.Helper()
	found, err := surreal.Last[map[string]any](r.ctx, r.db, surql, nil)
	if err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
	return found
}

// moment runs a statement that answers with a datetime or NONE.
func (r *rig) moment(surql string) *time.Time {
	r.tb.Helper()
	at, err := surreal.Last[*time.Time](r.ctx, r.db, surql, nil)
	if err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
	return at
}

// Tables that people have.
func ours(tb testing.TB) string {
	tb.Helper()
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return ddl
}

func upstreams(tb testing.TB, name string) string {
	tb.Helper()
	ddl, err := os.ReadFile("testdata/" + name + ".surql")
	if err != nil {
		tb.Fatal(err)
	}
	return string(ddl)
}

// A user is a record user on the official SDK.
type user struct {
	tb  testing.TB
	ctx context.Context
	db  *surrealdb.DB
}

// signUp connects as a new record user.
func (r *rig) signUp(name string) *user {
	r.tb.Helper()
	r.exec(`DEFINE TABLE IF NOT EXISTS user SCHEMAFULL PERMISSIONS FOR select WHERE id = $auth; DEFINE FIELD IF NOT EXISTS name ON user TYPE string;
		DEFINE ACCESS IF NOT EXISTS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name);`, nil)
	db, err := surrealdb.FromEndpointURLString(r.ctx, r.cfg.Endpoint)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = db.Close(context.Background()) })
	if err := db.Use(r.ctx, r.cfg.Namespace, r.cfg.Database); err != nil {
		r.tb.Fatal(err)
	}
	vars := map[string]any{"NS": r.cfg.Namespace, "DB": r.cfg.Database, "AC": "account", "name": name}
	if _, err := db.SignUp(r.ctx, vars); err != nil {
		r.tb.Fatal(err)
	}
	return &user{tb: r.tb, ctx: r.ctx, db: db}
}

// try runs statements and answers with the last one's value.
func (u *user) try(surql string) (any, error) {
	results, err := surrealdb.Query[any](u.ctx, u.db, surql, nil)
	if err != nil {
		return nil, err
	}
	return (*results)[len(*results)-1].Result, nil
}

func (u *user) query(surql string) any {
	u.tb.Helper()
	value, err := u.try(surql)
	if err != nil {
		u.tb.Fatalf("%s: %v", surql, err)
	}
	return value
}

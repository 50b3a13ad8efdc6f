package model

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

const (
	// hour is a time that no test takes: of leases and heartbeats that must not end by themselves.
	hour = time.Hour
	// testLimit is how long a test waits for what must happen.
	testLimit = 5 * time.Minute
	// connections at work side by side: more than the engine has processors to itself.
	connections = 4
	// walkLimit keeps walks short enough to be shared among the connections.
	walkLimit = 200
)

// A rig is a database of a test's own with the platform's schema and an outbox table named job.
type rig struct {
	ctx context.Context
	cfg surreal.Config
	db  *surreal.Client
	// edit changes the text of statements that are not the schema's.
	edit *mutant
}

// newRig makes one, whose functions or statements are those of the mutant where there is one.
func newRig(tb testing.TB, edit *mutant) *rig {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	tb.Cleanup(cancel)
	target := devdbtest.Fresh(tb)
	r := &rig{ctx: ctx, edit: edit, cfg: surreal.Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	}}
	r.db = r.connect(tb)
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	r.exec(tb, ddl, nil)
	if _, err := schema.Apply(ctx, r.db); err != nil {
		tb.Fatal(err)
	}
	if _, err := schema.PrepareOutbox(ctx, r.db, "job"); err != nil {
		tb.Fatal(err)
	}
	if edit != nil && edit.schema {
		r.exec(tb, "BEGIN;\n"+edit.apply(tb, schema.Statements())+"COMMIT;", nil)
	}
	return r
}

// connect is one more connection.
func (r *rig) connect(tb testing.TB) *surreal.Client {
	tb.Helper()
	db, stop, err := surreal.Connect(r.ctx, r.cfg)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = stop() })
	return db
}

func (r *rig) exec(tb testing.TB, surql string, vars map[string]any) {
	tb.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		tb.Fatalf("%.200s: %v", surql, err)
	}
}

// table is the outbox table over one connection, with leases that no test outlives.
func (r *rig) table(db surreal.Querier) *outbox.Table { return r.tableWith(db, hour) }

func (r *rig) tableWith(db surreal.Querier, lease time.Duration) *outbox.Table {
	if r.edit != nil && !r.edit.schema {
		db = editing{db, r.edit}
	}
	return outbox.New(outbox.Config{DB: db, Name: "job", Timeout: lease / 2, Grace: lease / 2})
}

// A mutant is a guard taken out of the database's functions or of a statement.
type mutant struct {
	name     string
	old, new string
	// schema is whether the text is the schema's; else it is a statement's.
	schema bool
	// quiet says why histories of a few hundred calls need not show it; the walks do.
	quiet string
}

func (m *mutant) apply(tb testing.TB, text string) string {
	tb.Helper()
	if !strings.Contains(text, m.old) {
		tb.Fatalf("%s: the text to change is not there any more: %s", m.name, m.old)
	}
	return strings.ReplaceAll(text, m.old, m.new)
}

// editing changes statements on their way to the database.
type editing struct {
	surreal.Querier
	edit *mutant
}

func (e editing) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	return e.Querier.Query(ctx, strings.ReplaceAll(surql, e.edit.old, e.edit.new), vars)
}

// take runs all walks, several at a time, and answers with the first disagreement, if there is one.
func take[S, A comparable, E any](tb testing.TB, r *rig, walks [][]Edge[S, A, E], play func(ctx context.Context, db *surreal.Client, n int, walk []Edge[S, A, E]) error) error {
	tb.Helper()
	group, ctx := errgroup.WithContext(r.ctx)
	next := make(chan int)
	group.Go(func() error {
		defer close(next)
		for n := range walks {
			select {
			case next <- n:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
	for range connections {
		db := r.connect(tb)
		group.Go(func() error {
			for n := range next {
				if err := play(ctx, db, n, walks[n]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

package bench

import (
	"context"
	cryptorand "crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/table.surql
var tableDDL string

const insertBatch = 500

// A ground is an outbox table of a bench's own, and a connection.
type ground struct {
	client *surreal.Client
	table  string
	box    *outbox.Table
	// tenants is how many values payloads have; 0 numbers the rows of an insert.
	tenants int
	// ordered rows have ids that grow, as `CREATE job:ulid()` gives them, instead of random ones.
	ordered bool
	last    atomic.Int64
}

// onGround measures on a table that is there only meanwhile.
func onGround(ctx context.Context, db surreal.Config, measure func(context.Context, *ground) error) error {
	client, hangUp, err := surreal.Connect(ctx, db)
	if err != nil {
		return err
	}
	g := &ground{client: client, table: "spky_bench_" + strings.ToLower(cryptorand.Text()[:8])}
	g.box = outbox.New(outbox.Config{DB: client, Name: g.table})
	if err = g.prepare(ctx); err == nil {
		err = sparingRetention(ctx, client, func() error { return measure(ctx, g) })
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute) // a million rows
		defer cancel()
		err = errors.Join(err, surreal.Exec(clean, client, "REMOVE TABLE IF EXISTS `"+g.table+"`", nil))
	}
	return errors.Join(err, hangUp())
}

// sparingRetention puts back what the database's nodes were told of old rows: a bench's node is configured
// to keep everything, and says so when it starts.
func sparingRetention(ctx context.Context, client *surreal.Client, measure func() error) error {
	const read, back = "SELECT * FROM _00_retention:default", "DELETE _00_retention:default RETURN NONE; INSERT INTO _00_retention $was RETURN NONE"
	was, err := surreal.First[[]map[string]any](ctx, client, read, nil)
	if err != nil {
		return fmt.Errorf("read what is kept: %w", err)
	}
	err = measure()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(err, surreal.Exec(end, client.Retrying(), "BEGIN; "+back+"; COMMIT", map[string]any{"was": was}))
}

func (g *ground) prepare(ctx context.Context) error {
	if _, err := schema.Apply(ctx, g.client); err != nil {
		return err
	}
	if err := surreal.Exec(ctx, g.client.Retrying(), strings.ReplaceAll(tableDDL, "{{table}}", g.table), nil); err != nil {
		return fmt.Errorf("define the bench's table: %w", err)
	}
	_, err := schema.PrepareOutbox(ctx, g.client, g.table)
	return err
}

// insert writes count rows, many a statement.
func (g *ground) insert(ctx context.Context, count int, columns map[string]any) error {
	for count > 0 {
		n := min(count, insertBatch)
		if err := g.insertOnce(ctx, n, columns); err != nil {
			return err
		}
		count -= n
	}
	return nil
}

func (g *ground) insertOnce(ctx context.Context, n int, columns map[string]any) error {
	rows := make([]map[string]any, n)
	for i := range rows {
		rows[i] = map[string]any{"path": "/noop", "payload": i}
		if g.tenants > 0 {
			rows[i]["payload"] = rand.IntN(g.tenants) //nolint:gosec // no secret
		}
		if g.ordered {
			rows[i]["id"] = fmt.Sprintf("j%015x", g.last.Add(1))
		}
		maps.Copy(rows[i], columns)
	}
	return surreal.Exec(ctx, g.client.Retrying(), "INSERT INTO `"+g.table+"` $rows RETURN NONE", map[string]any{"rows": rows})
}

// untilDone waits until the backend has had that many requests and nothing is left due or running.
// The database is asked only then: looking through an index whose entries have just been removed
// costs more than the jobs do.
func (g *ground) untilDone(ctx context.Context, backend *backend, requests int64, count int) error {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Duration(count)*10*time.Millisecond)
	defer cancel()
	for {
		if backend.requests.Load() >= requests {
			left, err := surreal.First[[]any](ctx, g.client, "SELECT id FROM `"+g.table+"` WHERE run_at = NONE AND status = 'processing' LIMIT 1", nil)
			if err != nil || len(left) == 0 {
				return err
			}
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("jobs are left: %w", err)
		}
	}
}

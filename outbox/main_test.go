package outbox

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// testLimit is how long a test waits for what must happen.
const testLimit = 3 * time.Minute

// A rig is a database of a test's own with the platform's schema and an outbox table named job.
type rig struct {
	tb    testing.TB
	ctx   context.Context
	cfg   surreal.Config
	db    *surreal.Client
	table *Table
}

func newRig(tb testing.TB, change ...func(*Config)) *rig {
	tb.Helper()
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return newRigWith(tb, ddl, change...)
}

func newRigWith(tb testing.TB, ddl string, change ...func(*Config)) *rig {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	tb.Cleanup(cancel)
	target := devdbtest.Fresh(tb)
	r := &rig{tb: tb, ctx: ctx, cfg: surreal.Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	}}
	r.db = r.connect()
	r.exec(ddl, nil)
	if _, err := schema.Apply(ctx, r.db); err != nil {
		tb.Fatal(err)
	}
	box, err := schema.PrepareOutbox(ctx, r.db, "job")
	if err != nil {
		tb.Fatal(err)
	}
	cfg := Config{DB: r.db, Name: "job", Cancelled: Status(box.Cancelled)}
	for _, apply := range change {
		apply(&cfg)
	}
	r.table = New(cfg)
	r.live("a", "b", "c")
	return r
}

// connect is one more connection.
func (r *rig) connect() *surreal.Client {
	r.tb.Helper()
	db, stop, err := surreal.Connect(r.ctx, r.cfg)
	if err != nil {
		r.tb.Fatalf("connect: %v", err)
	}
	r.tb.Cleanup(func() { _ = stop() })
	return db
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.tb.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
}

// live writes heartbeats of these nodes.
func (r *rig) live(nodes ...string) {
	r.tb.Helper()
	for _, node := range nodes {
		r.exec("RETURN fn::spky::node::beat($row)", map[string]any{"row": map[string]any{
			"node": node, "host": "h", "pid": 1, "version": "v", "listen": surreal.None, "draining": false, "backends": []any{},
		}})
	}
}

// dead makes these nodes silent for longer than a node may be.
func (r *rig) dead(nodes ...string) {
	r.tb.Helper()
	r.exec("UPDATE _00_node SET heartbeat_at = time::now() - 11s WHERE node IN $nodes RETURN NONE", map[string]any{"nodes": nodes})
}

// job writes a due job.
func (r *rig) job(key any, columns map[string]any) surreal.RecordID {
	r.tb.Helper()
	id := surreal.NewRecordID("job", key)
	content := map[string]any{"path": "/x", "payload": nil}
	maps.Copy(content, columns)
	r.exec("CREATE $id CONTENT $content RETURN NONE", map[string]any{"id": id, "content": content})
	return id
}

// claim takes one job for the node, which must succeed.
func (r *rig) claim(node string, id surreal.RecordID) Job {
	r.tb.Helper()
	jobs := r.claims(node, id)
	if len(jobs) != 1 {
		r.tb.Fatalf("claim of %s gave %d jobs", surreal.FormatID(id), len(jobs))
	}
	return jobs[0]
}

// claims takes jobs for the node.
func (r *rig) claims(node string, ids ...surreal.RecordID) []Job {
	r.tb.Helper()
	jobs, refused, err := r.table.Claim(r.ctx, node, ids)
	if err != nil || len(refused) > 0 {
		r.tb.Fatalf("claim: %v, refused %v", err, refused)
	}
	return jobs
}

// settle writes one outcome.
func (r *rig) settle(o Outcome) Settled {
	r.tb.Helper()
	settled, err := r.table.Settle(r.ctx, []Outcome{o})
	if err != nil || len(settled) != 1 {
		r.tb.Fatalf("settle: %v, %d answers", err, len(settled))
	}
	return settled[0]
}

// A jobRow is a job as stored.
type jobRow struct {
	Status    Status     `json:"status"`
	Retries   int        `json:"retries"`
	Epoch     int64      `json:"lease_epoch"`
	Assignee  string     `json:"assignee"`
	Until     *time.Time `json:"lease_until"`
	RunAt     *time.Time `json:"run_at"`
	Cancel    *time.Time `json:"cancel_requested"`
	CreatedAt *time.Time `json:"created_at"`
	UpdatedAt *time.Time `json:"updated_at"`
	Result    any        `json:"result"`
	Errors    []struct {
		Code    any       `json:"code"`
		Reason  string    `json:"reason"`
		At      time.Time `json:"at"`
		Attempt int       `json:"attempt"`
	} `json:"errors"`
}

func (j jobRow) codes() string {
	text := ""
	for _, e := range j.Errors {
		text += fmt.Sprintf("%v/%d ", e.Code, e.Attempt)
	}
	return text
}

// stored is a job with all its columns.
func (r *rig) stored(id surreal.RecordID) []Row {
	r.tb.Helper()
	rows, err := surreal.First[[]Row](r.ctx, r.db, "SELECT * FROM $id", map[string]any{"id": id})
	if err != nil {
		r.tb.Fatalf("read %s: %v", surreal.FormatID(id), err)
	}
	return rows
}

func (r *rig) row(id surreal.RecordID) jobRow {
	r.tb.Helper()
	rows, err := surreal.First[[]jobRow](r.ctx, r.db, "SELECT * OMIT payload FROM $id", map[string]any{"id": id})
	if err != nil || len(rows) != 1 {
		r.tb.Fatalf("read %s: %v, %d rows", surreal.FormatID(id), err, len(rows))
	}
	return rows[0]
}

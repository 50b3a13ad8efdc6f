package outbox

import (
	"fmt"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// BenchmarkRows says what the database takes for the three writes of a job, a row of 64 in one statement:
// the insert, the claim, the success. The statements are the runner's; the table is one without columns,
// an outbox without indexes, an outbox, and one that somebody listens to as a node does. Nobody else writes.
// Compare within one run.
func BenchmarkRows(b *testing.B) {
	r := newRig(b)
	const bare = "DEFINE TABLE bare SCHEMALESS; DEFINE FIELD status ON bare DEFAULT 'pending'"
	r.exec(bare, nil)
	r.outbox("unindexed")
	r.exec("REMOVE INDEX idx_unindexed_due ON unindexed; REMOVE INDEX idx_unindexed_newest ON unindexed", nil)
	r.outbox("listened")
	live, err := r.connect().Live(r.ctx, surreal.LiveConfig{Statement: "LIVE SELECT id, run_at FROM listened WHERE status = 'pending'"})
	if err != nil {
		b.Fatal(err)
	}
	defer live.Close(r.ctx)
	for _, table := range []string{"bare", "unindexed", "job", "listened"} {
		b.Run(table, func(b *testing.B) { r.writeRows(b, table) })
		live.Take()
	}
}

// outbox makes one more outbox table.
func (r *rig) outbox(table string) {
	r.tb.Helper()
	ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
	if err != nil {
		r.tb.Fatal(err)
	}
	r.exec(ddl, nil)
	if _, err := schema.PrepareOutbox(r.ctx, r.db, table); err != nil {
		r.tb.Fatal(err)
	}
}

// writeRows takes b.N times 64 rows from their insert to their success.
func (r *rig) writeRows(b *testing.B, table string) {
	const rows = 64
	box := New(Config{DB: r.db, Name: table})
	var took [3]time.Duration
	for n := range b.N {
		ids, contents := make([]surreal.RecordID, rows), make([]any, rows)
		for i := range rows {
			ids[i] = surreal.NewRecordID(table, fmt.Sprintf("%d-%d", n, i))
			contents[i] = map[string]any{"id": ids[i], "path": "/x", "payload": map[string]any{"n": i}}
		}
		var jobs []Job
		outcomes := make([]Outcome, rows)
		for step, do := range []func() error{
			func() error {
				return surreal.Exec(r.ctx, r.db, "INSERT INTO "+table+" $rows RETURN NONE", map[string]any{"rows": contents})
			},
			func() (err error) { jobs, _, err = box.Claim(r.ctx, "a", ids); return err },
			func() error { _, err := box.Settle(r.ctx, outcomes); return err },
		} {
			started := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			took[step] += time.Since(started)
			for i, job := range jobs {
				outcomes[i] = Outcome{ID: job.ID, Epoch: job.Epoch, Status: Success, Result: "done"}
			}
		}
		if len(jobs) != rows {
			b.Fatalf("claimed %d of %d", len(jobs), rows)
		}
	}
	for step, name := range []string{"insert-µs/row", "claim-µs/row", "success-µs/row"} {
		b.ReportMetric(float64(took[step].Microseconds())/float64(b.N*rows), name)
	}
	r.exec("DELETE "+table+" RETURN NONE", nil)
}

package outbox

import (
	"testing"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// TestEnlist brings a table up to this version that has jobs in every state, with the index of the
// version before.
func TestEnlist(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`REMOVE FIELD newest ON job; REMOVE FIELD listed ON job; REMOVE INDEX idx_job_newest ON job; REMOVE INDEX idx_job_due ON job;
		DEFINE INDEX idx_job_due ON job FIELDS run_at, status;`, nil)
	r.exec(`INSERT INTO job (<array> 0..1203).map(|$n| { RETURN { id: $n, path: '/x', created_at: d'2024-01-01T00:00:00Z' + duration::from_secs($n),
		status: ['pending', 'processing', 'success', 'failed', 'cancelled'][$n % 5] } }) RETURN NONE`, nil)
	box, err := schema.PrepareOutbox(r.ctx, r.db, "job")
	if err != nil || len(box.Missing) > 0 {
		t.Fatalf("prepare: %v, missing %v", err, box.Missing)
	}
	var enlisted []int
	for {
		n, err := r.table.Enlist(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		enlisted = append(enlisted, n)
	}
	if len(enlisted) != 3 || enlisted[0] != 500 || enlisted[2] != 203 {
		t.Errorf("enlisted %v", enlisted)
	}
	wrong, err := surreal.First[[]any](r.ctx, r.db, "SELECT * FROM job WHERE newest != -time::micros(created_at) OR listed != true OR (status = 'pending') != (run_at != NONE)", nil)
	if err != nil || len(wrong) > 0 {
		t.Errorf("%d rows are not as they should be, such as %v; %v", len(wrong), wrong[:min(1, len(wrong))], err)
	}
	// The runner's own statements find what they did.
	if ids, err := surreal.First[[]any](r.ctx, r.db, "SELECT VALUE id FROM job WITH INDEX idx_job_due WHERE run_at = NONE AND status = 'failed' AND newest >= -1704067300000000 LIMIT 2", nil); err != nil || len(ids) != 2 {
		t.Errorf("found %v, %v", ids, err)
	}
}

// TestEnlistPassesOverWhatTheTableRefuses leaves such rows as they are.
func TestEnlistPassesOverWhatTheTableRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("REMOVE FIELD newest ON job; REMOVE FIELD listed ON job", nil)
	r.job("good", nil)
	r.job("bad", nil)
	r.exec("DEFINE FIELD tenant ON job TYPE option<string>; UPDATE job:good SET tenant = 'a'; DEFINE FIELD OVERWRITE tenant ON job TYPE string", nil)
	if _, err := schema.PrepareOutbox(r.ctx, r.db, "job"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.table.Enlist(r.ctx); n != 1 || err != nil {
		t.Errorf("enlisted %d, %v", n, err)
	}
}

package outbox

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// moreIndexes are those that upstream's tables and applications have beside the platform's.
const moreIndexes = `DEFINE INDEX idx_job_dispatch ON job FIELDS status, created_at; DEFINE INDEX idx_job_activity ON job FIELDS updated_at;
	DEFINE INDEX idx_job_status ON job FIELDS status; DEFINE INDEX idx_job_assigned_to ON job FIELDS assigned_to;`

// plan is how the database means to run a statement of the table's.
func (r *rig) plan(statement string, vars map[string]any) string {
	r.tb.Helper()
	text, err := surreal.First[string](r.ctx, r.db, "EXPLAIN "+statement, vars)
	if err != nil {
		r.tb.Fatal(err)
	}
	return text
}

// TestReport28HotStatementsReadOnlyWhatTheyNeed looks at the database's plans, with other indexes present.
func TestReport28HotStatementsReadOnlyWhatTheyNeed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(moreIndexes, nil)
	now := time.Now()
	cases := map[string]struct {
		statement string
		vars      map[string]any
		want      []string
		never     []string
	}{
		"due": {
			r.table.due,
			map[string]any{"from": now.Add(-time.Minute), "to": now, "limit": 50},
			[]string{"IndexScan", "idx_job_due", "access: >=d'", "<d'", "Forward", "limit: $limit"},
			[]string{"Sort", "Filter"},
		},
		"held": {
			r.table.held,
			map[string]any{"node": "a", "live": []string{"a", "b"}, "now": now},
			[]string{"IndexScan", "idx_job_due", "[NONE, 'processing']"},
			[]string{"Sort"},
		},
		"stray": {r.table.stray, nil, []string{"IndexScan", "idx_job_due", "[NONE, 'pending']", "limit: 500"}, []string{"Sort", "Filter"}},
	}
	for name, c := range cases {
		plan := r.plan(c.statement, c.vars)
		for _, part := range c.want {
			if !strings.Contains(plan, part) {
				t.Errorf("%s: the plan lacks %q:\n%s", name, part, plan)
			}
		}
		for _, part := range append(c.never, "TableScan") {
			if strings.Contains(plan, part) {
				t.Errorf("%s: the plan has a %s:\n%s", name, part, plan)
			}
		}
	}
}

// TestReport27TheOldestDueJobIsTheOnePicked compares what the index answers with what a scan answers,
// among rows of all states, with other indexes present.
func TestReport27TheOldestDueJobIsTheOnePicked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(moreIndexes, nil)
	now := time.Now().Truncate(time.Second)
	rng := rand.New(rand.NewPCG(1, 2))
	statuses := Statuses()
	for batch := range 4 {
		rows := make([]map[string]any, 150)
		for i := range rows {
			rows[i] = map[string]any{
				"id": surreal.NewRecordID("job", batch*len(rows)+i), "path": "/x", "status": string(statuses[rng.IntN(len(statuses))]),
				"run_at": now.Add(time.Duration(rng.IntN(7200)-3600) * time.Second), "created_at": now.Add(-time.Duration(rng.IntN(7200)) * time.Second),
			}
		}
		r.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows})
		r.exec("UPDATE job SET updated_at = time::now() WHERE status = 'pending' RETURN NONE", nil)
	}
	scan := strings.Replace(r.table.due, "WITH INDEX `idx_job_due`", "WITH NOINDEX", 1)
	for _, limit := range []int{1, 2, 10, 1000} {
		for _, from := range []time.Time{time.Unix(0, 0), now.Add(-20 * time.Minute)} {
			want, err := surreal.First[[]Due](r.ctx, r.db, scan, map[string]any{"from": from.Add(1), "to": now.Add(1), "limit": limit})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.table.Due(r.ctx, from, now, limit)
			if err != nil || len(got) != len(want) || len(got) == 0 {
				t.Fatalf("limit %d: %d rows, %v; want %d", limit, len(got), err, len(want))
			}
			for i := range got {
				if !got[i].RunAt.Equal(want[i].RunAt) || got[i].Status != Pending {
					t.Fatalf("limit %d, row %d: %+v, want %+v", limit, i, got[i], want[i])
				}
			}
		}
	}
}

// TestReport42RunAtKeepsItsNanoseconds orders rows within one second.
func TestReport42RunAtKeepsItsNanoseconds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Second).Add(123456789)
	for i := range 5 {
		r.job(i, map[string]any{"run_at": at.Add(time.Duration(-i))})
	}
	rows, err := r.table.Due(r.ctx, at.Add(-5), at, 10)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		if want := at.Add(time.Duration(i - 4)); !row.RunAt.Equal(want) || surreal.FormatID(row.ID) != fmt.Sprintf("job:%d", 4-i) {
			t.Errorf("row %d is %s at %v, want %v", i, surreal.FormatID(row.ID), row.RunAt, want)
		}
	}
	if rows, err := r.table.Due(r.ctx, at.Add(-3), at.Add(-1), 10); err != nil || len(rows) != 2 {
		t.Errorf("between two nanoseconds and one before: %d rows, %v; want 2", len(rows), err)
	}
}

package outbox

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

func TestAClaimCarriesTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Timeout = 20 * time.Second })
	id := r.job("x", map[string]any{"payload": map[string]any{"n": 1}, "max_retries": 7, "retry_strategy": "exponential", "timeout": 33})
	job := r.claim("a", id)
	if surreal.FormatID(job.ID) != "job:x" || job.Path != "/x" || job.MaxRetries != 7 || job.Strategy != "exponential" || job.Timeout != 33 ||
		job.Epoch != 1 || job.Attempt() != 1 || job.Err != nil || job.DueAt.IsZero() || job.CreatedAt.IsZero() {
		t.Errorf("job is %+v", job)
	}
	if payload, ok := job.Payload.(map[string]any); !ok || payload["n"] != uint64(1) {
		t.Errorf("payload is %#v", job.Payload)
	}
	row := r.row(id)
	if row.Status != Processing || row.Assignee != "a" || row.RunAt != nil || row.Until == nil {
		t.Fatalf("row is %+v", row)
	}
	if lease := row.Until.Sub(*row.UpdatedAt); lease < 29*time.Second || lease > 31*time.Second {
		t.Errorf("lease is %v, want timeout and grace", lease)
	}
}

// TestReportJ6LeasesOutliveTheirAttempts has the lease follow a timeout that the row may override.
func TestReportJ6LeasesOutliveTheirAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Timeout, c.Overridable = 5*time.Second, true })
	for timeout, want := range map[int]time.Duration{0: 11, -3: 11, 1: 11, 600: 610, 3600: 3610, 1 << 40: 3610} {
		id := r.job(timeout, map[string]any{"timeout": timeout})
		job := r.claim("a", id)
		row := r.row(id)
		lease, attempt := row.Until.Sub(*row.UpdatedAt).Round(time.Second), r.table.AttemptTimeout(job)
		if lease < attempt+9*time.Second {
			t.Errorf("timeout %d: the lease of %v ends before the attempt of %v with its grace", timeout, lease, attempt)
		}
		if lease != want*time.Second {
			t.Errorf("timeout %d: lease is %v, want %v", timeout, lease, want*time.Second)
		}
	}
}

// TestReport17OfManyClaimersOneWins has 16 claimers on connections of their own fight for the same jobs.
func TestReport17OfManyClaimersOneWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const claimers, jobs = 16, 100
	ids := make([]surreal.RecordID, jobs)
	for i := range ids {
		ids[i] = r.job(i, nil)
	}
	var mu sync.Mutex
	wins := map[string][]string{}
	var wg sync.WaitGroup
	for c := range claimers {
		table := New(Config{DB: r.connect(), Name: "job"})
		wg.Go(func() {
			for at := 0; at < jobs; at += 10 {
				found, refused, err := table.Claim(r.ctx, fmt.Sprintf("node-%d", c), ids[at:at+10])
				if err != nil || len(refused) > 0 {
					t.Errorf("claim: %v, refused %v", err, refused)
				}
				mu.Lock()
				for _, job := range found {
					key := surreal.FormatID(job.ID)
					wins[key] = append(wins[key], fmt.Sprintf("node-%d", c))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		won, row := wins[surreal.FormatID(id)], r.row(id)
		if len(won) != 1 || row.Assignee != won[0] || row.Epoch != 1 {
			t.Errorf("%s was claimed by %v; the row says %s, epoch %d", surreal.FormatID(id), won, row.Assignee, row.Epoch)
		}
	}
}

func TestWhatIsNotDueIsNotClaimed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	later, held, done, missing := r.job("later", map[string]any{"delay": 60000}), r.job("held", nil), r.job("done", nil), surreal.NewRecordID("job", "missing")
	r.claim("a", held)
	job := r.claim("a", done)
	r.settle(Outcome{ID: done, Epoch: job.Epoch, Status: Success})
	if jobs := r.claims("b", later, held, done, missing); len(jobs) != 0 {
		t.Errorf("claimed %+v", jobs)
	}
	if row := r.row(held); row.Assignee != "a" || row.Epoch != 1 {
		t.Errorf("the held job is %+v", row)
	}
}

// TestAnyKindOfIDCanBeWorkedOn takes a job of each kind of id through all verbs.
func TestAnyKindOfIDCanBeWorkedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	uuid := surreal.UUID{}
	copy(uuid.UUID[:], "0123456789abcdef")
	keys := []any{
		"plain", "a-b", "123", "with space", "täg", "\U0001F47B", "`tick`", "⟨angle⟩", "a:b", "NONE", "x\x00y", `back\slash`, "quote'\"", strings.Repeat("long", 200),
		0, 1, -5, int64(1<<63 - 1), -int64(1<<63 - 1), uuid,
		[]any{"x", 1},
		[]any{uuid, []any{true, nil}},
		[]any{surreal.NewRecordID("user", "a-b")},
		[]any{},
		[]any{1.5, "ä"},
		map[string]any{"tenant": "t-1", "n": 7},
		map[string]any{"a": map[string]any{"b": []any{1}}},
	}
	for _, key := range keys {
		id := r.job(key, nil)
		name := surreal.FormatID(id)
		due, err := r.table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Minute), 100)
		if err != nil || len(due) != 1 || surreal.FormatID(due[0].ID) != name {
			t.Fatalf("%s: due are %v, %v", name, due, err)
		}
		job := r.claim("a", due[0].ID)
		heldBy, err := r.table.Held(r.ctx, "a", []string{"a"}, time.Now())
		if err != nil || len(heldBy) != 1 || surreal.FormatID(heldBy[0].ID) != name {
			t.Fatalf("%s: held are %v, %v", name, heldBy, err)
		}
		if got := r.settle(Outcome{ID: heldBy[0].ID, Epoch: job.Epoch, Status: Failed, Counts: true, Failure: &Failure{Code: 500, Reason: "r", Attempt: 1}}); !got.Written || got.Err != nil {
			t.Errorf("%s: settled as %+v", name, got)
		}
		if was := r.operate("retry", id); was != (operation{Failed, true}) {
			t.Errorf("%s: retry: %+v", name, was)
		}
		if was := r.operate("cancel", id); was != (operation{Pending, true}) {
			t.Errorf("%s: cancel: %+v", name, was)
		}
		if parsed, err := surreal.ParseID(name); err != nil {
			t.Errorf("%s: can't be parsed: %v", name, err)
		} else if row := r.row(parsed); row.Status != Cancelled {
			t.Errorf("%s: row is %+v", name, row)
		}
	}
}

// TestOneBadRowTakesNoOtherDown claims a batch in which the table's own rules refuse some rows, and
// in which the payloads of others have no form on the wire.
func TestOneBadRowTakesNoOtherDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids, bad, odd := make([]surreal.RecordID, 64), map[string]bool{}, map[string]bool{}
	for i := range ids {
		ids[i] = r.job(i, nil)
		switch name := surreal.FormatID(ids[i]); i {
		case 3, 40:
			odd[name] = true
			r.exec("UPDATE $id SET payload = { deep: [/x/] } RETURN NONE", map[string]any{"id": ids[i]})
		case 17, 18, 63:
			bad[name] = true
			r.exec("UPDATE $id SET payload = 'poison' RETURN NONE", map[string]any{"id": ids[i]})
		}
	}
	r.exec("DEFINE FIELD OVERWRITE payload ON job TYPE any ASSERT $value != 'poison'", nil)
	jobs, refused, err := r.table.Claim(r.ctx, "a", ids)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != len(ids)-len(bad) || len(refused) != len(bad) {
		t.Fatalf("%d claimed, %d refused; want %d and %d", len(jobs), len(refused), len(ids)-len(bad), len(bad))
	}
	for _, job := range jobs {
		name := surreal.FormatID(job.ID)
		if errors.Is(job.Err, ErrUnreadable) != odd[name] || job.Epoch < 1 {
			t.Errorf("%s: %+v", name, job)
		}
	}
	for _, one := range refused {
		if !bad[surreal.FormatID(one.ID)] || one.Err == nil {
			t.Errorf("refused: %+v", one)
		}
	}
}

// TestOddColumnsAreReadWithCare has a table without types: every column may hold anything.
func TestOddColumnsAreReadWithCare(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, "DEFINE TABLE job SCHEMALESS")
	r.exec("REMOVE FIELD IF EXISTS max_retries ON job; REMOVE FIELD IF EXISTS retries ON job; REMOVE FIELD IF EXISTS timeout ON job; REMOVE FIELD IF EXISTS retry_strategy ON job", nil)
	cases := map[string]struct {
		sets     string
		attempts int
	}{
		"none":     {"x = 1", 3},
		"zero":     {"max_retries = 0", 1},
		"negative": {"max_retries = -5", 1},
		"huge":     {"max_retries = 1000000000", 100},
		"giant":    {"max_retries = 9223372036854775807", 100},
		"float":    {"max_retries = 2.9", 2},
		"nan":      {"max_retries = <float>'NaN'", 1},
		"text":     {"max_retries = '5'", 3},
		"list":     {"max_retries = [1]", 3},
		"all odd":  {"max_retries = {}, retries = 'x', timeout = 'soon', retry_strategy = 7, path = 5", 3},
	}
	for name, c := range cases {
		id := surreal.NewRecordID("job", name)
		r.exec("CREATE $id SET status = 'pending', path = '/x', "+c.sets+" RETURN NONE", map[string]any{"id": id})
		job := r.claim("a", id)
		if job.Attempts() != c.attempts || job.Attempt() != 1 || job.Err != nil {
			t.Errorf("%s: %d attempts, want %d: %+v", name, job.Attempts(), c.attempts, job)
		}
	}
}

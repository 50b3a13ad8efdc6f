package outbox

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// TestWhatCreatorsWriteHoldsNothingUp has rows as end users can write them where the table lets them:
// every column of the runner's holds the worst there is. All verbs must work on them all the same.
func TestWhatCreatorsWriteHoldsNothingUp(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, "DEFINE TABLE job SCHEMALESS; "+
		"DEFINE FIELD retries ON job TYPE any; DEFINE FIELD max_retries ON job TYPE any; DEFINE FIELD errors ON job TYPE any; DEFINE FIELD timeout ON job TYPE any; DEFINE FIELD delay ON job TYPE any; DEFINE FIELD created_at ON job TYPE any",
		func(c *Config) { c.Overridable = true })
	sets := []string{
		"retries = 9223372036854775807", "retries = -9223372036854775807", "retries = 'x'", "retries = <float>'NaN'", "retries = NULL", "retries = []",
		"max_retries = 9223372036854775807", "max_retries = 'x'", "max_retries = NULL", "max_retries = <float>'NaN'", "max_retries = {}",
		"errors = 'x'", "errors = NULL", "errors = {}", "errors = [1, 'x', NULL]", "errors = array::repeat({ code: 1 }, 5000)",
		"timeout = 9223372036854775807", "timeout = -9223372036854775807", "timeout = 'x'", "timeout = <float>'NaN'", "timeout = 1e300",
		"delay = 'x'", "delay = -9223372036854775807", "created_at = NULL", "payload = /x/",
		"retry_strategy = 'x'", "result = /x/",
	}
	for i, set := range sets {
		dead, failed, cancelled := surreal.NewRecordID("job", []any{i, "dead"}), surreal.NewRecordID("job", []any{i, "failed"}), surreal.NewRecordID("job", []any{i, "cancelled"})
		for _, id := range []surreal.RecordID{dead, failed, cancelled} {
			r.exec("CREATE $id SET status = 'pending', path = '/x', "+set+" RETURN NONE", map[string]any{"id": id})
		}
		r.live("gone")
		r.claim("gone", dead)
		r.dead("gone")
		if got := r.reap(dead); len(got) != 1 {
			t.Errorf("%s: reaped %v", set, got)
		}
		job := r.claim("a", failed)
		if got := r.settle(Outcome{ID: failed, Epoch: job.Epoch, Status: Failed, Counts: true, Failure: &Failure{Code: 500, Reason: "r", Attempt: job.Attempt()}}); !got.Written || got.Err != nil {
			t.Errorf("%s: settled as %+v", set, got)
		}
		if was := r.operate("retry", failed); was != (operation{Failed, true}) {
			t.Errorf("%s: retry: %+v", set, was)
		}
		if was := r.operate("cancel", cancelled); was != (operation{Pending, true}) {
			t.Errorf("%s: cancel: %+v", set, was)
		}
		if job.Attempt() < 1 || job.Attempts() < 1 || job.Attempts() > MaxAttempts || r.table.AttemptTimeout(job).Hours() > 1 {
			t.Errorf("%s: claimed as %+v", set, job)
		}
	}
}

// TestOddIdsAreIdsLikeOthers has jobs whose ids creators may choose, as odd as the database takes them: each is listed
// as due, claimed along with the others, and settled.
func TestOddIdsAreIdsLikeOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var ids []surreal.RecordID
	for _, text := range []string{"``", "[user:``]", "['']", "{ a: '' }", "`\\u{0}`", "`..`", "`/`", "`🕷`", "-1", "[[], {}]", "[1..5]", "{ a: 1>..=5, b: .. }", "[{1, 2}, {,}]", "u'018e0000-0000-7000-8000-000000000001'"} {
		id, err := surreal.ParseID("job:" + text)
		if err != nil {
			t.Fatal(err)
		}
		r.exec("CREATE $id SET path = '/x' RETURN NONE", map[string]any{"id": id})
		ids = append(ids, id)
	}
	due, err := r.table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Minute), 100)
	if err != nil || len(due) != len(ids) {
		t.Fatalf("%d of %d are due, %v", len(due), len(ids), err)
	}
	found := make([]surreal.RecordID, len(due))
	for i, d := range due {
		found[i] = d.ID
	}
	jobs, refused, err := r.table.Claim(r.ctx, "a", found)
	if err != nil || len(refused) > 0 || len(jobs) != len(ids) {
		t.Fatalf("%d claimed, %v refused, %v", len(jobs), refused, err)
	}
	outcomes := make([]Outcome, len(jobs))
	for i, job := range jobs {
		outcomes[i] = Outcome{ID: job.ID, Epoch: job.Epoch, Status: Success}
	}
	settled, err := r.table.Settle(r.ctx, outcomes)
	for i, one := range settled {
		if !one.Written {
			t.Errorf("%s: %+v", surreal.FormatID(outcomes[i].ID), one)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

package outbox

import (
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// reap takes the jobs away if they may be taken.
func (r *rig) reap(ids ...surreal.RecordID) []Reaped {
	r.tb.Helper()
	reaped, refused, err := r.table.Reap(r.ctx, ids)
	if err != nil || len(refused) > 0 {
		r.tb.Fatalf("reap: %v, refused %v", err, refused)
	}
	return reaped
}

// setting changes columns by hand.
func (r *rig) setting(id surreal.RecordID, sets string) {
	r.tb.Helper()
	r.exec("UPDATE $id SET "+sets+" RETURN NONE", map[string]any{"id": id})
}

// TestReportJ5WhatNobodyHoldsIsTakenOver has rows in processing in every state that a crash, an older
// runner or a hand can leave behind.
func TestReportJ5WhatNobodyHoldsIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cases := map[string]struct {
		node, sets string
		reason     string // "" where the job has to stay
	}{
		"alive":                      {"a", "updated_at = time::now()", ""},
		"alive, cancelled":           {"a", "cancel_requested = time::now()", ""},
		"alive, lease deleted":       {"a", "lease_until = NONE", ""}, // its holder finds it
		"dead":                       {"dead", "updated_at = time::now()", "node dead is gone"},
		"unknown node":               {"nobody", "updated_at = time::now()", "node nobody is gone"},
		"lease expired":              {"a", "lease_until = time::now() - 1ms", "ran out"},
		"no node":                    {"a", "assignee = NONE", "node unknown is gone"},
		"neither lease nor node":     {"a", "assignee = NONE, lease_until = NONE", "node unknown is gone"},
		"nothing but the status":     {"a", "assignee = NONE, lease_until = NONE, lease_epoch = NONE", "node unknown is gone"},
		"dead without lease (J7)":    {"dead", "lease_until = NONE", "node dead is gone"},
		"dead and lease expired":     {"dead", "lease_until = time::now() - 1h", "ran out"},
		"dead, others' columns gone": {"dead", "max_retries = 0", "node dead is gone"},
	}
	r.live("dead")
	var ids []surreal.RecordID
	for name, c := range cases {
		id := r.job(name, nil)
		ids = append(ids, id)
		r.claim(c.node, id)
		r.setting(id, c.sets)
	}
	r.dead("dead")
	suspects, err := r.table.Held(r.ctx, "b", []string{"a", "b", "c"}, time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, h := range suspects {
		listed[surreal.FormatID(h.ID)] = true
	}
	r.reap(ids...)
	for name, c := range cases {
		id := surreal.NewRecordID("job", name)
		row := r.row(id)
		if c.reason == "" {
			if row.Status != Processing || len(row.Errors) != 0 {
				t.Errorf("%s: taken from a live node: %+v", name, row)
			}
			continue
		}
		if !listed[surreal.FormatID(id)] {
			t.Errorf("%s: is not among the held rows that another node looks at", name)
		}
		if row.Status != Pending || row.Retries != 1 || row.RunAt == nil || row.Assignee != "" || row.Until != nil || row.Epoch < 1 ||
			len(row.Errors) != 1 || row.Errors[0].Code != CodeLeaseExpired || !strings.Contains(row.Errors[0].Reason, c.reason) || row.Errors[0].Attempt != 1 {
			t.Errorf("%s: row is %+v, want the reason %q", name, row, c.reason)
		}
		if again := r.claim("b", id); again.Attempt() != 2 || again.Epoch <= 1 && name != "nothing but the status" {
			t.Errorf("%s: claimed again as %+v", name, again)
		}
	}
}

// TestReportJ8AJobThatKeepsKillingItsNodesEnds loses attempt after attempt.
func TestReportJ8AJobThatKeepsKillingItsNodesEnds(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{0, 1, 3} {
		r := newRig(t)
		id := r.job("x", map[string]any{"max_retries": attempts})
		limit := max(attempts, 1) + 3
		for loss := 1; loss <= limit; loss++ {
			r.claim("a", id)
			r.dead("a")
			reaped := r.reap(id)
			r.live("a")
			want := Pending
			if loss == limit {
				want = Failed
			}
			row := r.row(id)
			if row.Status != want || row.Retries != loss || len(reaped) != 1 || reaped[0].Status != want || (row.RunAt != nil) != (want == Pending) {
				t.Fatalf("max_retries %d, loss %d of %d: %+v", attempts, loss, limit, row)
			}
		}
	}
}

func TestACancelledJobOfADeadNodeIsCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job("x", nil)
	r.claim("a", id)
	if was := r.operate("cancel", id); was != (operation{Processing, true}) {
		t.Fatalf("cancel: %+v", was)
	}
	r.dead("a")
	r.reap(id)
	if row := r.row(id); row.Status != Cancelled || row.codes() != "cancelled/1 " || row.RunAt != nil || row.Cancel != nil {
		t.Errorf("row is %+v", row)
	}
}

// TestReportJ9TwoReapersCountOneLoss has many reapers take the same jobs at once.
func TestReportJ9TwoReapersCountOneLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids := make([]surreal.RecordID, 30)
	for i := range ids {
		ids[i] = r.job(i, nil)
	}
	r.live("gone")
	if got := len(r.claims("gone", ids...)); got != len(ids) {
		t.Fatalf("claimed %d", got)
	}
	r.dead("gone")
	var wg sync.WaitGroup
	var mu sync.Mutex
	took := map[string]int{}
	for range 8 {
		table := New(Config{DB: r.connect(), Name: "job"})
		wg.Go(func() {
			reaped, refused, err := table.Reap(r.ctx, ids)
			if err != nil || len(refused) > 0 {
				t.Errorf("reap: %v, refused %v", err, refused)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, one := range reaped {
				took[surreal.FormatID(one.ID)]++
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		row := r.row(id)
		if took[surreal.FormatID(id)] != 1 || row.Retries != 1 || len(row.Errors) != 1 || row.Epoch != 2 {
			t.Errorf("%s was taken %d times: %+v", surreal.FormatID(id), took[surreal.FormatID(id)], row)
		}
	}
}

// TestReapingReportsRowsThatTheTableRefuses has one row that can't be written among others.
func TestReapingReportsRowsThatTheTableRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live("gone")
	good, bad := r.job("good", nil), r.job("bad", map[string]any{"payload": "poison"})
	r.claims("gone", good, bad)
	r.exec("DEFINE FIELD OVERWRITE payload ON job TYPE any ASSERT $value != 'poison'", nil)
	r.dead("gone")
	reaped, refused, err := r.table.Reap(r.ctx, []surreal.RecordID{bad, good})
	if err != nil || len(reaped) != 1 || len(refused) != 1 || surreal.FormatID(refused[0].ID) != "job:bad" || refused[0].Err == nil {
		t.Errorf("reaped %v, refused %v, %v", reaped, refused, err)
	}
}

// TestStrayRowsAreAdopted has pending rows that were written around the table's VALUE expression, one
// of which the table has since come to refuse.
func TestStrayRowsAreAdopted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD OVERWRITE run_at ON job TYPE option<datetime>", nil)
	id := surreal.NewRecordID("job", "stray")
	r.exec("CREATE $id SET path = '/x' RETURN NONE; CREATE job:bad SET path = '/x', payload = 'poison' RETURN NONE", map[string]any{"id": id})
	r.exec("DEFINE FIELD OVERWRITE payload ON job TYPE any ASSERT $value != 'poison'", nil)
	due := func() int {
		rows, err := r.table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Hour), 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if got := due(); got != 0 {
		t.Fatalf("a row without run_at is due: %d", got)
	}
	for _, want := range []int{1, 0} {
		if got, refused, err := r.table.Adopt(r.ctx); err != nil || got != want || len(refused) != 1 {
			t.Errorf("adopted %d, refused %v, %v; want %d and 1", got, refused, err, want)
		}
	}
	if got := due(); got != 1 {
		t.Errorf("%d rows are due, want the adopted one", got)
	}
	r.exec("CREATE job:delayed SET path = '/x', delay = 7200000 RETURN NONE", nil)
	if got, _, err := r.table.Adopt(r.ctx); err != nil || got != 1 || due() != 1 {
		t.Errorf("adopted %d, %v; %d are due within the hour, want the delay of two kept", got, err, due())
	}
}

// TestRowsWithATimeTheyMustNotHaveAreStraightened has rows that are listed as due in every state.
func TestRowsWithATimeTheyMustNotHaveAreStraightened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD OVERWRITE run_at ON job TYPE option<datetime>", nil)
	var ids []surreal.RecordID
	for _, status := range Statuses() {
		id := surreal.NewRecordID("job", string(status))
		ids = append(ids, id)
		r.exec("CREATE $id SET path = '/x', run_at = time::now(), status = $status RETURN NONE", map[string]any{"id": id, "status": string(status)})
	}
	listed := func() map[Status]bool {
		rows, err := r.table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Hour), 10)
		if err != nil {
			t.Fatal(err)
		}
		found := map[Status]bool{}
		for _, row := range rows {
			found[row.Status] = true
		}
		return found
	}
	if got := listed(); len(got) != len(ids) {
		t.Fatalf("listed as due are %v", got)
	}
	for _, want := range []int{len(ids) - 1, 0} {
		if got, err := r.table.Straighten(r.ctx, ids); err != nil || got != want {
			t.Errorf("straightened %d, %v; want %d", got, err, want)
		}
	}
	if got := listed(); len(got) != 1 || !got[Pending] {
		t.Errorf("listed as due are %v, want the pending one", got)
	}
	if jobs := r.claims("a", ids...); len(jobs) != 1 {
		t.Errorf("claimed %+v", jobs)
	}
}

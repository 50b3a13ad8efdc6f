package outbox

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sp00ky.cloud/spky/surreal"
)

func TestOutcomesAreWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	failure := &Failure{Code: 503, Reason: "busy", Attempt: 1}
	cases := map[string]struct {
		outcome Outcome
		status  Status
		retries int
		codes   string
		result  any
	}{
		"success":  {Outcome{Status: Success, Result: map[string]any{"n": uint64(1)}}, Success, 0, "", map[string]any{"n": uint64(1)}},
		"again":    {Outcome{Status: Pending, Counts: true, Wait: time.Minute, Failure: failure}, Pending, 1, "503/1 ", nil},
		"released": {Outcome{Status: Pending}, Pending, 0, "", nil},
		"backward": {Outcome{Status: Pending, Wait: -time.Hour}, Pending, 0, "", nil},
		"failed":   {Outcome{Status: Failed, Counts: true, Failure: failure}, Failed, 1, "503/1 ", nil},
		"stopped":  {Outcome{Status: Cancelled, Failure: &Failure{Code: CodeCancelled, Reason: "r", Attempt: 1}}, Cancelled, 0, "cancelled/1 ", nil},
	}
	for name, c := range cases {
		id := r.job(name, nil)
		job := r.claim("a", id)
		c.outcome.ID, c.outcome.Epoch = id, job.Epoch
		for round := range 2 { // the second time as if the first answer had been lost
			if got := r.settle(c.outcome); !got.Written || got.Err != nil || got.Status != c.status {
				t.Errorf("%s, round %d: settled as %+v", name, round, got)
			}
		}
		row := r.row(id)
		if row.Status != c.status || row.Retries != c.retries || row.codes() != c.codes || row.Assignee != "" || row.Until != nil || row.Epoch != 1 {
			t.Errorf("%s: row is %+v", name, row)
		}
		if (row.RunAt != nil) != (c.status == Pending) {
			t.Errorf("%s: run_at is %v", name, row.RunAt)
		}
		if name == "again" && row.RunAt.Sub(*row.UpdatedAt).Round(time.Second) != time.Minute {
			t.Errorf("due %v after it was settled, want a minute", row.RunAt.Sub(*row.UpdatedAt))
		}
		if got, ok := row.Result.(map[string]any); (c.result != nil) != ok || ok && got["n"] != uint64(1) {
			t.Errorf("%s: result is %#v", name, row.Result)
		}
	}
}

// TestReportJ1AStaleHolderWritesNothing takes a job away from its holder in each way there is.
func TestReportJ1AStaleHolderWritesNothing(t *testing.T) {
	t.Parallel()
	ways := map[string]func(r *rig, id surreal.RecordID){
		"reaped":             func(r *rig, id surreal.RecordID) { r.dead("a"); r.reap(id) },
		"reaped and claimed": func(r *rig, id surreal.RecordID) { r.dead("a"); r.reap(id); r.claim("b", id) },
		"claimed again by the same node": func(r *rig, id surreal.RecordID) {
			r.exec("UPDATE $id SET lease_until = time::now() - 1s RETURN NONE", map[string]any{"id": id})
			r.reap(id)
			r.claim("a", id)
		},
		"cancelled by hand": func(r *rig, id surreal.RecordID) {
			r.exec("UPDATE $id SET status = 'cancelled' RETURN NONE", map[string]any{"id": id})
		},
		"deleted": func(r *rig, id surreal.RecordID) { r.exec("DELETE $id RETURN NONE", map[string]any{"id": id}) },
	}
	for way, take := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			id := r.job("x", nil)
			job := r.claim("a", id)
			take(r, id)
			before := r.stored(id)
			got := r.settle(Outcome{ID: id, Epoch: job.Epoch, Status: Success, Result: "stale", Failure: &Failure{Code: 1, Attempt: 1}})
			after := r.stored(id)
			if got.Written || got.Err != nil {
				t.Errorf("settled as %+v", got)
			}
			if want, have := format(t, before), format(t, after); want != have {
				t.Errorf("the row was\n%s\nand is\n%s", want, have)
			}
		})
	}
}

func format(t *testing.T, row []Row) string {
	t.Helper()
	text, err := surreal.ToJSON(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettlingJudgesEachRowAlone writes a batch of which each row has another fate.
func TestSettlingJudgesEachRowAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD OVERWRITE result ON job TYPE option<string>; DEFINE FIELD OVERWRITE assigned_to ON job TYPE option<record> ASSERT $value = NONE OR status != 'success'", nil)
	good, typed, stale, gone, poison, last := r.job("good", nil), r.job("typed", nil), r.job("stale", nil), r.job("gone", nil),
		r.job("poison", map[string]any{"assigned_to": surreal.NewRecordID("user", 1)}), r.job("last", nil)
	ids := []surreal.RecordID{good, typed, stale, gone, poison, last}
	if jobs := r.claims("a", ids...); len(jobs) != len(ids) {
		t.Fatalf("claimed %d", len(jobs))
	}
	r.exec("DELETE $id RETURN NONE", map[string]any{"id": gone})
	outcomes := make([]Outcome, len(ids))
	for i, id := range ids {
		outcomes[i] = Outcome{ID: id, Epoch: 1, Status: Success, Result: "fine"}
	}
	outcomes[1].Result = map[string]any{"not": "a string"}
	outcomes[2].Epoch = 0
	settled, err := r.table.Settle(r.ctx, outcomes)
	if err != nil || len(settled) != len(ids) {
		t.Fatalf("%d answers, %v", len(settled), err)
	}
	want := []struct {
		written, refused bool
		status           Status
	}{{true, false, Success}, {true, true, Success}, {false, false, Processing}, {false, false, ""}, {false, true, ""}, {true, false, Success}}
	for i, s := range settled {
		if s.Written != want[i].written || (s.Err != nil) != want[i].refused || s.Status != want[i].status {
			t.Errorf("%s settled as %+v, want %+v", surreal.FormatID(ids[i]), s, want[i])
		}
	}
	if row := r.row(typed); row.Status != Success || row.Result != nil {
		t.Errorf("the job whose result the table refuses is %+v", row)
	}
	if row := r.row(last); row.Status != Success || row.Result != "fine" {
		t.Errorf("the job behind the bad ones is %+v", row)
	}
}

// TestSuccessesKeepTheirOwnResults settles batches whose results are one, none or many, of one epoch and of two.
func TestSuccessesKeepTheirOwnResults(t *testing.T) {
	t.Parallel()
	body := func(n int) any { return map[string]any{"n": uint64(n)} }
	for name, result := range map[string]func(n int) any{
		"one": func(int) any { return body(7) }, "none": func(int) any { return nil }, "many": body,
		"one but for the last": func(n int) any { return body(n / 4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			again := r.job("0", nil)
			r.settle(Outcome{ID: again, Epoch: r.claim("a", again).Epoch, Status: Pending})
			ids := []surreal.RecordID{again, r.job("1", nil), r.job("2", nil), r.job("3", nil), r.job("4", nil)}
			var outcomes []Outcome
			for n, id := range ids {
				outcomes = append(outcomes, Outcome{ID: id, Epoch: r.claim("a", id).Epoch, Status: Success, Result: result(n)})
			}
			for _, batch := range [][]Outcome{outcomes[:1], outcomes[1:4], outcomes} { // some twice, as after a lost answer
				settled, err := r.table.Settle(r.ctx, batch)
				if err != nil || slices.ContainsFunc(settled, func(s Settled) bool { return !s.Written || s.Err != nil }) {
					t.Fatalf("settled as %+v, %v", settled, err)
				}
			}
			for n, id := range ids {
				if row := r.row(id); row.Status != Success || !reflect.DeepEqual(row.Result, result(n)) {
					t.Errorf("%s is %+v, want the result %v", surreal.FormatID(id), row, result(n))
				}
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job("x", nil)
	reasons := []string{strings.Repeat("x", maxReason), strings.Repeat("x", maxReason+1), strings.Repeat("ä€", 9000), strings.Repeat("\xff", 40000), strings.Repeat("\xffA", 40000), "a\xffb\x00c", ""}
	for i := range 30 {
		job := r.claim("a", id)
		if got := r.settle(Outcome{ID: id, Epoch: job.Epoch, Status: Pending, Counts: true, Failure: &Failure{Code: i, Reason: reasons[i%len(reasons)], Attempt: job.Attempt()}}); !got.Written || got.Err != nil {
			t.Fatalf("settled as %+v", got)
		}
	}
	row := r.row(id)
	if row.Retries != 30 || len(row.Errors) != 20 || row.Errors[0].Code != uint64(10) || row.Errors[19].Code != uint64(29) || row.Errors[19].Attempt != 30 {
		t.Errorf("%d retries, %d errors: %s", row.Retries, len(row.Errors), row.codes())
	}
	for _, e := range row.Errors {
		if len(e.Reason) > maxReason || !utf8.ValidString(e.Reason) {
			t.Errorf("entry %v has %d bytes", e.Code, len(e.Reason))
		}
	}
	stored := map[int]string{0: reasons[0], 3: "\uFFFD", 5: "a\uFFFDb\x00c", 6: ""}
	for i, e := range row.Errors {
		which := (i + 10) % len(reasons)
		want, whole := stored[which]
		if whole && e.Reason != want || !whole && !strings.HasSuffix(e.Reason, cutMark) {
			t.Errorf("reason %d was stored as %.20q … %.20q", which, e.Reason, e.Reason[max(0, len(e.Reason)-20):])
		}
	}
}

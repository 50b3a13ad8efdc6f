package outbox

import (
	"slices"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// An operation is what the database answers to a verb of operators: the state that it found the job in, and whether it
// changed anything.
type operation struct {
	Status  Status `json:"status"`
	Changed bool   `json:"changed"`
}

func (r *rig) operate(verb string, id surreal.RecordID) operation {
	r.tb.Helper()
	call := map[string]string{"cancel": "RETURN fn::spky::job::cancel($id, $cancelled)", "retry": "RETURN fn::spky::job::retry($id)"}[verb]
	was, err := surreal.First[operation](r.ctx, r.db.Retrying(), call, map[string]any{"id": id, "cancelled": string(r.table.cfg.Cancelled)})
	if err != nil {
		r.tb.Fatalf("%s %s: %v", verb, surreal.FormatID(id), err)
	}
	return was
}

// inState makes a job of this state.
func (r *rig) inState(key string, status Status) surreal.RecordID {
	r.tb.Helper()
	id := r.job(key, nil)
	if status == Pending {
		return id
	}
	job := r.claim("a", id)
	if status != Processing {
		r.settle(Outcome{ID: id, Epoch: job.Epoch, Status: status, Counts: status == Failed, Result: "old", Failure: &Failure{Code: 1, Reason: "old", Attempt: 1}})
	}
	return id
}

// TestVerbsOfOperators goes through every verb in every state.
func TestVerbsOfOperators(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, status := range Statuses() {
		for verb, possible := range map[string][]Status{"cancel": {Pending, Processing}, "retry": {Success, Failed, Cancelled}} {
			id := r.inState(verb+string(status), status)
			before := r.row(id)
			was := r.operate(verb, id)
			after := r.row(id)
			if was != (operation{status, slices.Contains(possible, status)}) {
				t.Errorf("%s a %s job: %+v", verb, status, was)
			}
			if !was.Changed {
				if before.Status != after.Status || before.Epoch != after.Epoch {
					t.Errorf("%s a %s job made it %+v", verb, status, after)
				}
				continue
			}
			r.expectAfter(verb, status, before, after)
		}
	}
}

func (r *rig) expectAfter(verb string, status Status, before, after jobRow) {
	r.tb.Helper()
	good := false
	switch {
	case verb == "retry":
		good = after.Status == Pending && after.Retries == 0 && len(after.Errors) == 0 && after.Result == nil && after.RunAt != nil && after.Epoch == before.Epoch+1
	case status == Pending:
		good = after.Status == Cancelled && after.codes() == "cancelled/1 " && after.RunAt == nil
	default:
		good = after.Status == Processing && after.Cancel != nil && after.Epoch == before.Epoch
	}
	if !good {
		r.tb.Errorf("%s a %s job made it %+v", verb, status, after)
	}
}

// TestCancellingSignalsTheHolder looks at what tells the node that holds the job.
func TestCancellingSignalsTheHolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.inState("x", Processing)
	r.operate("cancel", id)
	signals, err := surreal.First[[]struct {
		Node string           `json:"node"`
		Job  surreal.RecordID `json:"job"`
	}](r.ctx, r.db, "SELECT node, job FROM _00_signal WHERE node != ''", nil)
	if err != nil || len(signals) != 1 || signals[0].Node != "a" || surreal.FormatID(signals[0].Job) != "job:x" {
		t.Errorf("signals are %+v, %v", signals, err)
	}
}

// TestOneWinnerBetweenCancellationAndCompletion lets an attempt end after its cancellation was asked for.
func TestOneWinnerBetweenCancellationAndCompletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	failure := &Failure{Code: 500, Reason: "r", Attempt: 1}
	cases := map[string]struct {
		outcome Outcome
		status  Status
		codes   string
		retries int
	}{
		"success":        {Outcome{Status: Success}, Success, "", 0},
		"final failure":  {Outcome{Status: Failed, Counts: true, Failure: failure}, Failed, "500/1 ", 1},
		"failed attempt": {Outcome{Status: Pending, Counts: true, Failure: failure}, Cancelled, "500/1 cancelled/1 ", 1},
		"released":       {Outcome{Status: Pending}, Cancelled, "cancelled/1 ", 0},
		"aborted":        {Outcome{Status: Cancelled, Failure: &Failure{Code: CodeCancelled, Attempt: 1}}, Cancelled, "cancelled/1 ", 0},
	}
	for name, c := range cases {
		id := r.inState(name, Processing)
		r.operate("cancel", id)
		c.outcome.ID, c.outcome.Epoch = id, 1
		for range 2 {
			if got := r.settle(c.outcome); !got.Written || got.Status != c.status {
				t.Errorf("%s: settled as %+v, want %s", name, got, c.status)
			}
		}
		if row := r.row(id); row.Status != c.status || row.codes() != c.codes || row.Retries != c.retries || row.Cancel != nil || row.RunAt != nil {
			t.Errorf("%s: row is %+v", name, row)
		}
	}
}

// TestWithoutTheWordCancelledItIsFailed has the status that upstream's tables know.
func TestWithoutTheWordCancelledItIsFailed(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, `DEFINE TABLE job SCHEMAFULL;
		DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any;
		DEFINE FIELD errors ON job TYPE array<object> DEFAULT [];
		DEFINE FIELD status ON job TYPE string DEFAULT 'pending' ASSERT $value IN ['pending', 'processing', 'success', 'failed'];`)
	pending, running, racing, dead := r.inState("pending", Pending), r.inState("running", Processing), r.inState("racing", Processing), r.inState("dead", Processing)
	for _, id := range []surreal.RecordID{pending, running, racing, dead} {
		r.operate("cancel", id)
	}
	r.settle(Outcome{ID: running, Epoch: 1, Status: Cancelled, Failure: &Failure{Code: CodeCancelled, Attempt: 1}})
	r.settle(Outcome{ID: racing, Epoch: 1, Status: Pending})
	r.dead("a")
	r.reap(dead)
	for _, id := range []surreal.RecordID{pending, running, racing, dead} {
		if row := r.row(id); row.Status != Failed || row.codes() != "cancelled/1 " {
			t.Errorf("%s is %+v, want failed with the code cancelled", surreal.FormatID(id), row)
		}
	}
}

func TestVerbsOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, verb := range []string{"cancel", "retry"} {
		if was := r.operate(verb, surreal.NewRecordID("job", "none")); was != (operation{}) {
			t.Errorf("%s: %+v", verb, was)
		}
	}
}

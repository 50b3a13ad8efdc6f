package workflow_test

import (
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// An instanceRow is an instance as an operator sees it.
type instanceRow struct {
	ID             surreal.RecordID `json:"id"`
	Binding        string           `json:"binding"`
	Status         string           `json:"status"`
	Output         any              `json:"output"`
	Error          *errorRow        `json:"error"`
	Stack          string           `json:"stack"`
	StepsDone      int              `json:"steps_done"`
	CurrentStep    string           `json:"current_step"`
	WaitingFor     map[string]any   `json:"waiting_for"`
	WakeAt         *time.Time       `json:"wake_at"`
	CreatedAt      time.Time        `json:"created_at"`
	UpdatedAt      time.Time        `json:"updated_at"`
	FinishedAt     *time.Time       `json:"finished_at"`
	Runs           int              `json:"runs"`
	Fence          int              `json:"fence"`
	Incarnation    int              `json:"incarnation"`
	LeaseToken     string           `json:"lease_token"`
	LeaseUntil     *time.Time       `json:"lease_until"`
	Job            surreal.RecordID `json:"job"`
	Warning        map[string]any   `json:"warning"`
	PauseRequested *time.Time       `json:"pause_requested"`
	StalledAt      *time.Time       `json:"stalled_at"`
	Stalls         int              `json:"stalls"`
	EventsSent     int              `json:"events_sent"`
}

type errorRow struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

type stepRow struct {
	Seq        int          `json:"seq"`
	Kind       string       `json:"kind"`
	Name       string       `json:"name"`
	Occurrence int          `json:"occurrence"`
	Status     string       `json:"status"`
	Attempts   []attemptRow `json:"attempts"`
	Config     any          `json:"config"`
	Output     any          `json:"output"`
	Error      *errorRow    `json:"error"`
	Stack      string       `json:"stack"`
	RetryAt    *time.Time   `json:"retry_at"`
	WakeAt     *time.Time   `json:"wake_at"`
	StartedAt  time.Time    `json:"started_at"`
	FinishedAt *time.Time   `json:"finished_at"`
}

func (s stepRow) key() string { return fmt.Sprintf("%s %s #%d", s.Kind, s.Name, s.Occurrence) }

func (s stepRow) done() bool { return s.Status == "complete" || s.Status == "errored" }

type attemptRow struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Error     *errorRow  `json:"error"`
}

type eventRow struct {
	Type       string            `json:"type"`
	Payload    any               `json:"payload"`
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
}

func instanceKey(id string) surreal.RecordID { return surreal.NewRecordID("_00_wf_instance", id) }

func (r *rig) instance(id string) instanceRow {
	r.t.Helper()
	rows := read[[]instanceRow](r, "SELECT * FROM $id", map[string]any{"id": instanceKey(id)})
	if len(rows) != 1 {
		r.t.Fatalf("instance %s has %d rows", id, len(rows))
	}
	return rows[0]
}

// steps are the instance's rows of its present incarnation, by kind, name and occurrence.
func (r *rig) steps(id string) map[string]stepRow {
	r.t.Helper()
	out := map[string]stepRow{}
	for _, s := range read[[]stepRow](r, "SELECT * FROM _00_wf_step WHERE instance = $id", map[string]any{"id": instanceKey(id)}) {
		out[s.key()] = s
	}
	return out
}

func (r *rig) events(id string) []eventRow {
	r.t.Helper()
	return read[[]eventRow](r, "SELECT * FROM _00_wf_event WHERE instance = $id ORDER BY id", map[string]any{"id": instanceKey(id)})
}

// consistent checks what holds for every instance at any time when no run is in the middle of a write.
func (r *rig) consistent(id string) {
	r.t.Helper()
	row, steps, seqs, done := r.instance(id), r.steps(id), map[int]string{}, 0
	for key, s := range steps {
		if other, used := seqs[s.Seq]; used {
			r.t.Errorf("%s and %s have the same seq %d", key, other, s.Seq)
		}
		seqs[s.Seq] = key
		if s.done() {
			done++
		}
		if s.done() != (s.FinishedAt != nil) {
			r.t.Errorf("%s is %s, finished at %v", key, s.Status, s.FinishedAt)
		}
	}
	if row.StepsDone != done {
		r.t.Errorf("steps_done is %d, finished rows are %d", row.StepsDone, done)
	}
	over := row.Status == "complete" || row.Status == "errored" || row.Status == "terminated"
	if over && (row.LeaseToken != "" || row.LeaseUntil != nil || row.FinishedAt == nil || row.WakeAt != nil || row.WaitingFor != nil || row.PauseRequested != nil) {
		r.t.Errorf("a finished instance is left as %+v", row)
	}
	consumers := map[string]bool{}
	for _, e := range r.events(id) {
		if e.ConsumedBy == nil {
			continue
		}
		by := surreal.FormatID(*e.ConsumedBy)
		if consumers[by] {
			r.t.Errorf("%s consumed two events", by)
		}
		consumers[by] = true
	}
}

func toJSON(v any) ([]byte, error) { return surreal.ToJSON(v) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

package durable

import (
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// An InstanceRow is an instance as an operator sees it.
type InstanceRow struct {
	ID             surreal.RecordID `json:"id"`
	Binding        string           `json:"binding"`
	Status         string           `json:"status"`
	Output         any              `json:"output"`
	Error          *ErrorRow        `json:"error"`
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

// An ErrorRow is an error as rows have it.
type ErrorRow struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// A StepRow is a step's row.
type StepRow struct {
	Seq        int          `json:"seq"`
	Kind       string       `json:"kind"`
	Name       string       `json:"name"`
	Occurrence int          `json:"occurrence"`
	Status     string       `json:"status"`
	Attempts   []AttemptRow `json:"attempts"`
	Before     int          `json:"attempts_before"`
	Config     any          `json:"config"`
	Output     any          `json:"output"`
	Error      *ErrorRow    `json:"error"`
	Stack      string       `json:"stack"`
	RetryAt    *time.Time   `json:"retry_at"`
	WakeAt     *time.Time   `json:"wake_at"`
	StartedAt  time.Time    `json:"started_at"`
	FinishedAt *time.Time   `json:"finished_at"`
}

// Key is its kind, name and occurrence.
func (s StepRow) Key() string { return fmt.Sprintf("%s %s #%d", s.Kind, s.Name, s.Occurrence) }

// Done says whether it runs no more.
func (s StepRow) Done() bool { return s.Status == "complete" || s.Status == "errored" }

// An AttemptRow is one attempt of a step.
type AttemptRow struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Error     *ErrorRow  `json:"error"`
}

// An EventRow is an event sent to an instance.
type EventRow struct {
	Type       string            `json:"type"`
	Payload    any               `json:"payload"`
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
}

// InstanceKey is the record id of an instance.
func InstanceKey(id string) surreal.RecordID { return surreal.NewRecordID("_00_wf_instance", id) }

// Instance reads an instance.
func (b *Base) Instance(id string) InstanceRow {
	b.T.Helper()
	rows := Read[[]InstanceRow](b, "SELECT * FROM $id", map[string]any{"id": InstanceKey(id)})
	if len(rows) != 1 {
		b.T.Fatalf("instance %s has %d rows", id, len(rows))
	}
	return rows[0]
}

// Steps are the instance's rows of its present incarnation, by kind, name and occurrence.
func (b *Base) Steps(id string) map[string]StepRow {
	b.T.Helper()
	out := map[string]StepRow{}
	for _, s := range Read[[]StepRow](b, "SELECT * FROM _00_wf_step WHERE instance = $id", map[string]any{"id": InstanceKey(id)}) {
		out[s.Key()] = s
	}
	return out
}

// Events are those sent to an instance, in their order.
func (b *Base) Events(id string) []EventRow {
	b.T.Helper()
	return Read[[]EventRow](b, "SELECT * FROM _00_wf_event WHERE instance = $id ORDER BY id", map[string]any{"id": InstanceKey(id)})
}

// Consistent checks what holds for every instance at any time when no run is in the middle of a write.
func (b *Base) Consistent(id string) {
	b.T.Helper()
	row := b.Instance(id)
	if done := b.consistentSteps(id); row.StepsDone != done {
		b.T.Errorf("steps_done is %d, finished rows are %d", row.StepsDone, done)
	}
	if row.over() && row.held() {
		b.T.Errorf("a finished instance is left as %+v", row)
	}
	consumers := map[string]bool{}
	for _, e := range b.Events(id) {
		if e.ConsumedBy == nil {
			continue
		}
		by := surreal.FormatID(*e.ConsumedBy)
		if consumers[by] {
			b.T.Errorf("%s consumed two events", by)
		}
		consumers[by] = true
	}
}

func (r InstanceRow) over() bool {
	return r.Status == "complete" || r.Status == "errored" || r.Status == "terminated"
}

// held says whether anything is left that only an instance has that lives.
func (r InstanceRow) held() bool {
	return r.LeaseToken != "" || r.LeaseUntil != nil || r.FinishedAt == nil || r.WakeAt != nil || r.WaitingFor != nil || r.PauseRequested != nil
}

// consistentSteps checks an instance's steps and counts those that are done.
func (b *Base) consistentSteps(id string) (done int) {
	b.T.Helper()
	seqs := map[int]string{}
	for key, s := range b.Steps(id) {
		if other, used := seqs[s.Seq]; used {
			b.T.Errorf("%s and %s have the same seq %d", key, other, s.Seq)
		}
		seqs[s.Seq] = key
		if s.Done() {
			done++
		}
		if s.Done() != (s.FinishedAt != nil) {
			b.T.Errorf("%s is %s, finished at %v", key, s.Status, s.FinishedAt)
		}
	}
	return done
}

// Package check reads what a chaos run has left, in the database and in the journals, and says what is wrong with it.
//
// It trusts nothing that the product says of itself. What it goes by is the history of every row, which events in the
// database have written in the transactions of the changes themselves, what the backends noted of every request and
// every call, and what the plan says that the work has to come to.
package check

import (
	"fmt"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

// A State is all that a run has left.
type State struct {
	Plan    *plan.Plan
	Journal []journal.Entry

	Jobs      []jobRow // of all outbox tables
	Instances []instanceRow
	Steps     []stepRow
	Events    []eventRow
	Counts    []countRow
	Runs      []runRow // of DAGs
	Ticks     []tickRow
	Rollups   []rollupRow

	JobLog      []jobEntry
	InstanceLog []instanceEntry
	StepLog     []stepEntry
	NodeLog     []nodeEntry
	RunLog      []runEntry
	DAGStepLog  []dagStepEntry
	ScheduleLog []scheduleEntry
	TickLog     []tickEntry
	Audit       []auditEntry
}

// A failure is an element of a job's errors.
type failure struct {
	Code    any    `json:"code"`
	Reason  string `json:"reason"`
	Attempt int    `json:"attempt"`
}

// A jobRow, as the rows of instances and runs, may have been pruned: then it is as it was, and Gone says when it went.
type jobRow struct {
	ID       surreal.RecordID `json:"id"`
	Status   string           `json:"status"`
	Retries  int              `json:"retries"`
	Epoch    int64            `json:"lease_epoch"`
	Errors   []failure        `json:"errors"`
	Result   any              `json:"result"`
	Assignee *string          `json:"assignee"`
	Until    *time.Time       `json:"lease_until"`
	RunAt    *time.Time       `json:"run_at"`
	Path     string           `json:"path"`
	DelayMS  int64            `json:"delay"`
	Created  *time.Time       `json:"created_at"`
	Updated  *time.Time       `json:"updated_at"`
	Gone     *time.Time       `json:"gone_at"`
}

func (r jobRow) key() string { return surreal.FormatID(r.ID) }

type instanceRow struct {
	ID          surreal.RecordID `json:"id"`
	Binding     string           `json:"binding"`
	Status      string           `json:"status"`
	Output      any              `json:"output"`
	Error       *storedError     `json:"error"`
	StepsDone   int              `json:"steps_done"`
	Incarnation int              `json:"incarnation"`
	Fence       int64            `json:"fence"`
	Token       *string          `json:"lease_token"`
	Waiting     any              `json:"waiting_for"`
	WakeAt      *time.Time       `json:"wake_at"`
	Warning     any              `json:"warning"`
	Backend     string           `json:"backend"`
	Started     *time.Time       `json:"started_at"`
	Finished    *time.Time       `json:"finished_at"`
	Gone        *time.Time       `json:"gone_at"`
}

func (r instanceRow) key() string { return fmt.Sprint(r.ID.ID) }

type storedError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

type stepRow struct {
	ID       surreal.RecordID `json:"id"`
	Instance surreal.RecordID `json:"instance"`
	Status   string           `json:"status"`
	Output   any              `json:"output"`
	Error    *storedError     `json:"error"`
	Attempts []struct {
		StartedAt *time.Time   `json:"started_at"`
		EndedAt   *time.Time   `json:"ended_at"`
		Error     *storedError `json:"error"`
	} `json:"attempts"`
	Gone *time.Time `json:"gone_at"`
}

// A stepID is what a step's record id is made of.
type stepID struct {
	Instance    string
	Incarnation int
	Kind, Name  string
	Occurrence  int
}

func parseStep(key any) stepID {
	parts, ok := key.([]any)
	if !ok || len(parts) != 5 {
		return stepID{Name: fmt.Sprint(key)}
	}
	return stepID{fmt.Sprint(parts[0]), number(parts[1]), fmt.Sprint(parts[2]), fmt.Sprint(parts[3]), number(parts[4])}
}

// number reads an integer however it was stored; -1 for anything else.
func number(v any) int {
	switch n := v.(type) {
	case int64:
		return int(n)
	case uint64:
		return int(n) //nolint:gosec // a small one
	case int:
		return n
	case float64:
		return int(n)
	}
	return -1
}

type eventRow struct {
	ID         surreal.RecordID  `json:"id"`
	Instance   surreal.RecordID  `json:"instance"`
	Type       string            `json:"type"`
	Payload    any               `json:"payload"`
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
	Gone       *time.Time        `json:"gone_at"`
}

type countRow struct {
	ID surreal.RecordID `json:"id"`
	N  int              `json:"n"`
}

// A runRow is a run of a DAG.
type runRow struct {
	ID       surreal.RecordID `json:"id"`
	Workflow string           `json:"workflow"`
	Status   string           `json:"status"`
	Done     int              `json:"steps_done"`
	Started  *time.Time       `json:"started_at"`
	Finished *time.Time       `json:"finished_at"`
	Gone     *time.Time       `json:"gone_at"`
}

func (r runRow) key() string { return fmt.Sprint(r.ID.ID) }

// A tickRow is a run of a schedule that is left.
type tickRow struct {
	ID     surreal.RecordID `json:"id"`
	Status string           `json:"status"`
}

// A rollupRow is what is left of pruned rows of an hour.
type rollupRow struct {
	Hour    time.Time `json:"hour"`
	Scope   string    `json:"scope"`
	Of      string    `json:"of"`
	Name    string    `json:"name"`
	Success int64     `json:"success"`
	Failed  int64     `json:"failed"`
	Killed  int64     `json:"killed"`
	WallMS  int64     `json:"wall_ms"`
}

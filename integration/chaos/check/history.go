package check

import "time"

// A change of a row is an entry of its history. Before is nil where it was created, After where it was deleted.
type change[S any] struct {
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Key    string    `json:"key"`
	Before *S        `json:"before"`
	After  *S        `json:"after"`
}

func (c change[S]) when() time.Time { return c.At }

type jobState struct {
	Status   string     `json:"status"`
	Epoch    int64      `json:"epoch"`
	Assignee *string    `json:"assignee"`
	Until    *time.Time `json:"until"`
	RunAt    *time.Time `json:"run_at"`
	Retries  int        `json:"retries"`
	Result   any        `json:"result"`
	Error    *failure   `json:"error"`
	Errors   int        `json:"errors"`
	Cancel   bool       `json:"cancel"`     // somebody wants its end
	Updated  *time.Time `json:"updated_at"` // before a change
}

type jobEntry = change[jobState]

type instanceState struct {
	Status      string     `json:"status"`
	Fence       int64      `json:"fence"`
	Token       *string    `json:"lease_token"`
	Until       *time.Time `json:"lease_until"`
	Incarnation int        `json:"incarnation"`
	StepsDone   int        `json:"steps_done"`
	Job         string     `json:"job"`
	CurrentStep *string    `json:"current_step"`
	Waiting     any        `json:"waiting_for"`
	WakeAt      *time.Time `json:"wake_at"`
	EventsSent  int        `json:"events_sent"`
	Finished    *time.Time `json:"finished_at"` // before a change
}

type instanceEntry = change[instanceState]

type stepState struct {
	Status   string     `json:"status"`
	Attempts int        `json:"attempts"`
	Output   any        `json:"output"`
	WakeAt   *time.Time `json:"wake_at"`
	Error    *string    `json:"error"`
}

type stepEntry struct {
	At     time.Time  `json:"at"`
	Event  string     `json:"event"`
	Key    string     `json:"key"`
	Step   any        `json:"step"`
	Fence  int64      `json:"fence"`
	Token  *string    `json:"lease_token"`
	Before *stepState `json:"before"`
	After  *stepState `json:"after"`
	// Incarnation is the instance's.
	Incarnation int `json:"incarnation"`
}

// kept says whether a restart from a step has taken it over from the incarnation before.
func (e stepEntry) kept() bool {
	return e.Before == nil && parseStep(e.Step).Incarnation > e.Incarnation
}

func (e stepEntry) when() time.Time { return e.At }

type nodeEntry struct {
	At    time.Time  `json:"at"`
	Event string     `json:"event"`
	Node  string     `json:"node"`
	Beat  *time.Time `json:"heartbeat_at"`
}

func (e nodeEntry) when() time.Time { return e.At }

// A runState is that of a run of a DAG. Stopping and Error are the codes of why it is to end, and why it did.
type runState struct {
	Workflow string     `json:"workflow"`
	Status   string     `json:"status"`
	Revision int        `json:"revision"`
	Stopping *string    `json:"stopping"`
	Done     int        `json:"steps_done"`
	Retries  int        `json:"retry_count"`
	Finished *time.Time `json:"finished_at"`
	Error    *string    `json:"error"`
}

type runEntry = change[runState]

// A dagStepState is that of a step of such a run; Job is its job's id as text, "" for none.
type dagStepState struct {
	Status  string  `json:"status"`
	Job     string  `json:"job"`
	Retries int     `json:"retry_count"`
	Error   *string `json:"error"`
}

// A dagStepEntry has the run as its key.
type dagStepEntry struct {
	change[dagStepState]

	Step string `json:"step"`
}

// A scheduleState is the clock of a schedule.
type scheduleState struct {
	Next   *time.Time `json:"next"`
	Last   *time.Time `json:"last"`
	Fires  int        `json:"fires"`
	Paused *time.Time `json:"paused"`
}

type scheduleEntry = change[scheduleState]

// A tickState is that of what a tick has started; Target is its id as text, "" for none.
type tickState struct {
	Status   string     `json:"status"`
	Reason   *string    `json:"reason"`
	Target   string     `json:"target"`
	Finished *time.Time `json:"finished_at"`
}

// A tickEntry is about what a tick has started for one key of a schedule.
type tickEntry struct {
	change[tickState]

	Schedule string    `json:"schedule"`
	Item     string    `json:"item"`
	Tick     time.Time `json:"tick"`
	Manual   bool      `json:"manual"`
}

// An auditEntry is what an operator did to something, and how that was then, in the same transaction.
type auditEntry struct {
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Action  string      `json:"action"`
	Key     string      `json:"key"`
	Outcome string      `json:"outcome"`
	Found   *foundState `json:"found"`
}

// A foundState is what an act has left, of a job, an instance, a run or a schedule: its status, and whether it is to be cancelled or paused, is
// stopping, or is paused.
type foundState struct {
	Status   string `json:"status"`
	Cancel   bool   `json:"cancel"`
	Pause    bool   `json:"pause"`
	Stopping bool   `json:"stopping"`
	Paused   bool   `json:"paused"`
}

func (e auditEntry) when() time.Time { return e.At }

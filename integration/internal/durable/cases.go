package durable

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TablePath is the table of cases that all SDKs run; its README describes the format.
const TablePath = "../../conformance/workflows.json"

// A Table is all that an SDK has to show.
type Table struct {
	Format    int            `json:"format"`
	Cases     []Case         `json:"cases"`
	Durations []DurationCase `json:"durations"`
}

// A DurationCase is a text and what it is read as.
type DurationCase struct {
	Text    string `json:"text"`
	MS      int64  `json:"ms"`
	Refused bool   `json:"refused"`
}

// A Case is one of them: a workflow, what somebody outside does, and what must come of it.
type Case struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Modes     []string    `json:"modes"`
	Params    any         `json:"params"`
	StepLimit int         `json:"stepLimit"`
	Workflow  []Op        `json:"workflow"`
	Script    []Action    `json:"script"`
	Expect    Expectation `json:"expect"`
	// Kill is what is done and must come of it instead where the process dies after each step that it has stored.
	Kill *struct {
		Script []Action    `json:"script"`
		Expect Expectation `json:"expect"`
	} `json:"kill"`
}

// In is the case as it is in a mode; false where it can't be run in that.
func (c Case) In(mode string) (Case, bool) {
	if mode == "kill" && c.Kill != nil {
		c.Script, c.Expect = c.Kill.Script, c.Kill.Expect
	}
	return c, len(c.Modes) == 0 || slices.Contains(c.Modes, mode)
}

// An Op is one statement of a workflow; the field that is set says which.
type Op struct {
	Do         any        `json:"do"` // the name: a text or a value that gives one
	Config     *OpConfig  `json:"config"`
	Calls      []Behavior `json:"calls"`
	Sleep      *string    `json:"sleep"`
	For        any        `json:"for"`
	SleepUntil *string    `json:"sleepUntil"`
	FromStart  int64      `json:"fromStart"`
	Wait       *string    `json:"waitForEvent"`
	Type       string     `json:"type"`
	Timeout    any        `json:"timeout"`
	As         string     `json:"as"`
	Caught     string     `json:"caught"`
	All        []Op       `json:"all"`
	Branches   [][]Op     `json:"branches"`
	Count      string     `json:"count"`
	Throw      *string    `json:"throw"`
	Rethrow    string     `json:"rethrow"`
	Return     *json.RawMessage
}

// UnmarshalJSON tells a return of null from none.
func (o *Op) UnmarshalJSON(data []byte) error {
	type plain Op
	if err := json.Unmarshal(data, (*plain)(o)); err != nil {
		return err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	if value, ok := keys["return"]; ok {
		o.Return = &value
	}
	return nil
}

// An OpConfig is a step's, as the SDK takes it.
type OpConfig struct {
	Retries *struct {
		Limit   int    `json:"limit"`
		Delay   any    `json:"delay"`
		Backoff string `json:"backoff"`
	} `json:"retries"`
	Timeout any `json:"timeout"`
}

// A Behavior is what a step's function does in one attempt.
type Behavior struct {
	After        int64           `json:"after"`
	Deaf         int64           `json:"deaf"`
	Latch        string          `json:"latch"`
	Hang         bool            `json:"hang"`
	Throw        *string         `json:"throw"`
	NonRetryable *string         `json:"nonRetryable"`
	Return       json.RawMessage `json:"return"`
}

// An Action is what somebody outside does; the field that is set says what.
type Action struct {
	Create      *Creation        `json:"create"`
	CreateBatch *[]Creation      `json:"createBatch"`
	IDs         []string         `json:"ids"`
	Get         *string          `json:"get"`
	Await       *Awaited         `json:"await"`
	Seen        map[string][]int `json:"seen"`
	Send        *string          `json:"send"`
	Payload     any              `json:"payload"`
	ID          string           `json:"id"`
	Pause       bool             `json:"pause"`
	Resume      bool             `json:"resume"`
	Terminate   bool             `json:"terminate"`
	Restart     *Restart         `json:"restart"`
	Kill        bool             `json:"kill"`
	Release     string           `json:"release"`
	Refused     string           `json:"refused"`
}

// A Restart is from the beginning, or from a step.
type Restart struct {
	From *From `json:"from,omitempty"`
}

// UnmarshalJSON takes true for a restart from the beginning.
func (r *Restart) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return nil
	}
	type plain Restart
	return json.Unmarshal(data, (*plain)(r))
}

// A From is the step that a restart begins from.
type From struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
	Type  string `json:"type,omitempty"`
}

// A Creation is an instance to create.
type Creation struct {
	ID     any `json:"id"`
	Params any `json:"params"`
}

// An Awaited is what has to be seen before the script goes on.
type Awaited struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	For    string            `json:"for"`
	Step   string            `json:"step"`
	Steps  map[string]string `json:"steps"`
	Seen   string            `json:"seen"`
	Times  int               `json:"times"`
	Ended  string            `json:"ended"`
}

// An Expectation is what must come of a case.
type Expectation struct {
	Status        string                     `json:"status"`
	Output        *json.RawMessage           `json:"output"`
	Error         *ExpectedError             `json:"error"`
	AtLeastMS     int64                      `json:"atLeastMs"`
	StepsDone     *int                       `json:"stepsDone"`
	Seen          map[string][]int           `json:"seen"`
	CountsAtLeast map[string]int             `json:"countsAtLeast"`
	Steps         *map[string]ExpectedStep   `json:"steps"`
	raw           map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON tells an output of null from none.
func (e *Expectation) UnmarshalJSON(data []byte) error {
	type plain Expectation
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &e.raw); err != nil {
		return err
	}
	if value, ok := e.raw["output"]; ok {
		e.Output = &value
	}
	return nil
}

// An ExpectedError is a message alone, or any of its fields.
type ExpectedError struct {
	Name    string  `json:"name"`
	Message *string `json:"message"`
	Has     string  `json:"has"`
}

// UnmarshalJSON takes a text for the message.
func (e *ExpectedError) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		e.Message = &text
		return nil
	}
	type plain ExpectedError
	return json.Unmarshal(data, (*plain)(e))
}

// An ExpectedStep is what must be in a step's row.
type ExpectedStep struct {
	Status        string           `json:"status"`
	Output        *json.RawMessage `json:"output"`
	Error         *ExpectedError   `json:"error"`
	Attempts      []*ExpectedError `json:"attempts"`
	Before        int              `json:"attemptsBefore"`
	GapsAtLeastMS []int64          `json:"gapsAtLeastMs"`
	Config        any              `json:"config"`
	WaitMS        int64            `json:"waitMs"`
}

// Load reads the table.
func Load(t *testing.T) Table {
	t.Helper()
	data, err := os.ReadFile(TablePath)
	Check(t, err)
	var all Table
	Check(t, json.Unmarshal(data, &all))
	if all.Format != 1 || len(all.Cases) == 0 {
		t.Fatalf("format %d with %d cases", all.Format, len(all.Cases))
	}
	return all
}

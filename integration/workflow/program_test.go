package workflow_test

import (
	"encoding/json"
	"os"
	"testing"
)

// tablePath is the table of cases that all SDKs run; its README describes the format.
const tablePath = "../../conformance/workflows.json"

type table struct {
	Format    int            `json:"format"`
	Cases     []conformance  `json:"cases"`
	Durations []durationCase `json:"durations"`
}

type durationCase struct {
	Text    string `json:"text"`
	MS      int64  `json:"ms"`
	Refused bool   `json:"refused"`
}

// A conformance is one case: a workflow, what somebody outside does, and what must come of it.
type conformance struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Modes     []string    `json:"modes"`
	Params    any         `json:"params"`
	StepLimit int         `json:"stepLimit"`
	Workflow  []op        `json:"workflow"`
	Script    []action    `json:"script"`
	Expect    expectation `json:"expect"`
}

// An op is one statement of a workflow; the field that is set says which.
type op struct {
	Do         any        `json:"do"` // the name: a text or a value that gives one
	Config     *opConfig  `json:"config"`
	Calls      []behavior `json:"calls"`
	Sleep      *string    `json:"sleep"`
	For        any        `json:"for"`
	SleepUntil *string    `json:"sleepUntil"`
	FromStart  int64      `json:"fromStart"`
	Wait       *string    `json:"waitForEvent"`
	Type       string     `json:"type"`
	Timeout    any        `json:"timeout"`
	As         string     `json:"as"`
	Caught     string     `json:"caught"`
	All        []op       `json:"all"`
	Branches   [][]op     `json:"branches"`
	Count      string     `json:"count"`
	Throw      *string    `json:"throw"`
	Rethrow    string     `json:"rethrow"`
	Return     *json.RawMessage
}

// UnmarshalJSON tells a return of null from none.
func (o *op) UnmarshalJSON(data []byte) error {
	type plain op
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

type opConfig struct {
	Retries *struct {
		Limit   int    `json:"limit"`
		Delay   any    `json:"delay"`
		Backoff string `json:"backoff"`
	} `json:"retries"`
	Timeout any `json:"timeout"`
}

// A behavior is what a step's function does in one attempt.
type behavior struct {
	After        int64           `json:"after"`
	Deaf         int64           `json:"deaf"`
	Latch        string          `json:"latch"`
	Hang         bool            `json:"hang"`
	Throw        *string         `json:"throw"`
	NonRetryable *string         `json:"nonRetryable"`
	Return       json.RawMessage `json:"return"`
}

// An action is what somebody outside does; the field that is set says what.
type action struct {
	Create      *creation        `json:"create"`
	CreateBatch *[]creation      `json:"createBatch"`
	IDs         []string         `json:"ids"`
	Get         *string          `json:"get"`
	Await       *awaited         `json:"await"`
	Seen        map[string][]int `json:"seen"`
	Send        *string          `json:"send"`
	Payload     any              `json:"payload"`
	ID          string           `json:"id"`
	Pause       bool             `json:"pause"`
	Resume      bool             `json:"resume"`
	Terminate   bool             `json:"terminate"`
	Restart     bool             `json:"restart"`
	Kill        bool             `json:"kill"`
	Release     string           `json:"release"`
	Refused     string           `json:"refused"`
}

type creation struct {
	ID     any `json:"id"`
	Params any `json:"params"`
}

type awaited struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	For    string            `json:"for"`
	Step   string            `json:"step"`
	Steps  map[string]string `json:"steps"`
	Seen   string            `json:"seen"`
	Times  int               `json:"times"`
	Ended  string            `json:"ended"`
}

type expectation struct {
	Status        string                     `json:"status"`
	Output        *json.RawMessage           `json:"output"`
	Error         *expectedError             `json:"error"`
	AtLeastMS     int64                      `json:"atLeastMs"`
	StepsDone     *int                       `json:"stepsDone"`
	Seen          map[string][]int           `json:"seen"`
	CountsAtLeast map[string]int             `json:"countsAtLeast"`
	Steps         *map[string]expectedStep   `json:"steps"`
	raw           map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON tells an output of null from none.
func (e *expectation) UnmarshalJSON(data []byte) error {
	type plain expectation
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

// An expectedError is a message alone, or any of its fields.
type expectedError struct {
	Name    string  `json:"name"`
	Message *string `json:"message"`
	Has     string  `json:"has"`
}

func (e *expectedError) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		e.Message = &text
		return nil
	}
	type plain expectedError
	return json.Unmarshal(data, (*plain)(e))
}

type expectedStep struct {
	Status        string           `json:"status"`
	Output        *json.RawMessage `json:"output"`
	Error         *expectedError   `json:"error"`
	Attempts      []*expectedError `json:"attempts"`
	GapsAtLeastMS []int64          `json:"gapsAtLeastMs"`
	Config        any              `json:"config"`
	WaitMS        int64            `json:"waitMs"`
}

func loadTable(t *testing.T) table {
	t.Helper()
	data, err := os.ReadFile(tablePath)
	check(t, err)
	var all table
	check(t, json.Unmarshal(data, &all))
	if all.Format != 1 || len(all.Cases) == 0 {
		t.Fatalf("format %d with %d cases", all.Format, len(all.Cases))
	}
	return all
}

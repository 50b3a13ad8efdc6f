package admin

import (
	"errors"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// Errors of operations.
var (
	// ErrNotFound is a job, an instance, a workflow or a token that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrStepNotFound is a step to restart from that the instance does not have.
	ErrStepNotFound = errors.New("not found in execution history")
	// ErrExists is an id that an instance, or a job, has already.
	ErrExists = errors.New("already exists")
	// ErrTooLarge is something of which the database holds more than its answers are read.
	ErrTooLarge = surreal.ErrAnswerTooLarge
)

// HintTooLarge is what to do about [ErrTooLarge], on every surface.
const HintTooLarge = "ask for less: for a smaller limit, or without outputs"

// An InputError is something that cannot be meant: a malformed id, params that are not JSON.
type InputError struct{ text string }

func (e *InputError) Error() string { return e.text }

// NewInputError is an InputError in the words of another surface, such as a remote one.
func NewInputError(text string) *InputError { return &InputError{text} }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// A StateError is a verb that makes no sense in the state that a job or an instance is in.
type StateError struct {
	// Job says that ID is a job's, Schedule that it is a schedule's name, Run that it is a run's of a DAG, or the
	// name of a DAG that can't start one; else it is an instance's.
	Job, Schedule, Run bool
	ID, Verb           string
	// Status is the state found.
	Status string
	// Possible names the verbs that this state allows.
	Possible []string
}

func (e *StateError) Error() string {
	if e.Job {
		return fmt.Sprintf("%s %s: the job is %s", e.Verb, e.ID, e.Status)
	}
	if e.Schedule {
		return fmt.Sprintf("%s schedule %s: %s", e.Verb, e.ID, e.found())
	}
	if e.Run && e.Verb == verbTrigger {
		return fmt.Sprintf("%s DAG %s: %s", e.Verb, e.ID, e.found())
	}
	if e.Run {
		return fmt.Sprintf("%s run %s: %s", e.Verb, e.ID, e.found())
	}
	return fmt.Sprintf("%s instance %s: %s", e.Verb, e.ID, e.found())
}

// found is the state as a sentence; some are one already.
func (e *StateError) found() string {
	if strings.Contains(e.Status, " ") {
		return e.Status
	}
	return "it is " + e.Status
}

// The verbs on instances, as they are named everywhere.
const (
	verbPause     = "pause"
	verbResume    = "resume"
	verbTerminate = "terminate"
	verbRestart   = "restart"
	verbRetry     = "retry"
	verbSendEvent = "send-event"
)

// possible names the verbs that a state allows.
func possible(status wf.Status) []string {
	switch status {
	case wf.Queued, wf.Running, wf.Waiting:
		return []string{verbPause, verbTerminate, verbRestart, verbSendEvent}
	case wf.Paused:
		return []string{verbResume, verbTerminate, verbRestart, verbSendEvent}
	case wf.Errored:
		return []string{verbRetry, verbRestart}
	case wf.Complete, wf.Terminated:
	}
	return []string{verbRestart}
}

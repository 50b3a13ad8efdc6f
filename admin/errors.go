package admin

import (
	"errors"
	"fmt"

	"sp00ky.cloud/spky/wf"
)

// Errors of operations on instances.
var (
	// ErrNotFound is an instance or a workflow that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is an id that an instance has already.
	ErrExists = errors.New("instance already exists")
)

// An InputError is something that cannot be meant: a malformed id, params that are not JSON.
type InputError struct{ text string }

func (e *InputError) Error() string { return e.text }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// A StateError is a verb that makes no sense in the state an instance is in.
type StateError struct {
	ID, Verb string
	Status   wf.Status
	// Possible names the verbs that this state allows.
	Possible []string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%s instance %s: it is %s", e.Verb, e.ID, e.Status)
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

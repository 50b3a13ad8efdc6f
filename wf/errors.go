package wf

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Errors of a run.
var (
	// ErrSuspended is what every step answers once a run is over before its workflow is: the
	// instance waits, hands over, is paused, or was lost to another run. Return it; what the
	// workflow returns after it is ignored.
	ErrSuspended = errors.New("wf: the run is over; the workflow goes on in another")
	// ErrTimeout is an attempt, or a wait for an event, that took too long.
	ErrTimeout = errors.New("wf: timed out")
	// ErrTooLarge is a value of more than 1 MiB.
	ErrTooLarge = errors.New("wf: the value is larger than 1 MiB of JSON")
	// ErrNotJSON is a value that can't be JSON.
	ErrNotJSON = errors.New("wf: the value is not serialisable as JSON")
	// ErrName is a step name, instance id or event type of an illegal form.
	ErrName = errors.New("wf: illegal name")
	// ErrConfig is an option of a step that makes no sense.
	ErrConfig = errors.New("wf: illegal step configuration")
	// ErrStepLimit is a step beyond [StepLimit].
	ErrStepLimit = errors.New("wf: too many steps")
)

// Errors of operations on instances.
var (
	// ErrExists is an id that is used already.
	ErrExists = errors.New("wf: instance already exists")
	// ErrNotFound is an id that no instance has.
	ErrNotFound = errors.New("wf: instance not found")
	// ErrStepNotFound is a step to restart from that the instance does not have.
	ErrStepNotFound = errors.New("wf: step not found in execution history")
)

// A StateError is an operation that makes no sense in the state an instance is in.
type StateError struct {
	// Verb is what was asked for, such as "pause".
	Verb string
	// Status is the state that the instance was in, and still is.
	Status Status
}

func (e *StateError) Error() string {
	return fmt.Sprintf("wf: cannot %s: the instance is %s", e.Verb, e.Status)
}

// Names that errors are stored under.
const (
	nameError        = "Error"
	nameNonRetryable = "NonRetryableError"
	nameTimeout      = "WorkflowTimeoutError"
	nameFatal        = "WorkflowFatalError"
	namePanic        = "PanicError"
	nameCrash        = "AttemptLostError"
)

// A StepError is the error of a step that failed for good. It is the same whether the step has just
// failed or is replayed.
type StepError struct {
	// Step is the step's name.
	Step string
	// Name is the kind of error: Error, NonRetryableError, WorkflowTimeoutError, …
	Name string
	// Message is the text of the error's whole chain.
	Message string
	// Stack is where it panicked, for people.
	Stack string
}

func (e *StepError) Error() string { return e.Message }

// Is reports whether the error is [ErrTimeout], judged by its name.
func (e *StepError) Is(target error) bool { return target == ErrTimeout && e.Name == nameTimeout }

// NonRetryable marks an error that another attempt won't mend: the step fails at once.
func NonRetryable(err error) error {
	if err == nil {
		err = errors.New("")
	}
	return &nonRetryableError{err}
}

type nonRetryableError struct{ err error }

func (e *nonRetryableError) Error() string { return e.err.Error() }
func (e *nonRetryableError) Unwrap() error { return e.err }

// fatalError fails a step at once because of what its function returned.
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func final(err error) bool {
	var non *nonRetryableError
	var fatal *fatalError
	return errors.As(err, &non) || errors.As(err, &fatal)
}

// Bounds of what is kept of errors, in bytes: a step that fails again and again must not fill its row.
const (
	maxMessage = 16 << 10
	maxStack   = 16 << 10
	maxBrief   = 1 << 10
)

// clip makes text storable: UTF-8, and no longer than so many bytes.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:cut], len(text))
}

// brief is what an attempt keeps of its error; the step has it all.
func brief(e *protocol.Error) *protocol.Error {
	return &protocol.Error{Name: e.Name, Message: clip(e.Message, maxBrief)}
}

// stored is err as it is kept.
func stored(err error) *protocol.Error {
	var non *nonRetryableError
	var fatal *fatalError
	var step *StepError
	var panicked *panicError
	out := &protocol.Error{Name: nameError, Message: err.Error()}
	switch {
	case errors.As(err, &non):
		out.Name = nameNonRetryable
	case errors.As(err, &fatal):
		out.Name = nameFatal
	case errors.As(err, &panicked):
		out.Name, out.Stack = namePanic, panicked.stack
	case errors.As(err, &step):
		out.Name, out.Stack = step.Name, step.Stack
	case errors.Is(err, ErrTimeout):
		out.Name = nameTimeout
	case errors.Is(err, ErrName), errors.Is(err, ErrConfig), errors.Is(err, ErrStepLimit), errors.Is(err, ErrTooLarge), errors.Is(err, ErrNotJSON):
		out.Name = nameFatal
	default:
		if t := reflect.TypeOf(err); t.Kind() == reflect.Pointer && t.Elem().PkgPath() != "errors" && t.Elem().PkgPath() != "fmt" {
			out.Name = t.Elem().Name()
		}
	}
	if out.Name == "" {
		out.Name = nameError
	}
	out.Message, out.Stack = clip(out.Message, maxMessage), clip(out.Stack, maxStack)
	return out
}

func loaded(step string, e *protocol.Error) error {
	if e == nil {
		e = &protocol.Error{Name: nameError, Message: "the step failed and left no error"}
	}
	return &StepError{Step: step, Name: e.Name, Message: e.Message, Stack: e.Stack}
}

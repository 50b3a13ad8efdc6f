package wf

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// An Event is what a workflow is started with.
type Event[P any] struct {
	// Payload are the params given at creation.
	Payload P
	// InstanceID names the instance, WorkflowName the binding.
	InstanceID, WorkflowName string
	// Timestamp is when the instance was created.
	Timestamp time.Time
}

// A Workflow is a workflow registered under a binding.
type Workflow[P any] struct {
	engine  *Engine
	binding string
}

// A RegisterOption configures a workflow.
type RegisterOption func(*definition)

// Strict stops a run that goes another way than the steps stored by earlier ones: the instance is
// marked as stalled and goes on by itself once fitting code is deployed. Without it such an instance
// carries a warning.
func Strict() RegisterOption { return func(d *definition) { d.strict = true } }

// defaultStepLimit is how many steps a workflow may call by default.
const defaultStepLimit = 10_000

// StepLimit bounds how often a workflow may call steps made with [Do], [Go] and [Query] on its way
// through the code, stored ones included; sleeps and waits do not count. It is what ends a loop that
// was not meant to be endless. Defaults to 10,000.
func StepLimit(n int) RegisterOption { return func(d *definition) { d.stepLimit = n } }

// Register makes code the workflow of a binding, which is a letter or _ followed by up to 63 letters,
// digits and _. An illegal or used binding panics, as in [net/http.ServeMux.Handle].
//
// The code may run any number of times for one instance, from the top. What it does outside steps is
// done each time; what it decides on must be its params and what its steps returned.
func Register[P, R any](e *Engine, binding string, code func(context.Context, Event[P], *Step) (R, error), opts ...RegisterOption) *Workflow[P] {
	if !bindingName.MatchString(binding) {
		panic(fmt.Sprintf("wf: register %q: a binding is a letter or _ followed by up to 63 letters, digits and _", binding))
	}
	def := definition{run: func(ctx context.Context, i protocol.Instance, step *Step) (any, error) {
		params, err := decode[P]("params", i.Params)
		if err != nil {
			return nil, NonRetryable(err)
		}
		return code(ctx, Event[P]{Payload: params, InstanceID: i.ID, WorkflowName: i.Binding, Timestamp: i.CreatedAt}, step)
	}, stepLimit: defaultStepLimit}
	for _, opt := range opts {
		opt(&def)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, used := e.definitions[binding]; used {
		panic(fmt.Sprintf("wf: register %q: the binding is used already", binding))
	}
	e.definitions[binding] = def
	return &Workflow[P]{engine: e, binding: binding}
}

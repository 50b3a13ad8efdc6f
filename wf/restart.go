package wf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A StepRef names a step of an instance.
type StepRef struct {
	Name string `json:"name"`
	// Count is which of that name and type, from 1. Defaults to 1.
	Count int `json:"count,omitempty"`
	// Type is do, sleep or waitForEvent. Defaults to do where a do has the name, else to sleep or waitForEvent.
	Type string `json:"type,omitempty"`
}

// stepTypes are the types that steps have.
func stepTypes() []string {
	return []string{protocol.KindDo, protocol.KindSleep, protocol.KindEvent}
}

// Validate refuses what no step is called, with [ErrName] or [ErrConfig].
func (r StepRef) Validate() error {
	switch {
	case r.Name == "":
		return fmt.Errorf("%w: the name of the step is missing", ErrName)
	case r.Count < 0:
		return fmt.Errorf("%w: count %d of step %q; steps are counted from 1", ErrConfig, r.Count, r.Name)
	case r.Type != "" && !slices.Contains(stepTypes(), r.Type):
		return fmt.Errorf("%w: type %q of step %q; allowed: %s", ErrConfig, r.Type, r.Name, strings.Join(stepTypes(), ", "))
	}
	return checkName(r.Name)
}

// String names the step as people read it, such as do "convert" #2.
func (r StepRef) String() string {
	text := fmt.Sprintf("%q", r.Name)
	if r.Type != "" {
		text = r.Type + " " + text
	}
	if r.Count > 0 {
		text += fmt.Sprintf(" #%d", r.Count)
	}
	return text
}

// A RestartOption says how an instance begins again.
type RestartOption func(*restartOptions)

type restartOptions struct{ from *StepRef }

// From begins again from a step instead of from the beginning: it and all steps that began after it are forgotten, and
// with them the events that nothing else got. The steps that began before it stay as they are, with their attempts, and
// are replayed; one of them that was not done goes on as after a crash. A step that the instance does not have is
// [ErrStepNotFound], and nothing is changed.
func From(step StepRef) RestartOption { return func(o *restartOptions) { o.from = &step } }

// Restart begins again with the same id and params, in any state: steps and events are forgotten, but for what [From]
// keeps. A run under way loses the instance, and stores nothing more.
func (i *Instance) Restart(ctx context.Context, opts ...RestartOption) error {
	var o restartOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.from == nil {
		return i.call(ctx, "restart", "RETURN fn::spky::wf::restart($id)", nil)
	}
	if err := o.from.Validate(); err != nil {
		return fmt.Errorf("restart instance %s: %w", i.id, err)
	}
	verb := "restart from " + o.from.String() + " of"
	return i.call(ctx, verb, "RETURN fn::spky::wf::restart($id, $from)", map[string]any{"from": o.from.row()})
}

// reasonNoStep is how the database refuses a step that an instance does not have.
const reasonNoStep = "step_not_found"

// row is the step as the database's function takes it.
func (r StepRef) row() map[string]any {
	row := map[string]any{"name": r.Name}
	if r.Count > 0 {
		row["count"] = r.Count
	}
	if r.Type != "" {
		row["type"] = r.Type
	}
	return row
}

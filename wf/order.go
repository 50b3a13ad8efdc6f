package wf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// ErrNondeterminism is a pass that went another way than the steps stored by earlier ones, under
// [Strict].
var ErrNondeterminism = errors.New("wf: the workflow's code does not fit the steps stored by earlier runs")

// checkOrderLocked notices when a new step runs although stored steps have not been reached: the
// code has changed under the instance, or depends on something that no step keeps. While branches
// run side by side nobody can tell; then finish looks.
func (r *run) checkOrderLocked(key stepKey, row *storedStep) error {
	if row != nil || r.threads > 1 || r.warning != nil {
		return nil
	}
	missed := r.unreachedLocked()
	if len(missed) == 0 {
		return nil
	}
	r.warning = map[string]any{
		"code": "nondeterminism", "unreached": missed, "instead": key.name,
		"message": fmt.Sprintf("step %q ran although stored steps were not reached before it: %v", key.name, missed),
	}
	strict := r.strict()
	r.log.Warn("nondeterminism", "step", key.name, "unreached", missed, "strict", strict)
	if strict {
		r.stallLocked()
		return errors.Join(errOver, ErrNondeterminism)
	}
	warning := r.warning
	r.warned.Add(1)
	r.endGroup.Go(func() {
		defer r.warned.Done()
		r.warn(warning, false)
	})
	return nil
}

// stallLocked ends the run until fitting code is deployed.
func (r *run) stallLocked() {
	if r.over {
		return
	}
	warning := r.warning
	r.endLocked(endStalled, nil)
	r.endGroup.Go(func() { r.warn(warning, true) })
}

func (r *run) warn(warning map[string]any, stalled bool) {
	_, err := r.write(func(ctx context.Context) (protocol.Ack, error) {
		return r.store.Warn(ctx, r.instance.ID, r.instance.Fence, warning, stalled)
	})
	if err != nil {
		r.log.Warn("the warning could not be stored", "error", err)
	}
}

// unreachedLocked names the stored steps that this pass has not come to, in their order.
func (r *run) unreachedLocked() []string {
	var missed []*storedStep
	for _, s := range r.stored {
		if !s.reached {
			missed = append(missed, s)
		}
	}
	slices.SortFunc(missed, func(a, b *storedStep) int { return cmp.Compare(a.Seq, b.Seq) })
	names := make([]string, len(missed))
	for i, s := range missed {
		names[i] = fmt.Sprintf("%s %q #%d", s.Kind, s.Name, s.Occurrence)
	}
	return names
}

func (r *run) strict() bool {
	def, ok := r.engine.lookup(r.instance.Binding)
	return ok && def.strict
}

package wf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Testing makes an engine without a database. It is package wftest's: nobody else can make a kit.
func Testing(ctx context.Context, kit protocol.Kit) (*Engine, error) {
	return New(ctx, Config{Logger: kit.Logger, OutboxTable: "job", kit: kit})
}

// hooked is fn behind the kit's hook for steps, where there is one.
func (a *attempts) hooked(fn function) func(context.Context) (any, error) {
	hook := a.run.engine.cfg.kit.Step
	call := func(ctx context.Context) (any, error) { return fn(ctx, a) }
	if hook == nil {
		return call
	}
	return func(ctx context.Context) (any, error) {
		value, err := hook(ctx, a.callInfo(ctx), call)
		return a.unstub(value, err)
	}
}

// errNoDatabase is a statement block in a test that has no result for it.
var errNoDatabase = fmt.Errorf("%w: Query needs a database; a test gives its result with wftest.Stub", ErrConfig)

// A block is what a context says of a step that is a statement block.
type block struct {
	surql string
	vars  map[string]any
}

type blockKey struct{}

func (a *attempts) callInfo(ctx context.Context) protocol.Call {
	b, _ := ctx.Value(blockKey{}).(block)
	return protocol.Call{Statements: b.surql, Vars: b.vars, Name: a.step.Name, Occurrence: a.step.Occurrence, Attempt: a.step.Tried(), Timeout: time.Duration(a.step.Config.Timeout) * time.Millisecond}
}

// unstub makes a stub what the step's function would have answered.
func (a *attempts) unstub(value any, err error) (any, error) {
	stub, ok := value.(protocol.Stub)
	if err != nil || !ok {
		return value, err
	}
	stored, err := encode(fmt.Sprintf("stub of step %q", a.step.Name), stub.Value)
	if err != nil {
		return nil, &fatalError{err}
	}
	return stored, nil
}

// replays says whether what a step came to has to be seen in another run.
func (r *run) replays(err error) bool {
	return r.engine.cfg.kit.Replay && !errors.Is(err, ErrSuspended)
}

// replay lets the calling goroutine go no further in this run; the next is due at once.
func (r *run) replay(key stepKey) error {
	return r.park(protocol.Wait{Kind: "replay", Name: key.name, WakeAt: r.now()})
}

// leaveDone is leave for a step whose commit came to err.
func (r *run) leaveDone(key stepKey, err error) error {
	if r.replays(err) {
		return r.replay(key)
	}
	r.leave()
	return err
}

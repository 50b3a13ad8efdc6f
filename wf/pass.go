package wf

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// maxBudget bounds the time in which a run begins steps.
const maxBudget = 60 * time.Second

// A result is how a request for a run ended.
type result struct {
	// State is missing, busy, done, paused, superseded, complete, errored, suspended, lost, shutdown
	// or stalled.
	State string `json:"state"`
	// Error is the workflow's own, where it has one.
	Error string `json:"error,omitempty"`
}

// pass makes one run of an instance. caller ends when nobody waits for the answer any more; the run
// goes on all the same, but looks at once whether the instance is still its own: a terminated one's
// job is aborted that way.
func (e *Engine) pass(caller context.Context, def definition, binding, id, job string, timeout time.Duration) (result, error) {
	token := newToken()
	within, cancel := context.WithTimeout(caller, protocol.LeaseTTL)
	defer cancel()
	got, err := persist(within, func(ctx context.Context) (protocol.Acquired, error) {
		return e.store.Acquire(ctx, id, binding, job, token) // again with the same token, should the answer be lost
	})
	if err != nil {
		return result{}, err
	}
	if got.State != "acquired" {
		return result{State: got.State}, nil
	}
	budget := min(timeout*8/10, maxBudget)
	life, span := traceRun(e.life, caller, got.Instance)
	r := e.newRun(life, got, budget)
	if caller.Err() != nil { // nobody waits: the lease must not be held for nothing
		r.stop(endShutdown, errShutdown)
	}
	done := make(chan result, 1)
	e.runs.Add(1)
	go func() {
		defer e.runs.Done()
		res := r.drive(def, caller.Done())
		span.end(r, res)
		done <- res
	}()
	select {
	case res := <-done:
		return res, nil
	case <-caller.Done():
		return result{}, context.Cause(caller)
	}
}

// drive runs the workflow's code and writes what it came to.
func (r *run) drive(def definition, abandoned <-chan struct{}) result {
	r.limit = def.stepLimit
	beats, stopBeats := context.WithCancel(context.WithoutCancel(r.ctx))
	unhook := context.AfterFunc(r.engine.life, func() { r.stop(endShutdown, errShutdown) })
	beating := make(chan struct{})
	go func() { defer close(beating); r.heartbeat(beats, abandoned) }()

	output, err := r.execute(func(ctx context.Context, step *Step) (any, error) { return def.run(ctx, r.instance, step) })
	res := r.conclude(output, err)

	unhook()
	stopBeats()
	<-beating
	r.endGroup.Wait()
	r.cancel(ErrSuspended)
	return res
}

// conclude ends the run with what the workflow's code returned.
func (r *run) conclude(output any, err error) result {
	r.mu.Lock()
	if err != nil && context.Cause(r.ctx) != nil {
		// The engine's end ends the code's contexts a moment before it ends the run.
		r.endLocked(endShutdown, errShutdown)
	}
	over, end := r.over, r.end
	if end == endRefused {
		over, output, err = false, nil, r.fault
	} else if !over {
		if missed := r.unreachedLocked(); len(missed) > 0 && r.warning == nil {
			r.warning = map[string]any{
				"code": "nondeterminism", "unreached": missed,
				"message": fmt.Sprintf("the workflow ended although stored steps were not reached: %v", missed),
			}
			r.log.Warn("nondeterminism", "unreached", missed, "strict", r.strict())
			if r.strict() {
				r.stallLocked()
				over, end = true, endStalled
			}
		}
	}
	if !r.over && !over {
		r.endLocked("", nil) // steps that nobody waited for may not begin any more
	}
	warning := r.warning
	r.mu.Unlock()
	switch {
	case over && end == endShutdown:
		r.endGroup.Go(r.handBack)
		return result{State: endShutdown}
	case over:
		return result{State: end}
	}
	return r.finish(output, err, warning)
}

// handBack gives the instance to whoever runs it next.
func (r *run) handBack() {
	r.warned.Wait()
	_, err := r.write(func(ctx context.Context) (protocol.Ack, error) {
		return r.store.Suspend(ctx, r.instance.ID, r.instance.Fence, nil)
	})
	if err != nil {
		r.log.Warn("the instance could not be handed over; its lease runs out", "error", err)
	}
}

func (r *run) finish(output any, err error, warning map[string]any) result {
	f := protocol.Finish{Instance: r.instance.ID, Fence: r.instance.Fence, Status: string(Complete), Warning: warning}
	if err == nil {
		f.Output, err = encode("output of the workflow", output)
	}
	if err != nil {
		f.Status, f.Error, f.Output = string(Errored), stored(err), nil
	}
	ack, storeErr := r.write(func(ctx context.Context) (protocol.Ack, error) { return r.store.Finish(ctx, f) })
	switch {
	case storeErr != nil:
		r.log.Warn("the end of the workflow could not be stored; another run will come to it again", "error", storeErr)
		return result{State: endLost}
	case !ack.OK:
		return result{State: endLost}
	case f.Error != nil:
		r.log.Warn("workflow errored", "error", f.Error.Message)
		return result{State: f.Status, Error: f.Error.Message}
	}
	r.log.Debug("workflow complete")
	return result{State: f.Status}
}

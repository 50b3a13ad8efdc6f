package wf

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Causes that end a run's context.
var (
	errLost     = errors.New("wf: the instance was taken away: terminated, restarted, or leased to another run")
	errShutdown = errors.New("wf: the process shuts down")
	errOver     = fmt.Errorf("%w: nothing runs after its end", ErrSuspended)
)

// retryPause is the pause after which a write is repeated that did not reach the store.
const retryPause = 100 * time.Millisecond

// A run is one pass over a workflow's code: it replays what is stored and executes what is not. It
// ends in one of four ways: finished, suspended, lost, or, when the store can't be reached any more,
// given up.
type run struct {
	engine   *Engine
	store    protocol.Store
	log      *slog.Logger
	instance protocol.Instance
	ctx      context.Context //nolint:containedctx // the run's own life, which outlives any call
	cancel   context.CancelCauseFunc
	deadline time.Time // no new step begins after it; zero is never
	now      func() time.Time

	mu       sync.Mutex
	stored   map[stepKey]*storedStep
	counts   map[nameKey]int
	events   []protocol.Event
	nextSeq  int
	live     bool // a step has executed in this pass: what follows is no replay
	threads  int  // goroutines that the run knows of: the workflow's own and those of Go
	blocked  int  // of these, how many wait for something that no step will bring about now
	active   int  // steps executing
	waits    []protocol.Wait
	pausing  bool
	draining bool          // the budget is used up: hand over when nothing executes any more
	stepped  bool          // this run has stored a step of its own
	over     bool          // no step may begin or commit any more
	ended    chan struct{} // closed with over
	end      string        // suspended, lost, shutdown
	warning  map[string]any
	fault    error          // what the store refused
	calls    int            // of steps that are functions, in this pass
	limit    int            // for calls
	endGroup sync.WaitGroup // the write that ends the run
	warned   sync.WaitGroup // warnings on their way, which the end of the lease would keep from being stored
}

type nameKey struct{ kind, name string }

type stepKey struct {
	nameKey
	occurrence int
}

// A storedStep is a row as loaded, and whether this pass has come to it.
type storedStep struct {
	protocol.Step
	reached bool
}

// Ways in which a run ends before its workflow does.
const (
	endSuspended = "suspended"
	endLost      = "lost"
	endShutdown  = "shutdown"
	endStalled   = "stalled"
	endRefused   = "refused"
)

func (e *Engine) newRun(ctx context.Context, got protocol.Acquired, budget time.Duration) *run {
	ctx, cancel := context.WithCancelCause(ctx)
	started := time.Now()
	r := &run{
		engine: e, store: e.store, instance: got.Instance, ctx: ctx, cancel: cancel,
		log:    e.log.With("binding", got.Instance.Binding, "instance", got.Instance.ID, "run", got.Instance.Runs),
		stored: map[stepKey]*storedStep{}, counts: map[nameKey]int{}, events: got.Events,
		threads: 1, ended: make(chan struct{}), pausing: got.Instance.PauseRequested != nil,
		// The store's clock, carried on by this process's monotonic one.
		now: func() time.Time { return got.Now.Add(time.Since(started)) },
	}
	if kit := e.cfg.kit.Now; kit != nil {
		r.now = kit
	}
	if budget > 0 {
		r.deadline = started.Add(budget)
	}
	for _, s := range got.Steps {
		key := stepKey{nameKey{s.Kind, s.Name}, s.Occurrence}
		r.stored[key] = &storedStep{Step: s}
		r.nextSeq = max(r.nextSeq, s.Seq)
	}
	r.live = len(r.stored) == 0
	return r
}

// identify gives a call of a step its identity, in call order.
func (r *run) identify(kind, name string) (stepKey, *storedStep) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[nameKey{kind, name}]++
	if kind == protocol.KindDo {
		r.calls++
	}
	key := stepKey{nameKey{kind, name}, r.counts[nameKey{kind, name}]}
	row := r.stored[key]
	if row != nil {
		row.reached = true
	}
	return key, row
}

// withinLimit refuses the steps of a pass that calls too many.
func (r *run) withinLimit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit > 0 && r.calls > r.limit {
		return fmt.Errorf("%w: the limit of %d steps has been reached; StepLimit raises it", ErrStepLimit, r.limit)
	}
	return nil
}

// enter lets a step begin that is not stored as done, or says why it may not. However short the
// budget, a run may take one step, so that every run gets further.
func (r *run) enter(key stepKey, row *storedStep) error {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return errOver
	}
	if !r.deadline.IsZero() && r.stepped && time.Now().After(r.deadline) {
		r.draining = true
	}
	if r.pausing || r.draining {
		r.settleLocked()
		r.mu.Unlock()
		<-r.ended // steps that execute beside this one finish first
		return errOver
	}
	defer r.mu.Unlock()
	if err := r.checkOrderLocked(key, row); err != nil {
		return err
	}
	r.active++
	return nil
}

// leave ends what enter began.
func (r *run) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.settleLocked()
}

// park makes the calling goroutine wait for something that only another run will see.
func (r *run) park(w protocol.Wait) error {
	r.mu.Lock()
	r.waits = append(r.waits, w)
	r.blocked++
	r.active--
	r.settleLocked()
	r.mu.Unlock()
	<-r.ended
	return errOver
}

// settleLocked suspends the run once nothing moves any more.
func (r *run) settleLocked() {
	if r.over || r.active > 0 {
		return
	}
	switch {
	case r.draining, r.pausing && r.blocked < r.threads:
		// Somebody would go on: at once, should the pause be taken back before it comes about.
		r.suspendLocked(nil)
	case r.pausing, len(r.waits) > 0 && r.blocked >= r.threads:
		r.suspendLocked(r.waits)
	}
}

// suspendLocked ends the run and gives the instance back: with waits until the first of them ends,
// without, to go on at once.
func (r *run) suspendLocked(waits []protocol.Wait) {
	if r.over {
		return
	}
	r.endLocked(endSuspended, nil)
	r.endGroup.Go(func() {
		r.warned.Wait()
		_, err := r.write(func(ctx context.Context) (protocol.Ack, error) {
			return r.store.Suspend(ctx, r.instance.ID, r.instance.Fence, waits)
		})
		if err != nil {
			r.log.Warn("the run could not suspend; its lease runs out", "error", err)
		}
	})
}

// endLocked lets no step begin or commit any more. With a cause, running functions are cancelled.
func (r *run) endLocked(how string, cause error) {
	if r.over {
		return
	}
	r.over, r.end = true, how
	close(r.ended)
	if cause != nil {
		r.cancel(cause)
	}
}

func (r *run) stop(how string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked(how, cause)
}

// heard takes the answer to a fenced write.
func (r *run) heard(ack protocol.Ack) error {
	if !ack.OK {
		r.stop(endLost, errLost)
		return errOver
	}
	if ack.Pause {
		r.mu.Lock()
		r.pausing = true
		r.mu.Unlock()
	}
	return nil
}

// write makes a fenced write and repeats it while the store is not reached, for as long as the lease
// can last.
func (r *run) write(do func(context.Context) (protocol.Ack, error)) (protocol.Ack, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), protocol.LeaseTTL)
	defer cancel()
	return persist(ctx, do)
}

// persist calls the store again and again while it is not reached, until ctx ends.
func persist[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	for {
		answer, err := do(ctx)
		if err == nil || ctx.Err() != nil || !unreachable(err) {
			return answer, err
		}
		timer := time.NewTimer(retryPause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// commit writes a step that is done, unless the run is over. One that only hands its instance over has
// it still: what is done is stored.
func (r *run) commit(w protocol.StepWrite) error {
	_, err := r.commitNew(w)
	return err
}

// commitNew is commit, and says whether the store did not know before that the step is done.
func (r *run) commitNew(w protocol.StepWrite) (bool, error) {
	r.mu.Lock()
	over := r.over && r.end != endSuspended && r.end != endShutdown
	r.mu.Unlock()
	if over {
		return false, errOver
	}
	w = r.addressed(w, true)
	ack, err := r.write(func(ctx context.Context) (protocol.Ack, error) { return r.store.Commit(ctx, w) })
	if err != nil {
		return false, r.unstored(w.Step.Name, err)
	}
	return !ack.Repeated, r.committed(ack)
}

// addressed is w as a write of this run.
func (r *run) addressed(w protocol.StepWrite, done bool) protocol.StepWrite {
	w.Instance, w.Incarnation, w.Owner, w.Fence = r.instance.ID, r.instance.Incarnation, r.instance.Owner, r.instance.Fence
	if w.Done = done; done {
		now := r.now()
		w.FinishedAt = &now
	}
	return w
}

// committed takes the answer to a commit.
func (r *run) committed(ack protocol.Ack) error {
	if err := r.heard(ack); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.stepped = true, true
	return nil
}

// unstored ends the run over a step that could not be stored: because the store was not reached, does
// not let this process in, or lacks the schema; or because it refuses the step itself, which it would
// do again in every run.
func (r *run) unstored(step string, err error) error {
	err = fmt.Errorf("store step %q: %w", step, err)
	if unreachable(err) || errors.Is(err, context.DeadlineExceeded) || surreal.IsAuth(err) || surreal.IsNotFound(err) {
		r.log.Warn("a step could not be stored; another run will come to it again", "step", step, "error", err)
		r.stop(endLost, fmt.Errorf("%w: %w", errLost, err))
		return errors.Join(errOver, err)
	}
	r.log.Error("the database refuses a step; the instance ends as errored", "step", step, "error", err)
	r.mu.Lock()
	r.fault = &fatalError{err}
	r.endLocked(endRefused, errLost)
	r.mu.Unlock()
	return errors.Join(errOver, err)
}

// begin writes a step that is not done yet.
func (r *run) begin(s protocol.Step) error {
	w := r.addressed(protocol.StepWrite{Step: s}, false)
	ack, err := r.write(func(ctx context.Context) (protocol.Ack, error) { return r.store.Begin(ctx, w) })
	if err != nil {
		return r.unstored(s.Name, err)
	}
	return r.heard(ack)
}

func (r *run) seq(row *storedStep) int {
	if row != nil {
		return row.Seq
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextSeq++
	return r.nextSeq
}

// heartbeat renews the lease until ctx ends, and at once whenever somebody asks by look.
func (r *run) heartbeat(ctx context.Context, look <-chan struct{}) {
	ticker := time.NewTicker(protocol.RenewEvery)
	defer ticker.Stop()
	kept := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-look:
			look = nil // once is enough
		}
		call, cancel := context.WithTimeout(ctx, protocol.RenewEvery)
		ack, err := r.store.Renew(call, r.instance.ID, r.instance.Fence)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			kept = time.Now()
			if r.heard(ack) != nil {
				return
			}
		case time.Since(kept) > protocol.LeaseTTL:
			r.stop(endLost, fmt.Errorf("%w: no heartbeat reached the store: %w", errLost, err))
			return
		}
	}
}

// execute runs the workflow's code to its end, or to the run's.
func (r *run) execute(code func(context.Context, *Step) (any, error)) (any, error) {
	ctx := context.WithValue(r.ctx, stepContext{}, stepInfo{log: r.log})
	return capture(func() (any, error) { return code(ctx, &Step{run: r}) })
}

func newToken() string { return rand.Text() }

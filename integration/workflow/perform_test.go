package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"sp00ky.cloud/spky/wf"
)

// A stage is where the workflow of one case is performed: what its functions saw, whatever process
// called them, and the latches that hold them.
type stage struct {
	c       conformance
	binding string

	mu      sync.Mutex
	seen    map[string][]int
	ended   map[string]bool
	counts  map[string]int
	latches map[string]chan struct{}
	calls   int               // of all functions
	came    map[string]string // what each step came to, as the workflow saw it
	faults  []string          // steps that came to two things
}

func newStage(c conformance, binding string) *stage {
	return &stage{c: c, binding: binding, seen: map[string][]int{}, ended: map[string]bool{}, counts: map[string]int{}, latches: map[string]chan struct{}{}, came: map[string]string{}}
}

// notice checks that a step comes to the same in every run, once it has come to something.
func (s *stage) notice(key string, value any, err error) {
	if errors.Is(err, wf.ErrSuspended) {
		return
	}
	saw := fmt.Sprintf("%v (%v)", value, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.came[key]; ok && was != saw {
		s.faults = append(s.faults, fmt.Sprintf("%s came to %s, then to %s", key, was, saw))
	}
	s.came[key] = saw
}

func (s *stage) register(e *wf.Engine) *wf.Workflow[any] {
	var opts []wf.RegisterOption
	if s.c.StepLimit > 0 {
		opts = append(opts, wf.StepLimit(s.c.StepLimit))
	}
	return wf.Register(e, s.binding, s.run, opts...)
}

func (s *stage) latch(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latches[name] == nil {
		s.latches[name] = make(chan struct{})
	}
	return s.latches[name]
}

// A pass is one run over the case's workflow.
type pass struct {
	*stage
	ctx  context.Context
	step *wf.Step

	mu     sync.Mutex
	vars   map[string]any
	counts map[string]int // of steps, as the engine counts
}

// errReturn carries a workflow's result out of its ops.
type errReturn struct{ value any }

func (errReturn) Error() string { return "returned" }

func (s *stage) run(ctx context.Context, ev wf.Event[any], step *wf.Step) (any, error) {
	p := &pass{stage: s, ctx: ctx, step: step, counts: map[string]int{}, vars: map[string]any{
		"params": ev.Payload, "instanceId": ev.InstanceID, "workflowName": ev.WorkflowName, "start": ev.Timestamp,
	}}
	err := p.perform(s.c.Workflow)
	var returned errReturn
	if errors.As(err, &returned) {
		return returned.value, nil
	}
	return nil, err
}

func (p *pass) perform(ops []op) error {
	for _, o := range ops {
		if err := p.one(o); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) one(o op) error {
	switch {
	case o.Do != nil:
		return p.settle(o)(p.do(o))
	case o.Sleep != nil:
		return p.settle(o)(nil, p.sleep(o))
	case o.SleepUntil != nil:
		return p.settle(o)(nil, p.step.SleepUntil(p.ctx, *o.SleepUntil, p.vars["start"].(time.Time).Add(time.Duration(o.FromStart)*time.Millisecond)))
	case o.Wait != nil:
		return p.settle(o)(p.wait(o))
	case o.All != nil:
		return p.all(o.All)
	case o.Branches != nil:
		return p.branches(o.Branches)
	case o.Count != "":
		p.stage.mu.Lock()
		defer p.stage.mu.Unlock()
		p.stage.counts[o.Count]++
		return nil
	case o.Throw != nil:
		return errors.New(*o.Throw)
	case o.Rethrow != "":
		return p.vars[o.Rethrow+" itself"].(error)
	case o.Return != nil:
		return errReturn{p.value(*o.Return, nil)}
	}
	return fmt.Errorf("unknown statement %+v", o)
}

// settle keeps a step's result, or the error that the op catches.
func (p *pass) settle(o op) func(any, error) error {
	return func(value any, err error) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if o.As != "" {
			p.vars[o.As] = value
		}
		if err == nil || o.Caught == "" || errors.Is(err, wf.ErrSuspended) {
			return err
		}
		p.vars[o.Caught] = map[string]any{"name": errorName(err), "message": err.Error()}
		p.vars[o.Caught+" itself"] = err
		return nil
	}
}

// errorName is the name that an error has for a workflow that caught it.
func errorName(err error) string {
	var failed *wf.StepError
	switch {
	case errors.As(err, &failed):
		return failed.Name
	case errors.Is(err, wf.ErrName), errors.Is(err, wf.ErrConfig):
		return "WorkflowFatalError"
	}
	return "Error"
}

func (p *pass) do(o op) (any, error) {
	w, err := p.prepare(o)
	if err != nil {
		return nil, err
	}
	value, err := wf.Do(p.ctx, p.step, w.name, w.fn, w.opts...)
	p.notice(w.key, value, err)
	return value, err
}

// A prepared step has what [wf.Do] needs.
type prepared struct {
	key, name string
	fn        func(context.Context) (any, error)
	opts      []wf.Option
}

func (p *pass) prepare(o op) (prepared, error) {
	name := fmt.Sprint(plain(o.Do))
	p.mu.Lock()
	p.counts["do "+name]++
	key := fmt.Sprintf("do %s #%d", name, p.counts["do "+name])
	p.mu.Unlock()
	opts, err := options(o.Config)
	return prepared{key: key, name: name, opts: opts, fn: func(ctx context.Context) (any, error) { return p.call(ctx, key, o.Calls) }}, err
}

func options(c *opConfig) ([]wf.Option, error) {
	if c == nil {
		return nil, nil
	}
	var opts []wf.Option
	if c.Retries != nil {
		delay, err := duration(c.Retries.Delay)
		if err != nil {
			return nil, err
		}
		backoff := wf.Exponential
		if c.Retries.Backoff != "" {
			backoff = wf.Backoff(c.Retries.Backoff)
		}
		opts = append(opts, wf.Retry(c.Retries.Limit, delay, backoff))
	}
	if c.Timeout != nil {
		timeout, err := duration(c.Timeout)
		if err != nil {
			return nil, err
		}
		opts = append(opts, wf.Timeout(timeout))
	}
	return opts, nil
}

// duration is a number of milliseconds or a text.
func duration(v any) (time.Duration, error) {
	if text, ok := v.(string); ok {
		return wf.ParseDuration(text)
	}
	ms, _ := v.(float64)
	return time.Duration(ms) * time.Millisecond, nil
}

// call is a step's function.
func (p *pass) call(ctx context.Context, key string, calls []behavior) (any, error) {
	attempt := wf.Attempt(ctx)
	p.stage.mu.Lock()
	p.stage.seen[key] = append(p.stage.seen[key], attempt)
	p.stage.calls++
	number := p.stage.calls
	p.stage.mu.Unlock()
	b := calls[min(attempt, len(calls))-1]
	if err := p.hold(ctx, key, b); err != nil {
		return nil, err
	}
	switch {
	case b.Throw != nil:
		return nil, errors.New(*b.Throw)
	case b.NonRetryable != nil:
		return nil, wf.NonRetryable(errors.New(*b.NonRetryable))
	}
	return p.value(b.Return, map[string]any{"attempt": attempt, "call": number}), nil
}

// hold waits for whatever the behavior waits for.
func (p *pass) hold(ctx context.Context, key string, b behavior) error {
	var free <-chan struct{}
	switch {
	case b.Deaf > 0:
		<-after(context.Background(), b.Deaf)
		return nil
	case b.After > 0:
		free = after(ctx, b.After)
	case b.Latch != "":
		free = p.latch(b.Latch)
	case !b.Hang:
		return nil
	}
	select {
	case <-free:
	case <-ctx.Done():
	}
	p.stage.mu.Lock()
	defer p.stage.mu.Unlock()
	p.stage.ended[key] = true
	return ctx.Err()
}

// after is closed after so many milliseconds, or when ctx ends.
func after(ctx context.Context, ms int64) <-chan struct{} {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

func (p *pass) sleep(o op) error {
	d, err := duration(o.For)
	if err != nil {
		return err
	}
	return p.step.Sleep(p.ctx, *o.Sleep, d)
}

func (p *pass) wait(o op) (any, error) {
	var opts []wf.Option
	if o.Timeout != nil {
		d, err := duration(o.Timeout)
		if err != nil {
			return nil, err
		}
		opts = append(opts, wf.Timeout(d))
	}
	got, err := wf.WaitForEvent[any](p.ctx, p.step, *o.Wait, o.Type, opts...)
	return map[string]any{"type": got.Type, "payload": got.Payload}, err
}

// all starts steps one after the other and lets them run side by side.
func (p *pass) all(ops []op) error {
	futures, keys := make([]*wf.Future[any], len(ops)), make([]string, len(ops))
	for i, o := range ops {
		w, err := p.prepare(o)
		if err != nil {
			return err
		}
		futures[i], keys[i] = wf.Go(p.ctx, p.step, w.name, w.fn, w.opts...), w.key
	}
	var first error
	for i, o := range ops {
		value, err := futures[i].Wait()
		p.notice(keys[i], value, err)
		if err := p.settle(o)(value, err); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (p *pass) branches(branches [][]op) error {
	futures := make([]*wf.Future[any], len(branches))
	for i, ops := range branches {
		futures[i] = wf.Branch(p.ctx, p.step, func(context.Context, *wf.Step) (any, error) { return nil, p.perform(ops) })
	}
	var first error
	for _, future := range futures {
		if _, err := future.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// value evaluates an expression.
func (p *pass) value(raw json.RawMessage, step map[string]any) any {
	if raw == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return evaluate(v, func(key string, arg any) (any, bool) {
		switch key {
		case "$var":
			return lookUp(p.vars, arg.(string)), true
		case "$step":
			return step[arg.(string)], true
		case "$string":
			return plain(map[string]any{key: arg}), true
		case "$unserialisable":
			return math.NaN(), true
		}
		return nil, false
	})
}

// plain evaluates an expression without variables.
func plain(v any) any {
	return evaluate(v, func(key string, arg any) (any, bool) {
		if key == "$string" {
			return strings.Repeat("a", int(arg.(float64))), true
		}
		return nil, false
	})
}

// evaluate replaces each object of one key that starts with $ by what it stands for.
func evaluate(v any, stands func(key string, arg any) (any, bool)) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = evaluate(item, stands)
		}
		return out
	case map[string]any:
		if len(v) == 1 {
			for key := range maps.Keys(v) {
				if value, ok := stands(key, v[key]); ok {
					return value
				}
			}
		}
		out := map[string]any{}
		for key, item := range v {
			out[key] = evaluate(item, stands)
		}
		return out
	}
	return v
}

func lookUp(vars map[string]any, path string) any {
	var v any = vars
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

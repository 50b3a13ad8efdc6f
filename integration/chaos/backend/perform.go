package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/wf"
)

// params of the scripted workflow.
type params struct {
	Ops []plan.Op `json:"ops"`
}

// A made is the result of a step: the value that the plan wants, and the pass that made it.
type made struct {
	V    int    `json:"v"`
	Pass string `json:"pass"`
	Lost bool   `json:"lost,omitempty"` // a step that must not be called twice and may have been called
}

// A performance is one pass over the script.
type performance struct {
	*process
	step     *wf.Step
	instance string
	pass     string
}

// perform plays the script: each operation's outcome is an element of the output.
func (p *process) perform(ctx context.Context, ev wf.Event[params], s *wf.Step) ([]any, error) {
	perf := &performance{process: p, step: s, instance: ev.InstanceID, pass: p.nonce()}
	p.journal.Write(journal.Entry{What: journal.Pass, Instance: ev.InstanceID, Nonce: perf.pass})
	saw := make([]any, len(ev.Payload.Ops))
	for n, op := range ev.Payload.Ops {
		got, err := perf.play(ctx, fmt.Sprintf("s%d", n), fmt.Sprintf("e%d", n), op)
		if err != nil {
			return nil, err
		}
		saw[n] = got
	}
	return saw, nil
}

func (p *performance) play(ctx context.Context, name, event string, op plan.Op) (any, error) {
	switch op.Op {
	case plan.OpDo, plan.OpLate:
		return wf.Do(ctx, p.step, name, p.function(name, op), wf.Retry(60, 150*time.Millisecond, wf.Constant), p.limit(op))
	case plan.OpOnce:
		return p.once(ctx, name, op)
	case plan.OpQuery:
		return wf.Query[made](ctx, p.step, name, countBlock, map[string]any{"instance": p.instance, "step": name, "v": op.V, "pass": p.pass},
			wf.Retry(60, 150*time.Millisecond, wf.Constant))
	case plan.OpPar:
		return p.sideBySide(ctx, name, op)
	case plan.OpSleep:
		return nil, p.step.Sleep(ctx, name, time.Duration(op.MS)*time.Millisecond)
	case plan.OpEvent:
		got, err := wf.WaitForEvent[int](ctx, p.step, name, event)
		return got.Payload, err
	case plan.OpTimeout:
		_, err := wf.WaitForEvent[int](ctx, p.step, name, event, wf.Timeout(time.Duration(op.MS)*time.Millisecond))
		if errors.Is(err, wf.ErrTimeout) {
			return "timeout", nil
		}
		return nil, errors.Join(err, errors.New("an event that nobody sent"))
	case plan.OpDeny:
		return wf.Do(ctx, p.step, name, func(context.Context) (any, error) {
			p.called(name, 1)
			return nil, wf.NonRetryable(fmt.Errorf("denied %d", op.V))
		})
	}
	return nil, wf.NonRetryable(fmt.Errorf("no operation is called %q", op.Op))
}

// countBlock counts how often it was executed.
const countBlock = `UPSERT type::record('chaos_count', [$instance, $step]) SET n += 1 RETURN NONE;
RETURN { v: $v, pass: $pass }`

// limit cuts the first attempt of a late step short.
func (p *performance) limit(op plan.Op) wf.Option {
	if op.Op == plan.OpLate {
		return wf.Timeout(400 * time.Millisecond)
	}
	return wf.Timeout(time.Minute)
}

func (p *performance) called(name string, attempt int) {
	p.journal.Write(journal.Entry{What: journal.Call, Instance: p.instance, Step: name, Attempt: attempt, Nonce: p.pass})
}

// function is what a step calls.
func (p *performance) function(name string, op plan.Op) func(context.Context) (made, error) {
	return func(ctx context.Context) (made, error) {
		attempt := wf.Attempt(ctx)
		p.called(name, attempt)
		work := time.Duration(op.WorkMS) * time.Millisecond
		if op.Op == plan.OpLate && attempt == 1 {
			work = 5 * time.Second
		}
		if work > 0 && !p.pause(ctx, work) {
			return made{}, context.Cause(ctx)
		}
		if attempt <= op.Fails {
			return made{}, fmt.Errorf("attempt %d fails", attempt)
		}
		return made{V: op.V, Pass: p.pass}, nil
	}
}

// once makes a step that is not tried again.
func (p *performance) once(ctx context.Context, name string, op plan.Op) (any, error) {
	got, err := wf.Do(ctx, p.step, name, p.function(name, op), wf.Retry(0, 0, wf.Constant))
	if failed, ok := errors.AsType[*wf.StepError](err); ok && failed.Name == "AttemptLostError" {
		return made{V: op.V, Lost: true}, nil
	}
	return got, err
}

// sideBySide makes steps of one name at once, and a sleep beside them.
func (p *performance) sideBySide(ctx context.Context, name string, op plan.Op) (any, error) {
	nap := wf.Branch(ctx, p.step, func(ctx context.Context, s *wf.Step) (any, error) {
		return nil, s.Sleep(ctx, name, time.Duration(op.MS)*time.Millisecond)
	})
	steps := make([]*wf.Future[made], op.Width)
	for i := range steps {
		one := op
		one.V += i
		steps[i] = wf.Go(ctx, p.step, name, p.function(name, one), wf.Retry(60, 150*time.Millisecond, wf.Constant))
	}
	all := make([]made, op.Width)
	for i, step := range steps {
		got, err := step.Wait()
		if err != nil {
			return nil, err
		}
		all[i] = got
	}
	_, err := nap.Wait()
	return all, err
}

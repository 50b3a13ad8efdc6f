package wftest

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A Call is one attempt of a step.
type Call struct {
	// Name is the step's.
	Name string
	// Occurrence counts the steps of that name, Attempt the attempts of the step, both from 1.
	Occurrence, Attempt int
	// Statements and Vars are those of a [wf.Query].
	Statements string
	Vars       map[string]any
}

// A mock answers attempts of a step in its function's stead.
type mock struct {
	what       string
	step       string
	occurrence int // 0 is any
	attempt    int // 0 is any
	answer     func(context.Context, *driver, protocol.Call, func(context.Context) (any, error)) (any, error)
	used       bool
}

// An Only narrows which steps of a name are meant.
type Only func(*mock)

// Occurrence means the nth step of the name only, from 1, instead of all.
func Occurrence(n int) Only { return func(m *mock) { m.occurrence = n } }

func (p *plan) mock(m *mock, only []Only) {
	for _, o := range only {
		o(m)
	}
	if m.attempt < 0 || m.occurrence < 0 {
		p.fault("%s: attempts and occurrences count from 1", m.what)
	}
	p.mocks = append(p.mocks, m)
}

// Fail makes an attempt of the steps of a name, from 1, answer err without calling their function;
// attempt 0 is every attempt. Wrap err with [wf.NonRetryable] to fail the step at once.
func Fail(step string, attempt int, err error, only ...Only) Option {
	return func(p *plan) {
		if err == nil {
			p.fault("Fail(%q, %d): the error is nil", step, attempt)
			return
		}
		p.mock(&mock{
			what: fmt.Sprintf("Fail(%q, %d)", step, attempt), step: step, attempt: attempt,
			answer: func(context.Context, *driver, protocol.Call, func(context.Context) (any, error)) (any, error) {
				return nil, err
			},
		}, only)
	}
}

// TimeOut makes an attempt, from 1, last too long: its function is not called, and the attempt fails
// as one that reached its timeout.
func TimeOut(step string, attempt int, only ...Only) Option {
	return func(p *plan) {
		p.mock(&mock{
			what: fmt.Sprintf("TimeOut(%q, %d)", step, attempt), step: step, attempt: attempt,
			answer: func(_ context.Context, _ *driver, c protocol.Call, _ func(context.Context) (any, error)) (any, error) {
				return nil, fmt.Errorf("%w: execution timed out after %dms", wf.ErrTimeout, c.Timeout.Milliseconds())
			},
		}, only)
	}
}

// Crash lets an attempt, from 1, do its work and the process die before the result is stored: when the
// lease has run out, another process begins the next attempt, if the step has one left. Use it to see
// that a step may happen twice.
func Crash(step string, attempt int, only ...Only) Option {
	return func(p *plan) {
		p.mock(&mock{
			what: fmt.Sprintf("Crash(%q, %d)", step, attempt), step: step, attempt: attempt,
			answer: func(ctx context.Context, d *driver, c protocol.Call, fn func(context.Context) (any, error)) (any, error) {
				value, err := d.call(ctx, c, fn)
				d.note("the process crashes in attempt %d of %s", c.Attempt, label(protocol.KindDo, c.Name, c.Occurrence))
				d.store.Crash(d.plan.id)
				return value, err
			},
		}, only)
	}
}

// Stub makes the steps of a name, also those of [wf.Query], have a result without calling their
// function.
func Stub(step string, result any, only ...Only) Option {
	return stub(fmt.Sprintf("Stub(%q)", step), step, func(Call) (any, error) { return result, nil }, only)
}

// StubFunc is [Stub] with a function, which is called for each attempt, from several goroutines where
// steps are parallel.
func StubFunc(step string, fn func(Call) (any, error), only ...Only) Option {
	return stub(fmt.Sprintf("StubFunc(%q)", step), step, fn, only)
}

func stub(what, step string, fn func(Call) (any, error), only []Only) Option {
	return func(p *plan) {
		p.mock(&mock{
			what: what, step: step,
			answer: func(_ context.Context, _ *driver, c protocol.Call, _ func(context.Context) (any, error)) (any, error) {
				value, err := fn(Call{Name: c.Name, Occurrence: c.Occurrence, Attempt: c.Attempt, Statements: c.Statements, Vars: c.Vars})
				return protocol.Stub{Value: value}, err
			},
		}, only)
	}
}

// find is the mock for an attempt: one for that attempt before one for any.
func (p *plan) find(c protocol.Call) *mock {
	var found *mock
	for _, m := range p.mocks {
		if m.step != c.Name || m.occurrence != 0 && m.occurrence != c.Occurrence || m.attempt != 0 && m.attempt != c.Attempt {
			continue
		}
		if found == nil || found.attempt == 0 && m.attempt != 0 {
			found = m
		}
	}
	return found
}

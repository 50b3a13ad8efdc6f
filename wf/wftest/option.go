package wftest

import (
	"context"
	"fmt"
	"time"
)

// An Option says what happens to the workflow under test.
type Option func(*plan)

// Defaults of a plan.
const (
	defaultRuns     = 1000
	defaultPatience = 10 * time.Second
)

// A plan is what a test's options come to.
type plan struct {
	id, binding string
	start       time.Time
	ctx         context.Context //nolint:containedctx // handed on to the workflow
	runs        int
	patience    time.Duration
	replay      bool
	clocks      []*func() time.Time
	mocks       []*mock
	acts        []*act
	faults      []error
}

func newPlan(ctx context.Context, opts []Option) *plan {
	p := &plan{
		id: "test", binding: "TEST", start: time.Now().UTC().Truncate(time.Second), ctx: ctx,
		runs: defaultRuns, patience: defaultPatience, replay: true,
	}
	for _, opt := range opts {
		opt(p)
	}
	return p
}

func (p *plan) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

// ID is the instance's id. Defaults to "test".
func ID(id string) Option { return func(p *plan) { p.id = id } }

// Binding is the name that the workflow is registered under. Defaults to "TEST".
func Binding(name string) Option { return func(p *plan) { p.binding = name } }

// Start is what the virtual clock shows when the instance is created. Defaults to the present second.
func Start(at time.Time) Option { return func(p *plan) { p.start = at } }

// Clock sets a function variable to the virtual clock, for code that asks for the time through one
// instead of calling [time.Now].
func Clock(now *func() time.Time) Option { return func(p *plan) { p.clocks = append(p.clocks, now) } }

// Context gives the workflow's contexts their values, and ends the test when it ends. Defaults to the
// test's own.
func Context(ctx context.Context) Option { return func(p *plan) { p.ctx = ctx } }

// MaxRuns is how many runs the workflow may take to come to its end; one more fails the test. With
// forced replays every step is a run. Defaults to 1,000.
func MaxRuns(n int) Option { return func(p *plan) { p.runs = n } }

// Patience is how long, on the wall's clock, the workflow's code may go on without calling a step,
// returning, or having a step execute, before the test fails. Defaults to 10 s.
func Patience(d time.Duration) Option { return func(p *plan) { p.patience = d } }

// WithoutReplays lets a run go on after a step, as in production, where code is replayed only after
// a wait, a crash or a hand-over.
func WithoutReplays() Option { return func(p *plan) { p.replay = false } }

package wftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// label names a step in messages.
func label(kind, name string, occurrence int) string {
	if occurrence == 1 {
		return fmt.Sprintf("%s %q", kind, name)
	}
	return fmt.Sprintf("%s %q #%d", kind, name, occurrence)
}

// errReplayed keeps a replay from executing steps.
var errReplayed = errors.New("wftest: a replay of a finished workflow came to a step that is not stored")

// step stands before the function of every step.
func (d *driver) step(ctx context.Context, c protocol.Call, fn func(context.Context) (any, error)) (any, error) {
	name := label(protocol.KindDo, c.Name, c.Occurrence)
	d.count(name, 1)
	defer d.count(name, -1)
	d.during(c)
	if m := d.mocked(c); m != nil {
		return m.answer(ctx, d, c, fn)
	}
	return d.call(ctx, c, fn)
}

func (d *driver) mocked(c protocol.Call) *mock {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.plan.find(c)
	if m != nil {
		m.used = true
	}
	return m
}

// call calls a step's own function.
func (d *driver) call(ctx context.Context, c protocol.Call, fn func(context.Context) (any, error)) (any, error) {
	return d.exiting("the function of "+label(protocol.KindDo, c.Name, c.Occurrence), func() (any, error) { return fn(ctx) })
}

// count keeps the steps that execute.
func (d *driver) count(name string, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved = time.Now()
	d.executing[name] += by
	if d.executing[name] == 0 {
		delete(d.executing, name)
	}
	if len(d.executing) == 0 && d.quiet != nil {
		close(d.quiet)
		d.quiet = nil
	}
}

// idle is closed once no step executes.
func (d *driver) idle() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet == nil {
		d.quiet = make(chan struct{})
	}
	quiet := d.quiet
	if len(d.executing) == 0 {
		close(d.quiet)
		d.quiet = nil
	}
	return quiet
}

// executes names the steps that execute.
func (d *driver) executes() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.executing {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// stray stands in the place of step in replays of the finished workflow: it notes the step, and does
// not execute it.
func (d *driver) stray(_ context.Context, c protocol.Call, _ func(context.Context) (any, error)) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strays = append(d.strays, label(protocol.KindDo, c.Name, c.Occurrence))
	return nil, wf.NonRetryable(errReplayed)
}

func (d *driver) strayed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.strays) == 0 {
		return ""
	}
	return fmt.Sprintf("\nwhen it wanted to execute %s", strings.Join(d.strays, ", "))
}

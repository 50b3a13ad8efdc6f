package wf

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// eventType is the form of an event's type.
var eventType = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$`)

// Sleep makes the workflow wait. The instance sleeps in the database: nothing runs, no request is
// open, and it may sleep for up to 365 days, across crashes and deploys. Zero or less returns at once.
func (s *Step) Sleep(ctx context.Context, name string, d time.Duration) error {
	return s.run.sleep(ctx, name, func(now time.Time) time.Time { return now.Add(d) }, d)
}

// SleepUntil is Sleep until a moment. One that has passed returns at once.
func (s *Step) SleepUntil(ctx context.Context, name string, at time.Time) error {
	return s.run.sleep(ctx, name, func(time.Time) time.Time { return at }, at.Sub(s.run.now()))
}

func (r *run) sleep(ctx context.Context, name string, until func(now time.Time) time.Time, d time.Duration) error {
	if err := errors.Join(checkName(name), outside(ctx, name)); err != nil {
		return err
	}
	key, row := r.identify(protocol.KindSleep, name)
	if row != nil && row.Done() {
		return nil
	}
	if d > protocol.MaxSleep {
		return fmt.Errorf("%w: sleep %q of %s; at most 365 days", ErrConfig, name, d)
	}
	if row == nil && d <= 0 {
		return nil
	}
	if err := r.enter(key, row); err != nil {
		return err
	}
	step := r.waitRow(key, row, until)
	if !step.WakeAt.After(r.now()) {
		step.Status = protocol.StepComplete
		return r.leaveDone(key, r.commit(protocol.StepWrite{Step: step}))
	}
	if row == nil {
		if err := r.begin(step); err != nil {
			r.leave()
			return err
		}
	}
	return r.park(protocol.Wait{Kind: "sleep", Name: name, WakeAt: *step.WakeAt})
}

func (r *run) waitRow(key stepKey, row *storedStep, until func(time.Time) time.Time) protocol.Step {
	if row != nil {
		return row.Step
	}
	now := r.now()
	at := until(now)
	return protocol.Step{
		Seq: r.seq(nil), Kind: key.kind, Name: key.name, Occurrence: key.occurrence,
		Status: protocol.StepWaiting, WakeAt: &at, StartedAt: now,
	}
}

// A Received is an event that a workflow waited for.
type Received[T any] struct {
	// Type is the type that was waited for.
	Type string
	// Payload is what was sent with it.
	Payload T
	// Timestamp is when it was sent, by the database's clock.
	Timestamp time.Time
}

// WaitForEvent waits for an event of a type, sent with SendEvent. Events are kept in order from the
// instance's creation on, and each satisfies one wait. After [Timeout], 24 hours by default, the
// error is [ErrTimeout], stored like any step's; an event sent before the deadline still wins over a
// deadline that passed while nothing ran.
//
// An event whose payload does not decode into T makes the step fail, and is used up by it: a retry of the
// instance waits for another.
func WaitForEvent[T any](ctx context.Context, s *Step, name, typ string, opts ...Option) (Received[T], error) {
	payload := func(event protocol.Event) (T, error) {
		return decode[T](fmt.Sprintf("payload of event %q", typ), event.Payload)
	}
	event, err := s.run.waitForEvent(ctx, name, typ, opts, func(event protocol.Event) error { _, err := payload(event); return err })
	if err != nil {
		return Received[T]{}, err
	}
	value, err := payload(event)
	return Received[T]{Type: event.Type, Payload: value, Timestamp: event.SentAt}, err
}

func (r *run) waitForEvent(ctx context.Context, name, typ string, opts []Option, check func(protocol.Event) error) (protocol.Event, error) {
	if err := errors.Join(checkName(name), outside(ctx, name)); err != nil {
		return protocol.Event{}, err
	}
	if !eventType.MatchString(typ) {
		return protocol.Event{}, fmt.Errorf("%w: event type %q; 1 to 100 letters, digits, _ and -", ErrName, typ)
	}
	o, err := build(opts)
	if err != nil {
		return protocol.Event{}, fmt.Errorf("wait %q: %w", name, err)
	}
	if !o.timed {
		o.timeout = defaultEventTimeout
	}
	if o.timeout > protocol.MaxSleep {
		return protocol.Event{}, fmt.Errorf("%w: wait %q of %s; at most 365 days", ErrConfig, name, o.timeout)
	}
	key, row := r.identify(protocol.KindEvent, name)
	if row != nil && row.Done() {
		return receivedEvent(row.Step)
	}
	if err := r.enter(key, row); err != nil {
		return protocol.Event{}, err
	}
	return r.await(key, row, typ, o.timeout, check)
}

// await takes an event that is there, gives up at the deadline, or parks the run.
func (r *run) await(key stepKey, row *storedStep, typ string, timeout time.Duration, check func(protocol.Event) error) (protocol.Event, error) {
	step := r.waitRow(key, row, func(now time.Time) time.Time { return now.Add(timeout) })
	if event, ok := r.takeEvent(typ, *step.WakeAt); ok {
		if err := check(event); err != nil {
			return protocol.Event{}, r.failWait(key, step, stored(err), event.Number)
		}
		step.Status = protocol.StepComplete
		step.Output = map[string]any{"type": event.Type, "payload": event.Payload, "timestamp": event.SentAt.UTC().Format(time.RFC3339Nano)}
		return event, r.leaveDone(key, r.commit(protocol.StepWrite{Step: step, Event: event.Number}))
	}
	if !step.WakeAt.After(r.now()) {
		late := &protocol.Error{Name: nameTimeout, Message: fmt.Sprintf("execution timed out after %dms", timeout.Milliseconds())}
		return protocol.Event{}, r.failWait(key, step, late, 0)
	}
	if row == nil {
		if err := r.begin(step); err != nil {
			r.leave()
			return protocol.Event{}, err
		}
	}
	return protocol.Event{}, r.park(protocol.Wait{Kind: "event", Name: key.name, WakeAt: *step.WakeAt, Types: []string{typ}})
}

// failWait ends a wait with an error, and gives it as the step's.
func (r *run) failWait(key stepKey, step protocol.Step, why *protocol.Error, event int) error {
	step.Status, step.Error = protocol.StepErrored, why
	if err := r.leaveDone(key, r.commit(protocol.StepWrite{Step: step, Event: event})); err != nil {
		return err
	}
	return loaded(key.name, step.Error)
}

// takeEvent takes the oldest event of a type out of those that no step has consumed.
func (r *run) takeEvent(typ string, deadline time.Time) (protocol.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, event := range r.events {
		if event.Type == typ && !event.SentAt.After(deadline) {
			r.events = append(r.events[:i:i], r.events[i+1:]...)
			return event, true
		}
	}
	return protocol.Event{}, false
}

func receivedEvent(s protocol.Step) (protocol.Event, error) {
	if s.Status == protocol.StepErrored {
		return protocol.Event{}, loaded(s.Name, s.Error)
	}
	out, _ := s.Output.(map[string]any)
	event := protocol.Event{Payload: out["payload"]}
	event.Type, _ = out["type"].(string)
	text, _ := out["timestamp"].(string)
	event.SentAt, _ = time.Parse(time.RFC3339Nano, text) // written by await
	return event, nil
}

package surreal

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Event is one change a live query reports. It is a hint that the record changed: notifications overtake each other
// and can be lost, so read the record before acting on it.
type Event struct {
	// Action is CREATE, UPDATE or DELETE.
	Action string
	// Record is the record that changed.
	Record RecordID
	// Result is what the live query selects of the record, undecoded.
	Result cbor.RawMessage

	fields *fieldCache
}

// Decode decodes what the live query selected, as [Unmarshal] does.
func (e Event) Decode(into any) error { return Result{e.Result, e.fields}.Decode(into) }

// LiveConfig is a live query.
type LiveConfig struct {
	// Statement is one LIVE SELECT. Its parameters are fixed when it is registered.
	Statement string
	// Vars are the statement's parameters.
	Vars map[string]any
	// Table is the statement's. Where it is named the client calls [Client.ForgetListeners] for it some times within a
	// second after the registration, and again after [Live.Close]: a subscription to a table that is written to
	// meanwhile would be deaf at times, or not go away. Defaults to leaving that alone.
	Table string
	// Buffer is how many distinct records may wait to be taken; events of further records are dropped and reported
	// as an overflow. Defaults to 65,536.
	Buffer int
}

const defaultBuffer = 65536

// Live is a registered live query. It lives on the connection it was registered on and ends with it: nothing is
// registered again or replayed by itself. The connection never waits for its consumer. All methods may be called from
// any goroutine.
type Live struct {
	id        [16]byte
	transport *transport
	buffer    int
	fields    *fieldCache
	changed   func() // tells of its coming and going
	signal    chan struct{}
	ended     chan struct{} // closed with err set

	mu       sync.Mutex
	waiting  []waitingEvent
	place    map[string]int // undecoded record id → index in waiting
	overflow bool
	err      error
}

type waitingEvent struct {
	action         string
	record, result []byte
}

func newLive(t *transport, buffer int) *Live {
	if buffer <= 0 {
		buffer = defaultBuffer
	}
	live := &Live{
		transport: t, buffer: buffer, signal: make(chan struct{}, 1), ended: make(chan struct{}), place: make(map[string]int),
		changed: func() {},
	}
	if t != nil {
		live.fields = &t.pools.fields
	}
	return live
}

// C receives a value when events wait to be taken and when the subscription has ended. One value may stand for many
// events.
func (l *Live) C() <-chan struct{} { return l.signal }

// Take returns all events that wait, by the time at which each record was first heard of; of several events of one
// record the latest. overflow reports that events were lost since the last Take because too many records waited: look
// at everything again. It never blocks. After the end it returns what came before.
func (l *Live) Take() (events []Event, overflow bool) {
	l.mu.Lock()
	waiting := l.waiting
	overflow, l.overflow = l.overflow, false
	if len(waiting) > 0 {
		l.waiting, l.place = nil, make(map[string]int, min(len(waiting), 64))
	}
	l.mu.Unlock()
	events = make([]Event, 0, len(waiting))
	for _, w := range waiting {
		event := Event{Action: w.action, Result: w.result, fields: l.fields}
		if len(w.record) > 0 && unmarshal(w.record, &event.Record, l.fields) != nil {
			overflow = true // something changed that can't be named
			continue
		}
		events = append(events, event)
	}
	return events, overflow
}

// Err is nil while the subscription lives, then [ErrDisconnected], [ErrKilled] or [ErrClosed].
func (l *Live) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the subscription here, and on the server as far as it can be reached within ctx.
func (l *Live) Close(ctx context.Context) {
	alive := l.transport.feeds.remove(l.id)
	l.end(ErrClosed)
	if alive == nil {
		return
	}
	if _, err := l.transport.call(ctx, "kill", UUID{UUID: l.id}); err != nil {
		l.transport.log.Debug("kill live query", "error", err)
	}
	l.changed()
}

func (l *Live) end(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
		close(l.ended)
	}
	l.mu.Unlock()
	l.wake()
}

func (l *Live) wake() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// add keeps the event, or replaces the record's last one with it. Its bytes are not shared with anybody.
func (l *Live) add(w waitingEvent) {
	l.mu.Lock()
	at, known := l.place[string(w.record)]
	switch {
	case known && len(w.record) > 0:
		l.waiting[at] = w
	case len(l.waiting) >= l.buffer:
		l.overflow = true
	default:
		l.place[string(w.record)] = len(l.waiting)
		l.waiting = append(l.waiting, w)
	}
	l.mu.Unlock()
	l.wake()
}

// Live registers a live query on the current connection, waiting for one as Query does. No event is missed between
// the server's registration and the return of this call. When it gives up waiting for the server's answer, the
// connection is dropped, because nothing else would make the server forget a subscription whose id was never learnt.
func (c *Client) Live(ctx context.Context, cfg LiveConfig) (*Live, error) {
	var live *Live
	err := c.patiently(ctx, func(ctx context.Context, t *transport) (err error) {
		live, err = c.register(ctx, t, cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	return live, nil
}

func (c *Client) register(ctx context.Context, t *transport, cfg LiveConfig) (*Live, error) {
	live := newLive(t, cfg.Buffer)
	live.changed = func() { c.forgetter.changed(cfg.Table) }
	t.feeds.begin()
	results, err := c.run(ctx, t, cfg.Statement, cfg.Vars)
	if err != nil {
		t.feeds.cancel()
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.fail(lost(errors.New("the registration of a live query was given up")))
		}
		return nil, err
	}
	var ok bool
	if len(results) == 1 {
		live.id, ok = readUUID(results[0].Raw)
	}
	if !ok {
		t.feeds.cancel()
		return nil, errors.New("want exactly one LIVE SELECT statement")
	}
	t.feeds.commit(live)
	live.changed()
	return live, nil
}

package surreal

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Where a call's frame is. Whoever moves it away from queued owns the frame: the writer, or the caller who gave up.
const (
	frameQueued = iota
	frameWritten
	frameCancelled
)

// call is one request on its way. done receives once, after answer and err are set.
type call struct {
	id     uint64
	frame  *encoder
	state  atomic.Int32
	done   chan struct{}
	answer cbor.RawMessage
	err    error
}

func (c *call) finish(answer cbor.RawMessage, err error) {
	c.answer, c.err = answer, err
	c.done <- struct{}{}
}

// callTable holds the calls that wait for an answer on one connection.
type callTable struct {
	mu      sync.Mutex
	waiting map[uint64]*call
	fault   error
}

// add makes the call findable by its id, unless the connection is gone.
func (t *callTable) add(c *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return t.fault
	}
	t.waiting[c.id] = c
	return nil
}

// take removes the call; who took it finishes it. An unknown id is the late answer to a call somebody gave up.
func (t *callTable) take(id uint64) (*call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.waiting[id]
	delete(t.waiting, id)
	return c, ok
}

// only removes the one waiting call, if it is exactly one.
func (t *callTable) only() (*call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) != 1 {
		return nil, false
	}
	for id, c := range t.waiting {
		delete(t.waiting, id)
		return c, true
	}
	return nil, false
}

// fail ends every waiting call, and every later one at once.
func (t *callTable) fail(err error) {
	t.mu.Lock()
	calls := t.waiting
	t.waiting = nil
	if t.fault == nil {
		t.fault = err
	}
	t.mu.Unlock()
	for _, c := range calls {
		c.finish(nil, err)
	}
}

// pools keeps what every call needs, across the connections of one client.
type pools struct {
	fields   fieldCache
	encoders sync.Pool
	calls    sync.Pool
	timers   sync.Pool
}

// keepBuffer is the largest request buffer kept for the next request.
const keepBuffer = 64 << 10

func (p *pools) encoder() *encoder {
	if e, ok := p.encoders.Get().(*encoder); ok {
		return e
	}
	return &encoder{out: make([]byte, 0, 1024), fields: &p.fields}
}

func (p *pools) release(e *encoder) {
	if cap(e.out) <= keepBuffer {
		e.out = e.out[:0]
		p.encoders.Put(e)
	}
}

func (p *pools) call() *call {
	if c, ok := p.calls.Get().(*call); ok {
		return c
	}
	return &call{done: make(chan struct{}, 1)}
}

func (p *pools) releaseCall(c *call) {
	c.frame, c.answer, c.err = nil, nil, nil
	c.state.Store(frameQueued)
	p.calls.Put(c)
}

func (p *pools) timer(d time.Duration) *time.Timer {
	if t, ok := p.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

func (p *pools) releaseTimer(t *time.Timer) {
	t.Stop()
	p.timers.Put(t)
}

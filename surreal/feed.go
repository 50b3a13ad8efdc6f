package surreal

import (
	"sync"
)

// earlyLimit is how many events of live queries that are just being registered are kept.
const earlyLimit = 65536

// feedTable hands the events of one connection to its live queries. The server may send the first event of a live
// query before it tells us the live query's id, so events nobody knows are kept while a registration is under way.
type feedTable struct {
	mu          sync.Mutex
	lives       map[[16]byte]*Live
	registering int
	early       []notification
	overflow    bool
	fault       error
}

func (t *feedTable) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.registering++
}

func (t *feedTable) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle()
}

// settle ends a registration; after the last one nobody can claim the early events any more.
func (t *feedTable) settle() {
	t.registering--
	if t.registering == 0 {
		t.early, t.overflow = nil, false
	}
}

// commit makes the live query known and gives it the events that came before.
func (t *feedTable) commit(l *Live) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		l.end(t.fault)
	} else {
		t.lives[l.id] = l
	}
	if t.overflow {
		l.mu.Lock()
		l.overflow = true
		l.mu.Unlock()
		l.wake()
	}
	for _, note := range t.early {
		if note.live == l.id {
			t.hand(l, note)
		}
	}
	t.settle()
}

// adopt makes a live query known that was registered elsewhere, and calls start if its connection is still there.
func (t *feedTable) adopt(l *Live, start func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return t.fault
	}
	t.lives[l.id] = l
	start()
	return nil
}

// publish is called by the reader, whose buffer the notification shares.
func (t *feedTable) publish(note notification) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, known := t.lives[note.live]
	switch {
	case known:
		t.hand(l, note.owned())
	case t.registering == 0:
	case len(t.early) >= earlyLimit:
		t.overflow = true
	default:
		t.early = append(t.early, note.owned())
	}
}

func (t *feedTable) hand(l *Live, note notification) {
	if note.action == "KILLED" {
		delete(t.lives, l.id)
		l.end(ErrKilled)
		return
	}
	l.add(waitingEvent{note.action, note.record, note.result})
}

// remove returns the live query if it was still alive, else nil.
func (t *feedTable) remove(id [16]byte) *Live {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lives[id]
	delete(t.lives, id)
	return l
}

// fail ends every live query.
func (t *feedTable) fail(err error) {
	t.mu.Lock()
	lives := t.lives
	t.lives, t.early, t.fault = nil, nil, err
	t.mu.Unlock()
	for _, l := range lives {
		l.end(err)
	}
}

// owned is the notification apart from the reader's buffer, in one piece of memory.
func (n notification) owned() notification {
	both := make([]byte, 0, len(n.record)+len(n.result))
	both = append(append(both, n.record...), n.result...)
	n.record, n.result = both[:len(n.record):len(n.record)], both[len(n.record):]
	return n
}

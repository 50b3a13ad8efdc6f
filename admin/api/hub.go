package api

import (
	"context"
	"sync"
)

// maxWaiting is how many things may wait for one slow reader.
const maxWaiting = 1000

// A hub watches something once for all who look at it. Its source tells what happens to the thing that
// a key names, until its context ends or nothing more happens.
type hub[T any] struct {
	source func(ctx context.Context, key string, tell func(T) error) error
	// id says which values replace each other while they wait for a reader.
	id func(T) string
	// remembers says that the last value is the state, which whoever comes later is told first.
	remembers bool

	life  context.Context
	tasks *tasks
	mu    sync.Mutex
	of    map[string]*watched[T]
}

// watched is what is watched under one key.
type watched[T any] struct {
	stop    context.CancelFunc
	readers map[*reader[T]]struct{}
	last    *T
}

// A reader is one who looks.
type reader[T any] struct {
	// changed gets a value when there is something to take.
	changed chan struct{}
	leave   func()

	mu      sync.Mutex
	waiting map[string]T
	order   []string
	lost    bool
	ended   bool
	err     error
}

func newHub[T any](life context.Context, tasks *tasks, remembers bool, id func(T) string,
	source func(context.Context, string, func(T) error) error,
) *hub[T] {
	return &hub[T]{source: source, id: id, remembers: remembers, life: life, tasks: tasks, of: map[string]*watched[T]{}}
}

// join makes a reader of what the keys name, who has to leave again.
func (h *hub[T]) join(keys ...string) *reader[T] {
	r := newReader[T]()
	joined := map[string]*watched[T]{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		w := h.of[key]
		if w == nil {
			w = h.begin(key)
		}
		if w == nil { // the server ends
			r.end(context.Canceled)
			break
		}
		joined[key] = w
		w.readers[r] = struct{}{}
		if w.last != nil {
			r.offer(h.id(*w.last), *w.last)
		}
	}
	r.leave = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for key, w := range joined {
			h.without(r, key, w)
		}
	}
	return r
}

// without takes a reader from what is watched, which ends with the last of them; the lock is held.
func (h *hub[T]) without(r *reader[T], key string, w *watched[T]) {
	delete(w.readers, r)
	if len(w.readers) == 0 {
		w.stop()
		h.forget(key, w)
	}
}

// latest is the state of what somebody watches; false where nobody does, or nothing is known yet.
func (h *hub[T]) latest(key string) (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.of[key]; w != nil && w.last != nil {
		return *w.last, true
	}
	var none T
	return none, false
}

// begin watches, or answers nil where nothing begins any more; the lock is held.
func (h *hub[T]) begin(key string) *watched[T] {
	ctx, stop := context.WithCancel(h.life)
	w := &watched[T]{stop: stop, readers: map[*reader[T]]struct{}{}}
	begun := h.tasks.begin(func() {
		defer stop()
		err := h.source(ctx, key, func(v T) error { h.tell(w, v); return ctx.Err() })
		h.mu.Lock()
		defer h.mu.Unlock()
		h.forget(key, w)
		for r := range w.readers {
			r.end(err)
		}
	})
	if !begun {
		stop()
		return nil
	}
	h.of[key] = w
	return w
}

// forget makes whoever comes next watch anew; the lock is held.
func (h *hub[T]) forget(key string, w *watched[T]) {
	if h.of[key] == w {
		delete(h.of, key)
	}
}

func (h *hub[T]) tell(w *watched[T], v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.remembers {
		w.last = &v
	}
	for r := range w.readers {
		r.offer(h.id(v), v)
	}
}

func newReader[T any]() *reader[T] {
	return &reader[T]{changed: make(chan struct{}, 1), waiting: map[string]T{}}
}

// alone makes a reader who shares what is watched with nobody.
func alone[T any](ctx context.Context, tasks *tasks, id func(T) string, source func(context.Context, func(T) error) error) *reader[T] {
	r := newReader[T]()
	ctx, stop := context.WithCancel(ctx) //nolint:gosec // leaving calls it
	r.leave = stop
	begun := tasks.begin(func() { r.end(source(ctx, func(v T) error { r.offer(id(v), v); return ctx.Err() })) })
	if !begun {
		r.end(context.Canceled)
	}
	return r
}

// offer never waits: of values with one id the latest stays, and what is too much is lost.
func (r *reader[T]) offer(id string, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[id]; !ok {
		if len(r.waiting) >= maxWaiting {
			r.lost = true
			return
		}
		r.order = append(r.order, id)
	}
	r.waiting[id] = v
	r.wake()
}

func (r *reader[T]) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended, r.err = true, err
	r.wake()
}

func (r *reader[T]) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// A taken is what a reader has got.
type taken[T any] struct {
	values []T
	// lost says that there was more.
	lost bool
	// ended says that nothing follows, because of err where that is not nil.
	ended bool
	err   error
}

func (r *reader[T]) take() taken[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := taken[T]{lost: r.lost, ended: r.ended, err: r.err}
	for _, id := range r.order {
		t.values = append(t.values, r.waiting[id])
	}
	clear(r.waiting)
	r.order, r.lost = nil, false
	return t
}

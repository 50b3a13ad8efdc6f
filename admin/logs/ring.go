package logs

import (
	"context"
	"slices"
	"sync"
)

// DefaultSize is how many lines a ring keeps where nobody says.
const DefaultSize = 2000

// A Ring is the newest lines of a log. All methods may be called from any goroutine.
type Ring struct {
	mu      sync.Mutex
	lines   []Line // a circle: the line of number n is at n modulo its length
	last    uint64
	changed chan struct{} // closed at the next line
}

// NewRing makes a ring of so many lines; 0 is DefaultSize.
func NewRing(size int) *Ring {
	if size <= 0 {
		size = DefaultSize
	}
	return &Ring{lines: make([]Line, size), changed: make(chan struct{})}
}

// add keeps a line and numbers it.
func (r *Ring) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	l.Seq = r.last
	r.lines[r.last%uint64(len(r.lines))] = l
	close(r.changed)
	r.changed = make(chan struct{})
}

// after are the lines behind a number, as far as they are kept, and what is closed when there are more.
func (r *Ring) after(seq uint64) ([]Line, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := seq + 1
	if size := uint64(len(r.lines)); r.last >= size {
		first = max(first, r.last-size+1)
	}
	var all []Line
	for n := first; n <= r.last; n++ {
		all = append(all, r.lines[n%uint64(len(r.lines))])
	}
	return all, r.changed
}

// Recent answers with the newest lines that a filter wants, the oldest of them first. Its error is nil.
func (r *Ring) Recent(_ context.Context, f Filter) ([]Line, error) {
	all, _ := r.after(f.After)
	all = slices.DeleteFunc(all, func(l Line) bool { return !f.wants(l) })
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[len(all)-f.Limit:]
	}
	return all, nil
}

// Follow tells the lines that a filter wants, those that are kept first, until ctx ends or tell errs,
// and answers with that error. Limit is how many of the kept ones at most.
func (r *Ring) Follow(ctx context.Context, f Filter, tell func(Line) error) error {
	kept, changed := r.after(f.After)
	seen := f.After
	if len(kept) > 0 {
		seen = kept[len(kept)-1].Seq
	}
	kept = slices.DeleteFunc(kept, func(l Line) bool { return !f.wants(l) })
	if f.Limit > 0 && len(kept) > f.Limit {
		kept = kept[len(kept)-f.Limit:]
	}
	for {
		for _, l := range kept {
			if err := tell(l); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		kept, changed = r.after(seen)
		if len(kept) > 0 {
			seen = kept[len(kept)-1].Seq
		}
		kept = slices.DeleteFunc(kept, func(l Line) bool { return !f.wants(l) })
	}
}

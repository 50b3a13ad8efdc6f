package api

import "sync"

// tasks are goroutines that are waited for once; after that there are no more.
type tasks struct {
	mu     sync.Mutex
	closed bool
	wait   sync.WaitGroup
}

// begin runs f beside, or answers false where the waiting has begun.
func (t *tasks) begin(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wait.Go(f)
	return true
}

// end lets nothing more begin, and waits for what has.
func (t *tasks) end() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wait.Wait()
}

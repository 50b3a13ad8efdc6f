package devdb

import (
	"io"
	"strings"
	"sync"
)

// tailSize is how much of the host's last words is kept.
const tailSize = 2048

// tail hands on what is written to it and remembers the end of it.
type tail struct {
	to io.Writer

	mu   sync.Mutex
	last []byte
}

func newTail(to io.Writer) *tail { return &tail{to: to} }

// Write never returns an error: a log that cannot be written must not stop the database.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.to.Write(p)
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append([]byte(nil), t.last[over:]...)
	}
	return len(p), nil
}

// String is what was written last.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}

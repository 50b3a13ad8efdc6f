package ssp

import (
	"sync"
	"time"
)

const (
	// refusalShows is for how long a table's refusals keep the node from being ready.
	refusalShows = time.Minute
	// renewAfterRefusal bounds how often the feed is registered anew because of them.
	renewAfterRefusal = 5 * time.Second
)

// A refusal remembers that a table takes no writes. Its usual cause is a user's LIVE SELECT whose
// condition fails: the database evaluates it at every write of the table, and goes on doing so
// after the user has gone, until somebody registers another one.
type refusal struct {
	mu      sync.Mutex
	at      time.Time // of the last refused write; zero since one was accepted
	err     error
	renewed time.Time
}

// note takes the end of a write. It answers true where the feed should be registered anew.
func (r *refusal) note(err error) (renew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.at, r.err = time.Time{}, nil
		return false
	}
	r.at, r.err = time.Now(), err
	renew = time.Since(r.renewed) >= renewAfterRefusal
	if renew {
		r.renewed = time.Now()
	}
	return renew
}

// standing is why the table takes no writes; nil where it does.
func (r *refusal) standing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > refusalShows {
		return nil
	}
	return r.err
}

// noteWrite takes the end of one of the lane's writes of a row.
func (l *lane) noteWrite(err error) {
	if l.refusal.note(err) {
		l.log.Warn("the table refuses the runner's writes; its feed is registered anew, which helps where a LIVE SELECT of somebody else's failed", "error", err)
		l.feed.renew()
	}
}

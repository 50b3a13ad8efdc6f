package ssp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// quietFor is how long the same trouble is not logged again while the database is away.
const quietFor = 10 * time.Second

// noise remembers what has just been logged.
type noise struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// once says whether key has not been let through for a while.
func (q *noise) once(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.last[key]) < quietFor {
		return false
	}
	if q.last == nil {
		q.last = map[string]time.Time{}
	}
	q.last[key] = time.Now()
	return true
}

// noticeError logs an error of the database that the node will get over by itself.
func (n *Node) noticeError(ctx context.Context, doing string, log *slog.Logger, err error) {
	if ctx.Err() != nil {
		return
	}
	n.metrics.dbErrors.WithLabelValues(doing).Inc()
	if !n.noise.once(doing) {
		return
	}
	if surreal.IsUnreachable(err) {
		log.Warn("the database is away; waiting for it", "doing", doing, "error", err)
		return
	}
	log.Error("the database refused a statement; it will be tried again", "doing", doing, "error", err)
}

package ssp

import (
	"context"
	"sync"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal/redact"
)

const (
	// settleBatch is the most outcomes one call writes.
	settleBatch = 64
	// settleBacklog is how many unwritten outcomes stop a lane's claims.
	settleBacklog = 512
	// An outcome that the table refuses is tried this often, so far apart: what refuses it may be a
	// passing thing, and a job whose outcome is dropped runs again.
	refusedTries = 8
	refusedPause = time.Second
)

// A settlement is an outcome on its way into the database.
type settlement struct {
	key     string
	attempt int
	outcome outbox.Outcome
	refused int // how often the table has refused it
	spans   *flightTrace
	mask    func() *redact.Mask // of what is said of it
}

// A settler writes a lane's outcomes, as many at a time as have gathered. An outcome is given up
// only when the database says that the job is no longer ours: while the database is away it waits.
type settler struct {
	lane *lane
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []settlement
	refused []settlement // to be tried again at retryAt
	retryAt time.Time
	writing int
	closed  bool
}

func newSettler(l *lane) *settler { return &settler{lane: l, wake: make(chan struct{}, 1)} }

func (s *settler) add(one settlement) {
	s.mu.Lock()
	s.waiting = append(s.waiting, one)
	s.mu.Unlock()
	s.poke()
}

func (s *settler) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)+s.writing >= settleBacklog
}

// close ends run once nothing is left to write.
func (s *settler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.poke()
}

func (s *settler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes until it is closed and empty, or until ctx ends.
func (s *settler) run(ctx context.Context) {
	for {
		batch, closed := s.gather()
		switch {
		case len(batch) > 0:
			s.write(ctx, batch)
			if ctx.Err() != nil {
				return
			}
		case closed:
			return
		default:
			timer := time.NewTimer(s.pause())
			select {
			case <-ctx.Done():
			case <-s.wake:
			case <-timer.C:
			}
			timer.Stop()
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// pause is how long nothing needs to be written.
func (s *settler) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) == 0 {
		return time.Hour
	}
	return max(time.Until(s.retryAt), time.Millisecond)
}

// again keeps an outcome that was refused for another try; false where it has had them all, or
// nobody will be there.
func (s *settler) again(one settlement) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.refused++; one.refused >= refusedTries || s.closed {
		return false
	}
	s.refused = append(s.refused, one)
	s.retryAt = time.Now().Add(refusedPause)
	return true
}

func (s *settler) gather() ([]settlement, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !time.Now().Before(s.retryAt) {
		s.waiting, s.refused = append(s.waiting, s.refused...), nil
	}
	n := min(len(s.waiting), settleBatch)
	batch := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	s.writing = n
	return batch, s.closed
}

// write settles a batch, again and again until the database has judged it.
func (s *settler) write(ctx context.Context, batch []settlement) {
	outcomes := make([]outbox.Outcome, len(batch))
	for i, one := range batch {
		outcomes[i] = one.outcome
	}
	for {
		found, err := s.lane.table.Settle(ctx, outcomes)
		if err == nil {
			for i := range batch {
				s.judge(batch[i], found[i])
			}
			s.lane.poke()
			return
		}
		s.lane.node.noticeError(ctx, "settle", s.lane.log, err)
		if !sleep(ctx, 100*time.Millisecond) {
			return
		}
	}
}

func (s *settler) judge(one settlement, found outbox.Settled) {
	log := s.lane.log.With("job", one.key, "attempt", one.attempt)
	if found.Err != nil {
		found.Err = masked{found.Err, one.mask} // the database repeats values that it refuses
	}
	var again time.Time
	switch {
	case found.Written && found.Err != nil:
		log.Error("the table refused the job's result or error entry; the state was stored without it", "status", found.Status, "error", found.Err)
	case found.Err != nil:
		s.lane.noteWrite(found.Err)
		if s.again(one) {
			log.Warn("the table refused the job's new state; it will be written again", "error", found.Err)
			return
		}
		log.Error("the table refused the job's new state for good; the job runs again when its lease ends", "error", found.Err)
	case !found.Written:
		log.Warn("lease lost: the job was taken away meanwhile, its outcome is dropped", "found", found.Status)
	}
	if found.Written && one.outcome.Status == outbox.Pending && found.Status != outbox.Pending {
		one.outcome.Status = outbox.Cancelled // somebody asked for it while the attempt was failing
	}
	if found.Written {
		s.lane.noteWrite(nil)
		if one.outcome.Status == outbox.Pending {
			again = s.lane.node.clock.now().Add(one.outcome.Wait)
		}
		if one.outcome.Status != outbox.Pending {
			s.lane.node.dags.settled(one.outcome.ID)
		}
		s.lane.note(log, one.outcome, one.mask)
		one.spans.settled(one.outcome)
	}
	s.lane.metrics.settled(one.outcome, found)
	s.lane.settled(one, again)
}

// sleep waits for d; false where ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

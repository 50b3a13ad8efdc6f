package ssp

import (
	"context"
	"errors"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// A row may cost the database more than a call may take, whatever is done with it: creators decide how
// large it is. Such a row must not hold up the others, for ever, and it must not be taken for a database
// that is away, or the other way round: what ends here is no job, but the haste.

const (
	// lostInARow is how many claims of a job may be lost one after another before it waits: a database that is
	// away now and then loses one or two.
	lostInARow = 3
	// maxLossWait is the longest that a job waits at a time because of this; the waits double, so that many such
	// jobs leave time to the others.
	maxLossWait = 8 * time.Minute
	// maxLosses bounds what is remembered of such claims. Beyond it all is forgotten.
	maxLosses = 4096
)

// A loss is what is known of claims of one job that came to nothing, one after another.
type loss struct {
	epoch int64 // of the last whose answer was lost
	times int   // how many answers were lost
	slow  int   // how many claims of this job alone took too long
}

// tooSlow says whether a call took too long although the database could be heard all the while.
func tooSlow(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && !surreal.IsUnreachable(err)
}

// resize decides how much the next claim takes. After an error it is less, for perhaps the answer was larger
// than the connection takes, or one row slower than a call may be: that one soon stands alone, and is left alone
// for a while.
func (l *lane) resize(hints []*hint, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.batch = min(l.batch+1, claimBatch)
		return
	}
	l.more, l.cursor, l.batch = true, time.Time{}, min(max(len(hints)/2, 1), claimBatch)
	if !tooSlow(err) {
		return
	}
	l.batch = max(len(hints)/8, 1)
	if len(hints) == 1 && hints[0].partition == "" {
		wait := l.slow(hints[0].key)
		l.poison[hints[0].key] = poison{runAt: hints[0].runAt, until: time.Now().Add(wait)}
		l.log.Error("the claim of one job takes the database too long; it is left alone for a while. If it goes on, its row may be too large: delete it, or make it smaller",
			"job", cut(hints[0].key, 200), "quarantine", wait)
	}
}

// lost notes that a claim's answer was lost, under l.mu, and says how long the job is to wait.
func (l *lane) lost(key string, epoch int64) time.Duration {
	have := l.losses[key]
	if have.epoch != epoch {
		have.epoch, have.times = epoch, have.times+1
	}
	l.remember(key, have)
	return lossWait(have.times - lostInARow)
}

// slow notes that a claim of one row, or a look at one partition, took too long, under l.mu, and says for how
// long it is to be left alone.
func (l *lane) slow(key string) time.Duration {
	have := l.losses[key]
	have.slow++
	l.remember(key, have)
	return lossWait(have.slow - 1)
}

func (l *lane) remember(key string, what loss) {
	if len(l.losses) >= maxLosses {
		clear(l.losses)
	}
	l.losses[key] = what
}

// lossWait is the wait after so many others.
func lossWait(others int) time.Duration {
	if others < 0 {
		return 0
	}
	return min(quarantine<<min(others, 10), maxLossWait)
}

// noteLost names the jobs that wait because their claims were lost again and again.
func (l *lane) noteLost(orphans []outbox.Outcome) {
	for _, o := range orphans {
		if o.Wait > 0 {
			l.log.Error("the answers to a job's claims were lost again and again; it waits. If it goes on, its row may be too large for the database: delete it, or make it smaller",
				"job", cut(surreal.FormatID(o.ID), 200), "wait", o.Wait)
		}
	}
}

package ssp

import (
	"context"
	"sync"
	"time"
)

// How a lane hears of new jobs depends on their rate. A LIVE SELECT announces a job within a
// millisecond or two, but the database evaluates it at every write of every row of the table, for
// each node: about as much work as the write itself. From busyRate on, a look every pollEvery costs
// less, and the database has that work free for jobs; below calmRate the feed is worth its price. A lane
// that has not caught up with what is due for a whole window has nothing to hear either, however slowly
// its jobs go.
const (
	busyRate  = 250 // jobs a second
	calmRate  = 100
	calmFor   = 2 * time.Second
	pollEvery = 5 * time.Millisecond
	// pollOverlap is how far behind the previous look the next one begins, for rows that took a
	// while to commit. What took longer is the sweep's to find.
	pollOverlap = 250 * time.Millisecond
	paceWindow  = time.Second
)

// A pace measures a lane's rate and decides between listening and polling. Its zero value listens.
type pace struct {
	mu      sync.Mutex
	started time.Time // of the present window
	claimed int
	heard   int
	caught  bool      // up with what is due, at some moment of the window
	calm    time.Time // since when the rate has been below calmRate, and the lane not behind
	polling bool
}

// count takes jobs that have just been announced or claimed.
func (p *pace) count(heard, claimed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard += heard
	p.claimed += claimed
}

// catch takes whether anything that is due is still to be claimed.
func (p *pace) catch(behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = p.caught || !behind
}

// decide answers whether to poll, and whether that has just changed. A window ends early when it
// has already seen a busy second's jobs.
func (p *pace) decide(now time.Time) (polling, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took, jobs := now.Sub(p.started), max(p.heard, p.claimed)
	if took < paceWindow && (p.polling || jobs < busyRate) {
		return p.polling, false
	}
	rate, behind := float64(jobs)/max(took, paceWindow).Seconds(), !p.started.IsZero() && took >= paceWindow && !p.caught
	p.started, p.heard, p.claimed, p.caught = now, 0, 0, false
	if rate >= calmRate || behind {
		p.calm = now
	}
	was := p.polling
	switch {
	case rate >= busyRate || behind:
		p.polling = true
	case now.Sub(p.calm) >= calmFor:
		p.polling = false
	}
	return p.polling, p.polling != was
}

// steer switches between feed and polling as the pace demands.
func (l *lane) steer() {
	l.pace.catch(l.behind())
	polling, changed := l.pace.decide(time.Now())
	if !changed {
		return
	}
	l.log.Debug("pace changed", "polling", polling)
	l.metrics.polling(polling)
	l.feed.pause(polling)
	if polling {
		l.noticeGap() // what the feed still had to say
	}
	l.mu.Lock()
	l.polling = polling
	l.mu.Unlock()
}

// behind says whether jobs are due that nobody here has claimed yet.
func (l *lane) behind() bool {
	now := l.node.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.queue.next()
	return l.more || ok && !at.After(now)
}

// poll looks for new jobs while the feed is paused. It answers true where it found any.
func (l *lane) poll(ctx context.Context) bool {
	if !l.node.mayClaim() || !l.wanting() {
		return false // and the next look begins where the last one ended
	}
	now := l.node.clock.now()
	l.mu.Lock()
	wanted := l.polling && !l.more && l.queue.len() < claimBatch && l.busy < l.backend.Concurrency && now.Sub(l.polled) >= pollEvery
	after := l.polled.Add(-pollOverlap)
	if wanted {
		l.polled = now
	}
	l.mu.Unlock()
	if !wanted {
		return false
	}
	rows, err := l.table.Due(ctx, after, now, page)
	if err != nil {
		l.node.noticeError(ctx, "poll", l.log, err)
		return false
	}
	return l.merge(rows, after) > 0
}

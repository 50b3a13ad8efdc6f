package ssp

import (
	"context"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

const (
	// overlap is how far behind now an ordinary sweep begins: a transaction that took long may
	// commit a row that has been due for as long. What is older is found by a full sweep.
	overlap = time.Minute
	// fullEvery is how many sweeps pass between two that look at everything.
	fullEvery = 15
	// rescueEvery is how many sweeps pass between two looks for workflow instances without a job.
	rescueEvery = 5
	// announceGrace is how long a notification may take before its absence gives rise to doubt.
	announceGrace = 300 * time.Millisecond
)

// runSweeps looks through all tables every SweepInterval, and at once where a feed may have missed
// something, until ctx ends.
func (n *Node) runSweeps(ctx context.Context) {
	for round := 0; ; round++ {
		for _, l := range n.lanes {
			full := l.gap.Swap(false) || round%fullEvery == 0
			if err := l.sweep(ctx, full); err != nil {
				l.gap.Store(l.gap.Load() || full)
				n.noticeError(ctx, "sweep", l.log, err)
				continue
			}
			l.swept.Store(true)
		}
		if round%rescueEvery == 0 {
			n.rescue(ctx)
			n.refresh(ctx)
		}
		n.noticeReady()
		timer := time.NewTimer(n.cfg.SweepInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-n.sweepNow:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// rescue gives workflow instances a job that live and have none: their jobs ran out of attempts, or
// were deleted.
func (n *Node) rescue(ctx context.Context) {
	found, err := surreal.First[[]string](ctx, n.aux.Retrying(), "RETURN fn::spky::wf::sweep()", nil)
	if err != nil {
		n.noticeError(ctx, "rescue", n.log, err)
		return
	}
	if len(found) > 0 {
		n.metrics.rescued.Add(float64(len(found)))
		n.log.Warn("workflow instances had no job any more and got one", "instances", found)
	}
}

// noticeGap asks for a full sweep of the lane now.
func (l *lane) noticeGap() {
	l.gap.Store(true)
	select {
	case l.node.sweepNow <- struct{}{}:
	default:
	}
}

// sweep finds the rows of one table that no notification announced: due, nearly due, held by nobody.
func (l *lane) sweep(ctx context.Context, full bool) error {
	now := l.node.clock.now()
	if err := l.sweepDue(ctx, now, full); err != nil {
		return err
	}
	if err := l.sweepHeld(ctx, now); err != nil {
		return err
	}
	if err := l.sweepQueues(ctx); err != nil {
		return err
	}
	if !full {
		return nil
	}
	adopted, refused, err := l.table.Adopt(ctx)
	if adopted > 0 {
		l.log.Info("pending rows without run_at made due", "rows", adopted)
		l.noticeGap()
	}
	if len(refused) > 0 && l.node.noise.once("adopt "+l.backend.Table) {
		l.log.Error("pending rows without run_at can't be made due", "rows", len(refused), "job", surreal.FormatID(refused[0].ID), "error", refused[0].Err)
	}
	if err != nil {
		return err
	}
	enlisted, err := l.table.Enlist(ctx)
	if enlisted > 0 {
		l.log.Info("jobs from before this version got their place in lists", "rows", enlisted)
		l.gap.Store(true) // the next sweep goes on with it
	}
	return err
}

func (l *lane) sweepDue(ctx context.Context, now time.Time, full bool) error {
	after := now.Add(-overlap)
	l.mu.Lock()
	behind := l.more
	l.mu.Unlock()
	switch {
	case full:
		after = time.Unix(0, 0)
	case behind:
		return nil // refill reads on where it stands
	}
	rows, err := l.table.Due(ctx, after, now.Add(l.node.cfg.SweepInterval+time.Second), page)
	if err != nil {
		return err
	}
	if err := l.straighten(ctx, rows); err != nil {
		return err
	}
	l.doubtFeed(ctx, rows, now)
	l.metrics.found(l.merge(rows, after), full)
	l.poke()
	return nil
}

// straighten mends rows that are listed as due and are not pending.
func (l *lane) straighten(ctx context.Context, rows []outbox.Due) error {
	var crooked []surreal.RecordID
	for _, row := range rows {
		if row.Status != outbox.Pending {
			crooked = append(crooked, row.ID)
		}
	}
	if len(crooked) == 0 {
		return nil
	}
	n, err := l.table.Straighten(ctx, crooked)
	if n > 0 {
		l.log.Info("run_at taken away from jobs that are not pending", "jobs", n)
	}
	return err
}

// doubtFeed puts the feed to the proof where a row is due that it should have announced: such a row
// was written in one of the ways that never notify, or the feed is deaf.
func (l *lane) doubtFeed(ctx context.Context, rows []outbox.Due, now time.Time) {
	row, ok := l.unannounced(rows, now)
	if !ok || !l.feed.mayDoubt() {
		return
	}
	touched, err := l.table.Touch(ctx, row.ID)
	if err == nil && touched {
		l.feed.expect(proofTimeout)
	}
}

func (l *lane) unannounced(rows []outbox.Due, now time.Time) (outbox.Due, bool) {
	up, ok := l.feed.upSince()
	if !ok {
		return outbox.Due{}, false
	}
	registered := now.Add(-time.Since(up)) // in the database's time
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range rows {
		key := surreal.FormatID(row.ID)
		_, flying := l.flights[key]
		if _, poisoned := l.poison[key]; poisoned {
			continue // proves nothing, and would be chosen again and again
		}
		if row.Status == outbox.Pending && !flying && !l.queue.has(key) && row.RunAt.After(registered) && now.Sub(row.RunAt) > announceGrace {
			return row, true
		}
	}
	return outbox.Due{}, false
}

// sweepHeld looks at rows in processing: takes away what nobody alive holds, and gives back what
// this node holds without knowing it.
func (l *lane) sweepHeld(ctx context.Context, now time.Time) error {
	rows, err := l.table.Held(ctx, l.node.cfg.ID, l.node.peers.all(), now)
	if err != nil {
		return err
	}
	gone, orphans := l.sort(rows, now)
	if len(orphans) > 0 {
		l.log.Warn("claims whose answers were lost are given back", "jobs", len(orphans))
		l.noteLost(orphans)
		if _, err := l.table.Settle(ctx, orphans); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	reaped, refused, err := l.table.Reap(ctx, gone)
	if len(reaped) > 0 {
		l.log.Warn("jobs taken over from nodes that are gone", "jobs", len(reaped))
		l.metrics.reaped(len(reaped))
	}
	for _, r := range refused {
		l.noteWrite(r.Err)
		l.log.Error("a job of a node that is gone can't be taken over", "job", surreal.FormatID(r.ID), "error", r.Err)
	}
	return err
}

// sort tells held rows apart. A row of this node that no flight knows is a claim whose answer was
// lost, but only if the previous sweep saw the same: a claim under way looks alike.
func (l *lane) sort(rows []outbox.Held, now time.Time) (gone []surreal.RecordID, orphans []outbox.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	suspects := map[string]int64{}
	for _, row := range rows {
		key := surreal.FormatID(row.ID)
		expired := row.Until != nil && !row.Until.After(now)
		f, flying := l.flights[key]
		switch {
		case row.Assignee != l.node.cfg.ID || expired:
			gone = append(gone, row.ID)
		case flying && row.Cancelled != nil && f.running:
			l.node.missedSignal(f, now.Sub(*row.Cancelled))
			f.cancel(errCancelled)
		case flying:
		case l.suspects[key] == row.Epoch:
			orphans = append(orphans, outbox.Outcome{ID: row.ID, Epoch: row.Epoch, Status: outbox.Pending, Wait: l.lost(key, row.Epoch)})
		default:
			suspects[key] = row.Epoch
		}
	}
	l.suspects = suspects
	return gone, orphans
}

package ssp

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

const (
	// claimBatch is the most jobs one claim takes.
	claimBatch = 64
	// refillBelow is the length of the due queue below which a known backlog is read on.
	refillBelow = 512
	// page is how many due rows one look into the database brings.
	page = 1000
	// idleTick is how often a lane that has nothing to do shows that it lives.
	idleTick = time.Second
	// callTimeout bounds a statement that must not be given up in the middle of a shutdown.
	callTimeout = 10 * time.Second
	// unclaimable is for how long a row must have been due for a failed claim to mean more than that
	// another node was faster; quarantine is how long such a row is left alone, until its time changes.
	unclaimable = 5 * time.Second
	quarantine  = 30 * time.Second
	// secondLook is when a hint is tried once more that was claimed a little early.
	secondLook = 50 * time.Millisecond
)

// A lane runs the jobs of one backend: due queue → claim → dispatch → settle. Lanes share nothing
// but the node's connections, so that no backend waits for another.
type lane struct {
	node    *Node
	backend config.Backend
	table   *outbox.Table
	// cancelled is the status that stands for a cancelled job in the table, once it is prepared.
	cancelled outbox.Status
	circuit   *circuit
	checkup   checkup
	feed      *feed
	settler   *settler
	pace      pace
	refusal   refusal
	log       *slog.Logger
	metrics   *laneMetrics

	wake     chan struct{} // capacity 1
	ticked   atomic.Int64  // when the loop last moved, in Unix nanoseconds
	gap      atomic.Bool   // the next sweep must look at everything
	swept    atomic.Bool   // a first sweep is done
	flying   sync.WaitGroup
	launches context.Context //nolint:containedctx // the parent of every request, ended with the cause errShutdown

	mu      sync.Mutex
	queue   *dueQueue
	flights map[string]*flight
	busy    int       // flights that hold a slot
	ready   []*flight // claimed ahead of a free slot, in order
	tempo   tempo
	recent  recent
	batch   int // the most jobs that the next claim takes
	// more says that the database may hold due rows behind cursor that are not in the queue.
	more        bool
	cursor      time.Time
	queueCursor string    // behind which the next sweep looks at partitions' queues; the sweeps' own
	polling     bool      // the feed is paused; see pace
	polled      time.Time // the last look, by the database's clock
	poison      map[string]poison
	suspects    map[string]int64 // own rows that no flight knows: key → epoch, as the last sweep saw them
	losses      map[string]loss  // claims that came to nothing, by the keys of jobs and partitions
}

// A poison is a row that is listed as due and can't be claimed: because the database refuses the
// write, or because somebody wrote a time into it that its state contradicts.
type poison struct{ runAt, until time.Time }

// forgive forgets quarantines that are over, under l.mu.
func (l *lane) forgive() {
	maps.DeleteFunc(l.poison, func(_ string, p poison) bool { return !time.Now().Before(p.until) })
}

// poisoned says whether a row that is due at this time is left alone, under l.mu.
func (l *lane) poisoned(key string, runAt time.Time) bool {
	p, ok := l.poison[key]
	return ok && p.runAt.Equal(runAt) && time.Now().Before(p.until)
}

// A flight is a job between its claim and its settlement.
type flight struct {
	hint *hint
	// next is what was heard of the row meanwhile; it is looked at when the flight is over.
	next    *hint
	key     string
	job     outbox.Job
	running bool            // claimed: on its way, waiting for a slot, or being settled
	ctx     context.Context //nolint:containedctx // the request's, ended by cancel
	cancel  context.CancelCauseFunc
	parked  time.Time // since when it waits for a slot
	aborted bool      // its cancellation was asked for before it was running
}

// run claims and launches until ctx ends; what flies then is the caller's to wait for.
func (l *lane) run(ctx context.Context) {
	timer := time.NewTimer(idleTick)
	defer timer.Stop()
	for ctx.Err() == nil {
		l.ticked.Store(time.Now().UnixNano())
		l.steer()
		l.shed(time.Now().Add(-aheadFor))
		if hints, room := l.take(); len(hints) > 0 {
			l.claim(ctx, hints, room)
			continue
		}
		if l.refill(ctx) || l.poll(ctx) {
			continue
		}
		timer.Reset(l.pause())
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// wanting says whether the backend may get a job now, if only to see whether it is there again.
func (l *lane) wanting() bool { return l.circuit.wants(l.backend.Healthcheck == "") }

// poke makes the loop look again.
func (l *lane) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// stalled says whether the loop has not moved for a time in which it should have.
func (l *lane) stalled() bool {
	return time.Since(time.Unix(0, l.ticked.Load())) > callTimeout+5*time.Second
}

// pause is how long the loop may sleep without missing anything that it knows of.
func (l *lane) pause() time.Duration {
	wait := idleTick
	if at := l.circuit.retryAt(); !at.IsZero() {
		if until := time.Until(at); until > 0 {
			return min(wait, until)
		}
		if !l.wanting() {
			return wait // a probe is on its way, or the health check decides: each pokes
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy >= l.backend.Concurrency || !l.node.mayClaim() {
		return wait
	}
	now := l.node.clock.now()
	if at, ok := l.queue.next(); ok {
		wait = min(wait, at.Sub(now))
	}
	if l.polling {
		wait = min(wait, pollEvery-now.Sub(l.polled))
	}
	return max(wait, time.Millisecond)
}

// offer puts a row into the due queue, from a notification or a look into the database.
func (l *lane) offer(id surreal.RecordID, runAt time.Time) {
	l.mu.Lock()
	l.put(id, surreal.FormatID(id), runAt)
	l.mu.Unlock()
	l.poke()
}

// put is offer under l.mu. It answers true where the row was news.
func (l *lane) put(id surreal.RecordID, key string, runAt time.Time) bool {
	if l.poisoned(key, runAt) {
		return false
	}
	h := hint{id: id, key: key, runAt: runAt, from: l.node.peers.turn(l.backend.Table, key, runAt, l.node.clock.now())}
	if f, ok := l.flights[key]; ok {
		f.next = &h
		return false
	}
	known := l.queue.has(key)
	if !l.queue.add(h) {
		l.more = true
	}
	return !known
}

// end removes a flight, under l.mu.
func (l *lane) end(key string) {
	f, ok := l.flights[key]
	if !ok {
		return
	}
	delete(l.flights, key)
	if f.next != nil && !l.poisoned(key, f.next.runAt) && !l.queue.add(*f.next) {
		l.more = true
	}
}

// forget drops a row from the due queue.
func (l *lane) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.remove(key)
}

// take is what to claim now, and how many jobs at most.
func (l *lane) take() (hints []*hint, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := l.wanted()
	if wanted <= 0 || !l.node.mayClaim() || l.settler.full() {
		return nil, 0
	}
	now := l.node.clock.now()
	if at, ok := l.queue.next(); !ok || at.After(now) {
		return nil, 0
	}
	room = l.circuit.admits(wanted, l.backend.Healthcheck == "")
	hints = l.queue.take(now, l.looks(room))
	for _, h := range hints {
		if h.partition == "" {
			l.flights[h.key] = &flight{hint: h, key: h.key}
		}
	}
	return hints, room
}

// claim makes flights of those hints that turn out to be claimable. It is not interrupted by ctx: a
// claim whose answer nobody hears would have to be taken back by others.
func (l *lane) claim(ctx context.Context, hints []*hint, room int) {
	if l.table.Partitioned() {
		l.claimPartitioned(ctx, hints, room)
		return
	}
	ids := make([]surreal.RecordID, len(hints))
	for i, h := range hints {
		ids[i] = h.id
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	jobs, refused, err := l.table.Claim(call, l.node.cfg.ID, ids)
	l.took(jobs, refused)
	l.resize(hints, err)
	l.land(hints, refused, err)
	if err != nil {
		l.node.noticeError(ctx, "claim", l.log, err)
	}
}

// took sends what a claim took on its way.
func (l *lane) took(jobs []outbox.Job, refused []outbox.Refused) {
	l.pace.count(0, len(jobs))
	if len(jobs) > 0 {
		l.noteWrite(nil)
	} else if len(refused) > 0 {
		l.noteWrite(refused[0].Err)
	}
	for _, job := range jobs {
		l.launch(job)
	}
}

// land ends what hints did not become flights.
func (l *lane) land(hints []*hint, refused []outbox.Refused, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range refused {
		if f, ok := l.flights[surreal.FormatID(r.ID)]; ok && f.hint != nil {
			l.poison[f.hint.key] = poison{runAt: f.hint.runAt, until: time.Now().Add(quarantine)}
		}
		l.log.Error("a job can't be claimed; it is left alone for a while", "job", surreal.FormatID(r.ID), "error", r.Err, "quarantine", quarantine)
	}
	probes := false
	for _, h := range hints {
		f, ok := l.flights[h.key]
		if !ok || f.hint != h || f.running {
			probes = probes || ok
			continue
		}
		l.end(h.key)
		if err == nil {
			l.again(h)
		}
	}
	if !probes {
		l.circuit.abandon()
	}
}

// again keeps a hint for a second look that was not claimable by a hair: its time and the
// database's clock may differ by the error of a measurement.
func (l *lane) again(h *hint) {
	now := l.node.clock.now()
	if now.Sub(h.runAt) > unclaimable && !l.table.Partitioned() { // where it may wait in its partition's queue
		l.poison[h.key] = poison{runAt: h.runAt, until: time.Now().Add(quarantine)}
		if l.node.noise.once("unclaimable " + l.backend.Table) {
			l.log.Warn("a job is listed as due and was not claimed; perhaps another node took it, else its id can't be written as it was read", "job", cut(h.key, 200))
		}
		return
	}
	if h.looked || now.Sub(h.runAt) > secondLook {
		return
	}
	if h.runAt.Before(now) {
		h.runAt = now
	}
	l.queue.add(hint{id: h.id, key: h.key, runAt: h.runAt, from: now.Add(secondLook), looked: true})
}

// refill reads on in a known backlog. It answers true where it brought something that can be claimed.
func (l *lane) refill(ctx context.Context) bool {
	l.mu.Lock()
	wanted := l.more && l.queue.len() < refillBelow && l.node.mayClaim() && l.wanting()
	after := l.cursor
	l.mu.Unlock()
	if !wanted {
		return false
	}
	rows, err := l.table.Due(ctx, after, l.node.clock.now(), page)
	if err != nil {
		l.node.noticeError(ctx, "refill", l.log, err)
		return false
	}
	return l.merge(rows, after) > 0
}

// merge takes one page of due rows, read behind after, and answers how many were news.
func (l *lane) merge(rows []outbox.Due, after time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgive()
	l.more = false // put says otherwise where the queue is full
	news := 0
	for _, row := range rows {
		if row.Status == outbox.Pending && l.put(row.ID, surreal.FormatID(row.ID), row.RunAt) {
			news++
		}
	}
	if len(rows) < page {
		return news
	}
	l.more = true
	last := rows[len(rows)-1].RunAt
	l.cursor = last.Add(-1) // rows may share a moment: read the last one's again
	if news == 0 || !l.cursor.After(after) {
		l.cursor = last
	}
	return news
}

// held counts the jobs that this lane has claimed and not settled.
func (l *lane) held() (busy, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy, l.queue.len()
}

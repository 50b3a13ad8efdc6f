package ssp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// TestATenantOfMegabytesHoldsUpNobody has an end user whose jobs have tenants as large as he has the database make them,
// beside ordinary jobs. No more is read of them than is small: they are of one partition, and the others go ahead.
func TestATenantOfMegabytesHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	g := newGate()
	s := newService(newJournal(func(tenant string, q *http.Request) {
		if tenant == "huge" {
			g.serve(nil, q)
		}
	}).serve)
	s.Start()
	t.Cleanup(func() { g.release(); s.Close() })
	r.start(s.backends(parted(1)))
	const huge = "array::join(array::repeat(string::repeat('x', 1000000), 4), '')"
	for i := range 3 {
		r.exec("CREATE $id SET path = '/x?tenant=huge', payload = { tenant: "+huge+" + <string>$n } RETURN NONE",
			map[string]any{"id": surreal.NewRecordID("job", fmt.Sprint("huge", i)), "n": i})
	}
	r.tenants("small", repeated(5, "a", "b", "")...)
	r.eventually("the small ones are done", func() bool { return r.count("job", "success") == 15 })
	const begun = "SELECT VALUE id FROM job WHERE status = 'processing' OR partition_queue != NONE"
	r.eventually("each of the large ones runs or is in a queue", func() bool {
		ids, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, begun, nil)
		return err == nil && len(ids) == 3
	})
	if got := r.count("job", "processing"); got != 1 {
		t.Errorf("%d of the large ones run at once", got)
	}
	g.release()
	r.eventually("all are done", func() bool { return r.count("job", "success") == 18 })
}

// TestAJobWhoseClaimsAreLostAgainAndAgainWaits has claims of one job of which the node knows nothing, as they are when the
// database answers too late. The first ones are given back at once: they may be a lost connection's.
func TestAJobWhoseClaimsAreLostAgainAndAgainWaits(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	n := r.start(s.backends(func(b *config.Backend) { b.Healthcheck = "/healthz" }))
	n.lanes[0].circuit.trip(errors.New("ill")) // so that it claims nothing itself
	id := r.job("large", "/x", nil)
	for i := range lostInARow {
		r.exec("UPDATE $id SET status = 'processing', assignee = $node, lease_epoch = (lease_epoch ?? 0) + 1, lease_until = time::now() + 1h", map[string]any{"id": id, "node": n.ID()})
		row := r.await(id, "given back", func(j jobRow) bool { return j.Status == "pending" })
		waits := row.RunAt.Sub(n.clock.now()) > quarantine/2
		if last := i == lostInARow-1; waits != last || row.Retries != 0 {
			t.Errorf("after %d lost claims it is %+v", i+1, row)
		}
	}
	if !strings.Contains(n.log.String(), "job:large") {
		t.Error("the log does not name it")
	}
}

// TestLostClaimsAreCountedInARow covers the count without a database: by claims, not by looks, and anew after an answer.
func TestLostClaimsAreCountedInARow(t *testing.T) {
	t.Parallel()
	l := &lane{losses: map[string]loss{}}
	var waits []time.Duration
	for epoch := range int64(9) {
		l.lost("job:x", epoch+1)
		waits = append(waits, l.lost("job:x", epoch+1))
	}
	const want = "[0s 0s 30s 1m0s 2m0s 4m0s 8m0s 8m0s 8m0s]"
	if got := fmt.Sprint(waits); got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	delete(l.losses, "job:x")
	if wait := l.lost("job:x", 10); wait != 0 {
		t.Errorf("the first loss after an answer waits %s", wait)
	}
	for i := range 2 * maxLosses {
		l.lost(fmt.Sprint(i), 1)
	}
	if len(l.losses) > maxLosses {
		t.Errorf("%d are remembered", len(l.losses))
	}
}

// TestOneSlowRowIsLeftAlone: claims that take too long become smaller until the row at fault stands alone, and that one is
// left alone then, also if it was heard of meanwhile. A database that is away says nothing of any row.
func TestOneSlowRowIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start(serve(t, nil).backends())
	n.stop()
	l := n.lanes[0]
	late := fmt.Errorf("claim: %w", context.DeadlineExceeded)
	h := &hint{id: surreal.NewRecordID("job", "slow"), key: "job:slow", runAt: n.clock.now()}
	lose := func(err error) bool {
		l.mu.Lock()
		l.flights[h.key] = &flight{hint: h, key: h.key}
		l.put(h.id, h.key, h.runAt) // heard of again while it is claimed
		l.mu.Unlock()
		l.resize([]*hint{h}, err)
		l.land([]*hint{h}, nil, err)
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.queue.has(h.key)
	}
	for _, err := range []error{surreal.ErrDisconnected, fmt.Errorf("%w: %w", surreal.ErrNotConnected, context.DeadlineExceeded)} {
		if !lose(err) {
			t.Errorf("left alone after %v", err)
		}
		l.forget(h.key)
	}
	if lose(late) || !strings.Contains(n.log.String(), "job:slow") {
		t.Error("it is not left alone, or not named")
	}
	if l.poison[h.key].until.After(time.Now().Add(quarantine)) {
		t.Error("it is left alone for longer than the first time")
	}
	lose(late)
	if !l.poison[h.key].until.After(time.Now().Add(quarantine)) {
		t.Error("it is not left alone for longer the second time")
	}
	l.look("k")
	l.lookAgain([]*hint{{key: partitionHint("k"), partition: "k"}}, outbox.Partitioned{}, late)
	l.look("k") // as a sweep does
	if from, ok := l.queue.next(); !ok || from.Sub(n.clock.now()) < quarantine/2 {
		t.Error("a partition whose look takes too long is not left alone")
	}
	l.batch = claimBatch
	var sizes []int
	for l.batch > 1 {
		l.resize(make([]*hint, l.batch), late)
		sizes = append(sizes, l.batch)
	}
	if got := fmt.Sprint(sizes); got != "[8 1]" {
		t.Errorf("claims that take too long shrink to %s", got)
	}
}

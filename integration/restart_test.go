package integration_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// early is how much earlier than its time a job may be claimed: what a node's idea of the database's
// clock may be off, which a claim allows for.
const early = 50 * time.Millisecond

// TestBackoffOutlivesRestart: a job waits for its next attempt; the node ends and another one starts.
// The attempt is not made before it is due.
func TestBackoffOutlivesRestart(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	b := newBackend(t, func(c call) (int, any) {
		if c.Attempt == 1 {
			return http.StatusTooManyRequests, retryAfter(4)
		}
		return http.StatusOK, object{"job": c.Job}
	})
	n := start(t, "first", db.cfg, b.config())
	id := db.create(nil)
	var waiting row
	eventually(t, "the first attempt is booked", func() (bool, any) {
		waiting = db.job(id)
		return waiting.Retries == 1, waiting
	})
	if waiting.Status != "pending" || waiting.RunAt == nil {
		t.Fatalf("after the first attempt: %+v", waiting)
	}
	n.stop()
	start(t, "second", db.cfg, b.config())
	db.settled(1)
	calls := b.journal()
	if len(calls) != 2 || calls[1].Attempt != 2 || calls[1].Node != "second" {
		t.Fatalf("calls: %+v", calls)
	}
	if calls[1].At.Before(waiting.RunAt.Add(-early)) || calls[1].At.Sub(calls[0].At) < 4*time.Second-early {
		t.Errorf("the second attempt came at %s, due was %s", calls[1].At, waiting.RunAt)
	}
}

// TestDelayOutlivesRestart: the same for a job that is created with a delay, while nobody runs.
func TestDelayOutlivesRestart(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	start(t, "first", db.cfg, b.config()).stop() // has prepared the table
	id := db.create(map[string]any{"delay": 3000})
	far := db.create(map[string]any{"delay": 2 * 60 * 60 * 1000}) // report J13: far beyond any lease
	due := db.job(id)
	start(t, "second", db.cfg, b.config())
	db.settled(1)
	calls := b.journal()
	if len(calls) != 1 || calls[0].At.Before(due.Created.Add(3*time.Second-early)) {
		t.Errorf("created at %s with a delay of 3 s, called %+v", due.Created, calls)
	}
	if r := db.job(far); r.Status != "pending" || r.RunAt == nil || r.RunAt.Sub(r.Created) < 119*time.Minute {
		t.Errorf("a job of the future: %+v", r)
	}
}

// A claimant is a node that claims a job and is heard of no more.
type claimant struct {
	name string
	// beats says whether it has written its row before, as a node on this very host with this very
	// process id (report J10); without, nobody knows it.
	beats bool
	// then changes the row by hand.
	then string
}

// TestClaimedAndDied (reports J5, J7, J10, J21): a node claims a job and dies before it sends the request.
// Whatever is known of it, another takes the job over, and only one attempt is lost.
func TestClaimedAndDied(t *testing.T) {
	t.Parallel()
	for _, c := range []claimant{
		{name: "a node of this host and process", beats: true},
		{name: "a node nobody knows"},
		{name: "no lease", then: "lease_until = NONE"},
		{name: "no holder", then: "assignee = NONE"},
		{name: "nothing at all", then: "assignee = NONE, lease_until = NONE, lease_epoch = NONE"},
		{name: "a lease of long ago", beats: true, then: "lease_until = time::now() - 1h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, b := fresh(t), newBackend(t, nil)
			start(t, "before", db.cfg, b.config()).stop() // has prepared database and table
			id := db.create(nil)
			if c.beats {
				db.beat("ghost")
			}
			db.claim("ghost", id)
			if c.then != "" {
				db.exec("UPDATE $id SET "+c.then, map[string]any{"id": id})
			}
			start(t, "after", db.cfg, b.config())
			db.settled(1)
			r := db.job(id)
			if r.Retries != 1 || len(r.Errors) != 1 || r.Errors[0].Code != "lease_expired" || r.Assignee != nil {
				t.Errorf("in the end: %+v", r)
			}
			if calls := b.journal(); len(calls) != 1 || calls[0].Attempt != 2 {
				t.Errorf("calls: %+v", calls)
			}
		})
	}
}

// beat writes a node's row as that node would.
func (db *database) beat(name string) {
	db.tb.Helper()
	host, err := os.Hostname()
	if err != nil {
		db.tb.Fatal(err)
	}
	db.exec("RETURN fn::spky::node::beat($row)", map[string]any{"row": map[string]any{
		"node": name, "host": host, "pid": os.Getpid(), "version": "test", "listen": surreal.None, "draining": false, "backends": []any{},
	}})
}

// claim claims jobs for a node that may not exist.
func (db *database) claim(node string, ids ...surreal.RecordID) {
	db.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	jobs, refused, err := db.table().Claim(ctx, node, ids)
	if err != nil || len(refused) > 0 || len(jobs) != len(ids) {
		db.tb.Fatalf("claim %d jobs: %d, %v, %v", len(ids), len(jobs), refused, err)
	}
}

func (db *database) table() *outbox.Table {
	return outbox.New(outbox.Config{DB: db.client, Name: "job"})
}

// TestTwoNodesReap (report J9): two nodes find the same dead node's jobs at the same time. Each job
// loses one attempt, not two, and runs once.
func TestTwoNodesReap(t *testing.T) {
	t.Parallel()
	const jobs = 60
	db, b := fresh(t), newBackend(t, nil)
	start(t, "before", db.cfg, b.config()).stop()
	db.mustInsert("j", jobs)
	var ids []surreal.RecordID
	for _, r := range db.jobs("") {
		ids = append(ids, r.ID)
	}
	db.claim("ghost", ids...)
	left, right := begin(t, "left", db.cfg, b.config()), begin(t, "right", db.cfg, b.config())
	left.works()
	right.works()
	db.settled(jobs)
	for _, r := range db.jobs("") {
		// Claimed, taken away, claimed again: the epoch counts all three.
		if r.Retries != 1 || len(r.Errors) != 1 || r.Errors[0].Code != "lease_expired" || r.Epoch == nil || *r.Epoch != 3 {
			t.Errorf("in the end: %+v", r)
		}
	}
	for job, calls := range b.byJob() {
		if len(calls) != 1 || calls[0].Attempt != 2 {
			t.Errorf("%s was requested %+v", job, calls)
		}
	}
}

// TestManyReapAtOnce: of many that take the same jobs away at one time, one succeeds for each job.
func TestManyReapAtOnce(t *testing.T) {
	t.Parallel()
	const jobs, reapers = 40, 8
	db, b := fresh(t), newBackend(t, nil)
	start(t, "before", db.cfg, b.config()).stop()
	db.mustInsert("j", jobs)
	var ids []surreal.RecordID
	for _, r := range db.jobs("") {
		ids = append(ids, r.ID)
	}
	db.claim("ghost", ids...)
	taken := make(chan []outbox.Reaped, reapers)
	for range reapers {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			reaped, refused, err := db.table().Reap(ctx, ids)
			if err != nil || len(refused) > 0 {
				t.Errorf("reap: %v, %v", refused, err)
			}
			taken <- reaped
		}()
	}
	times := map[string]int{}
	for range reapers {
		for _, r := range <-taken {
			times[surreal.FormatID(r.ID)]++
		}
	}
	for _, r := range db.jobs("") {
		if times[r.key()] != 1 || r.Status != "pending" || r.Retries != 1 || len(r.Errors) != 1 {
			t.Errorf("taken %d times: %+v", times[r.key()], r)
		}
	}
}

package integration_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	surrealdb "github.com/surrealdb/surrealdb.go"

	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

const subscriptions = `spky_live_subscriptions_total{table="job"}`

// seldom makes a node all but stop sweeping, so that what runs was announced by its feed, or found by
// the sweep that every new subscription begins with.
func seldom(c *ssp.Config) { c.SweepInterval = time.Hour }

// TestOnlyLiveConnectionBreaks (report J18): the connection for notifications is reset, or goes dead
// without a word, while the others go on. The node subscribes again, which a metric shows, finds what
// it missed, and hears of new jobs again.
func TestOnlyLiveConnectionBreaks(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(l *line){"reset": (*line).reset, "half-open": (*line).fade} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, b := fresh(t), newBackend(t, nil)
			relay, through := relayed(t, db.cfg)
			n := start(t, "n", through, b.config(), seldom)
			db.create(nil)
			db.settled(1)
			before := n.metric(subscriptions)
			relay.strikeLive(t, strike)
			missed := db.create(nil)
			eventually(t, "it subscribes again", func() (bool, any) {
				now := n.metric(subscriptions)
				return now > before, now
			})
			db.settled(2)
			n.says(http.StatusOK, "ready")
			db.create(nil)
			db.settled(3)
			if calls := b.byJob()[surreal.FormatID(missed)]; len(calls) != 1 {
				t.Errorf("the job written meanwhile was requested %d times", len(calls))
			}
		})
	}
}

// TestAnswersSwallowed: the database commits what the node writes, but its answers do not arrive. The
// node settles again over a new connection and finds the outcome written: one request, no attempt lost.
func TestAnswersSwallowed(t *testing.T) {
	t.Parallel()
	db, g := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, map[string]any{"job": c.Job}
	})
	relay, through := relayed(t, db.cfg)
	n := start(t, "n", through, b.config())
	db.create(nil)
	b.reached(1)
	relay.muted.Store(true)
	g.Open()
	db.settled(1) // seen by the test's own connection: the write went through
	n.says(http.StatusServiceUnavailable, "degraded")
	relay.muted.Store(false)
	n.says(http.StatusOK, "ready")
	eventually(t, "the node notes the success", func() (bool, any) {
		counted := n.metric(`spky_jobs_succeeded_total{backend="api"}`)
		return counted == 1, counted
	})
	if lost := n.metric(`spky_leases_lost_total{backend="api"}`); lost != 0 {
		t.Errorf("%v leases lost: its own write was taken for somebody else's", lost)
	}
	checkNothingLost(db, b, 1, 0)
}

// TestClaimAnswerSwallowed: a claim is committed, but its answer does not arrive. The node gives the
// job back by itself and runs it without counting an attempt.
func TestClaimAnswerSwallowed(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	relay, through := relayed(t, db.cfg)
	n := start(t, "n", through, b.config())
	// A job that the node knows of beforehand and claims once it is due.
	id := db.create(map[string]any{"delay": 5000})
	eventually(t, "the node knows of the job", func() (bool, any) {
		queued := n.metric(`spky_queue_jobs{backend="api"}`)
		return queued == 1, queued
	})
	relay.muted.Store(true)
	eventually(t, "the claim is committed", func() (bool, any) {
		r := db.job(id)
		return r.Status == "processing", r
	})
	if calls := len(b.journal()); calls != 0 {
		t.Fatal("the claim's answer arrived all the same")
	}
	n.says(http.StatusServiceUnavailable, "degraded")
	relay.muted.Store(false)
	db.settled(1)
	checkNothingLost(db, b, 1, 0)
	if r := db.job(id); r.Retries != 0 {
		t.Errorf("a claim whose answer was lost cost an attempt: %+v", r)
	}
}

// TestRequestsSwallowed: the database gets nothing of what the node writes, for longer than a call may
// take but not long enough for the connection to be given up. That is no refusal: the outcome is
// written, result and all, when the database hears again, and the job does not run twice.
func TestRequestsSwallowed(t *testing.T) {
	t.Parallel()
	db, g := fresh(t), newGate(t)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, object{"job": c.Job}
	})
	relay, through := relayed(t, db.cfg)
	through.CallTimeout = time.Second
	n := start(t, "n", through, b.config())
	db.mustInsert("j", 5)
	b.reached(5)
	relay.deaf.Store(true)
	g.Open()
	eventually(t, "a settlement is not answered in time", func() (bool, any) {
		failed := n.metric(`spky_database_errors_total{doing="settle"}`)
		return failed > 0, failed
	})
	relay.deaf.Store(false)
	db.settled(5)
	checkNothingLost(db, b, 5, 0)
}

// TestDeafLive (report surrealdb#6983): a subscription that is registered and healthy goes deaf for
// good without any error. Its node notices and subscribes again.
func TestDeafLive(t *testing.T) {
	t.Parallel()
	const deaf, finds = `spky_live_deaf_total{table="job"}`, `spky_sweep_finds_total{backend="api"}`
	db, b := fresh(t), newBackend(t, nil)
	relay, through := relayed(t, db.cfg)
	n := start(t, "n", through, b.config())
	jobs := 0
	run := func() {
		t.Helper()
		db.create(nil)
		jobs++
		db.settled(jobs)
	}
	run()
	for over := time.Now().Add(patience); n.metric(deaf) == 0; {
		if time.Now().After(over) {
			t.Fatal("the node never found its feed deaf")
		}
		deafen(db, n, relay)
		jobs++
		run()
		soon(10*time.Second, func() bool { return n.metric(deaf) > 0 }) // else the race was lost: once more
	}
	n.says(http.StatusOK, "ready")
	eventually(t, "it hears again: a job starts that no sweep found", func() (bool, any) {
		found := n.metric(finds)
		run()
		return n.metric(finds) == found, found
	})
}

// deafen makes the node subscribe while a transaction is open that began before and is the first to
// write after: the database remembers the subscriptions as that transaction saw them. It creates a job.
func deafen(db *database, n *node, r *relay) {
	db.tb.Helper()
	written := make(chan error, 1)
	go func() {
		written <- db.try("BEGIN; SELECT id FROM job LIMIT 1; SLEEP 1500ms; CREATE job SET path = '/task'; COMMIT", nil)
	}()
	db.exec("SLEEP 200ms", nil)
	before := n.metric(subscriptions)
	r.strikeLive(db.tb, (*line).reset)
	eventually(db.tb, "the node subscribes again", func() (bool, any) {
		now := n.metric(subscriptions)
		return now > before, now
	})
	if err := <-written; err != nil {
		db.tb.Fatal(err)
	}
}

// TestSilentWrites: jobs written in the ways that never notify anybody start by the sweep.
func TestSilentWrites(t *testing.T) {
	t.Parallel()
	const one = "CREATE job SET path = '/task'"
	for name, write := range map[string]func(t *testing.T, db *database){
		"after a LET":           func(_ *testing.T, db *database) { db.exec("LET $x = 1; "+one, nil) },
		"after a SELECT":        func(_ *testing.T, db *database) { db.exec("SELECT * FROM job; BEGIN; "+one+"; COMMIT", nil) },
		"after a failure":       func(_ *testing.T, db *database) { _ = db.try("THROW 'no'; "+one, nil) },
		"in an RPC transaction": writeInTransaction,
		"under OPTION IMPORT": func(_ *testing.T, db *database) {
			db.exec("OPTION IMPORT; "+one+", status = 'pending', created_at = time::now(), max_retries = 3, retries = 0, errors = [], retry_strategy = 'linear', updated_at = time::now()", nil)
		},
		"set to pending by hand": writeByHand,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, b := fresh(t), newBackend(t, nil)
			start(t, "n", db.cfg, b.config())
			write(t, db)
			db.settled(1)
		})
	}
}

func writeInTransaction(t *testing.T, db *database) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sdk, err := db.client.DB(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := sdk.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := surrealdb.Query[any](ctx, tx, "CREATE job SET path = '/task'", nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func writeByHand(_ *testing.T, db *database) {
	id := db.create(nil)
	db.settled(1)
	db.exec("LET $x = 1; UPDATE $id SET status = 'pending', result = NONE", map[string]any{"id": id})
}

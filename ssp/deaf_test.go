package ssp

import (
	"fmt"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// TestReport1ADeafFeedIsNoticedAndHealed makes the database forget the node's subscription, as
// surrealdb#6983 has it: a transaction that began before the LIVE SELECT and writes after it is the
// first to look the subscriptions up, and remembers a list without the new one. Afterwards no write
// notifies the node any more, and no error tells it.
func TestReport1ADeafFeedIsNoticedAndHealed(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	n := r.start(s.backends())
	r.settled(r.job("warm", "/x", nil), "success")
	jobs := 0
	heard := func() bool { // whether a job starts that no sweep has found
		jobs++
		before := n.metric("spky_sweep_finds_total")
		r.settled(r.job(fmt.Sprint("heard", jobs), "/x", nil), "success")
		return n.metric("spky_sweep_finds_total") == before
	}
	deaf := func() bool { return n.metric("spky_live_deaf_total", "job") > 0 }
	for round := 0; !deaf(); round++ { // more than once, for the race is lost at times
		r.deafen(n, n.lanes[0].feed, "job", "CREATE $id SET path = '/x'", map[string]any{"id": surreal.NewRecordID("job", fmt.Sprint("slow", round))})
		r.eventually("the node hears, or notices that it is deaf", func() bool { return deaf() || heard() })
	}
	r.eventually("it listens again", func() bool { return n.metric("spky_live_up") == 1 })
	r.eventually("it hears again", heard)
	if want := r.count("job", "success"); len(s.requests()) != want {
		t.Errorf("%d requests for %d jobs", len(s.requests()), want)
	}
}

// deafen lets a feed of the node subscribe anew between the beginning and the first write to its table
// of a slow transaction, which lasts longer than the database is made to forget who listens.
func (r *rig) deafen(n *running, f *feed, table, write string, vars map[string]any) {
	r.tb.Helper()
	before := n.metric("spky_live_subscriptions_total", table)
	wrote := make(chan error, 1)
	slow := r.connect()
	go func() {
		wrote <- surreal.Exec(r.ctx, slow, "BEGIN; SELECT id FROM "+table+" LIMIT 1; CREATE begun SET x = 1; SLEEP 3s; "+write+"; COMMIT", vars)
	}()
	r.exec("SLEEP 150ms", nil) // by then the other transaction has begun
	f.renew()
	r.eventually("the node has subscribed again", func() bool { return n.metric("spky_live_subscriptions_total", table) > before })
	if err := <-wrote; err != nil {
		r.tb.Fatal(err)
	}
}

// connect is one more connection to the rig's database.
func (r *rig) connect() *surreal.Client {
	r.tb.Helper()
	db, stop, err := surreal.Connect(r.ctx, r.cfg)
	if err != nil {
		r.tb.Fatalf("connect: %v", err)
	}
	r.tb.Cleanup(func() { _ = stop() })
	return db
}

package ssp

import (
	"fmt"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// TestDeafSubscriptionsOfUsersAreHealed makes the database forget a subscription, as
// TestReport1ADeafFeedIsNoticedAndHealed does with the node's own.
func TestDeafSubscriptionsOfUsersAreHealed(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	n := r.start(serve(t, nil).backends())
	listener, writer := r.connect(), r.connect()
	r.exec("DEFINE TABLE followed", nil)
	writes := 0
	hears := func(live *surreal.Live) bool { // a write that must be reported, and one on a fresh subscription that proves it
		writes++
		r.exec(fmt.Sprintf("DEFINE TABLE proof%d", writes), nil)
		proof, err := listener.Live(r.ctx, surreal.LiveConfig{Statement: fmt.Sprintf("LIVE SELECT id FROM proof%d", writes)})
		if err != nil {
			t.Fatal(err)
		}
		r.exec(fmt.Sprintf("CREATE followed SET n = %d", writes), nil)
		r.exec(fmt.Sprintf("CREATE proof%d SET n = 1", writes), nil)
		<-proof.C()
		events, _ := live.Take()
		return len(events) > 0
	}
	for range 20 {
		wrote := make(chan error, 1)
		go func() {
			wrote <- surreal.Exec(r.ctx, writer, "BEGIN; SELECT id FROM followed LIMIT 1; CREATE begun SET x = 1; SLEEP 400ms; CREATE followed SET slow = true; COMMIT", nil)
		}()
		r.exec("SLEEP 100ms", nil) // by then the other transaction has begun
		live, err := listener.Live(r.ctx, surreal.LiveConfig{Statement: "LIVE SELECT id FROM followed WHERE n != NONE"})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if hears(live) {
			live.Close(r.ctx) // the race was lost
			continue
		}
		if err := n.refreshTable(r.ctx, "followed"); err != nil {
			t.Fatal(err)
		}
		r.eventually("it hears", func() bool { return hears(live) })
		return
	}
	t.Fatal("no subscription could be made deaf")
}

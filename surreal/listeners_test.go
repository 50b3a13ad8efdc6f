package surreal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// beside does something while a transaction is under way that has seen the table before and writes to it afterwards.
// It answers with what came of the transaction.
func beside(t *testing.T, c *Client, table string, do func()) error {
	t.Helper()
	older := make(chan error, 1)
	go func() {
		older <- Exec(testContext(t), c, "BEGIN; SELECT id FROM "+table+" LIMIT 1; SLEEP 600ms; CREATE "+table+":slow; COMMIT", nil)
	}()
	exec(t, c, "SLEEP 200ms", nil) // by then the other transaction has begun
	do()
	return <-older
}

// until does something again and again until it holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for ctx := testContext(t); !holds(); {
		if ctx.Err() != nil {
			t.Fatalf("within %v not so: %s", patience, what)
		}
	}
}

// TestASubscriptionHearsAlsoBesideOlderTransactions subscribes while a transaction is under way that writes to the table
// afterwards, and remembers for everybody that nobody listens.
func TestASubscriptionHearsAlsoBesideOlderTransactions(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; CREATE job:old", nil)
	var live *Live
	err := beside(t, c, "job", func() {
		live = openLive(t, c, LiveConfig{Table: "job", Statement: "LIVE SELECT id FROM job"})
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the subscription hears", func() bool {
		exec(t, c, "CREATE job", nil)
		events, _ := live.Take()
		return len(events) > 0
	})
}

// TestASubscriptionEndsAlsoBesideOlderTransactions ends one whose condition fails for every row, and with it who writes
// the row: as long as the database remembers it nobody can write.
func TestASubscriptionEndsAlsoBesideOlderTransactions(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; CREATE job:old; DEFINE FUNCTION fn::refuse() { THROW 'heard' }", nil)
	for refused := false; !refused; { // unless the transaction has begun too late
		live := openLive(t, c, LiveConfig{Table: "job", Statement: "LIVE SELECT id FROM job WHERE fn::refuse()"})
		refused = beside(t, c, "job", func() { live.Close(testContext(t)) }) != nil
	}
	until(t, "the subscription is forgotten", func() bool {
		_, err := c.Query(testContext(t), "CREATE job", nil)
		return err == nil
	})
}

func TestForgetListenersSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := open(t)
	if err := c.ForgetListeners(testContext(t), "nobody's"); !IsNotFound(err) {
		t.Errorf("a table that is not there: %v", err)
	}
	exec(t, c, "DEFINE TABLE `some\\`day`", nil)
	if err := c.ForgetListeners(testContext(t), "some`day"); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(testContext(t))
	cancel()
	if err := c.ForgetListeners(ended, "job"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that has ended: %v", err)
	}
}

// TestForgettingIsPlannedSomeTimes has subscriptions come and go faster than lists are forgotten.
func TestForgettingIsPlannedSomeTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := forgetter{wake: make(chan struct{}, 1)}
		for range 1000 {
			f.changed("a")
		}
		f.changed("b")
		f.changed("")
		if table, wait := f.next(time.Now()); table != "" || wait != forgetAfter()[0] {
			t.Errorf("at once: %q, and more in %v", table, wait)
		}
		seen := map[string]int{}
		for table := "-"; table != ""; table, _ = f.next(time.Now().Add(time.Minute)) {
			seen[table]++
		}
		if many := len(forgetAfter()); seen["b"] != many || seen["a"] < many || len(seen) != 3 {
			t.Errorf("planned: %v", seen)
		}
	})
}

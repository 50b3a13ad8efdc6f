package surreal

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// collect takes events until enough says so.
func collect(tb testing.TB, live *Live, enough func([]Event) bool) []Event {
	tb.Helper()
	ctx := testContext(tb)
	var events []Event
	for {
		more, overflow := live.Take()
		if overflow {
			tb.Fatal("overflow")
		}
		events = append(events, more...)
		if enough(events) {
			return events
		}
		if err := live.Err(); err != nil {
			tb.Fatalf("the live query ended: %v", err)
		}
		select {
		case <-live.C():
		case <-ctx.Done():
			tb.Fatalf("only %d events came: %v", len(events), events)
		}
	}
}

func openLive(tb testing.TB, c *Client, cfg LiveConfig) *Live {
	tb.Helper()
	live, err := c.Live(testContext(tb), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return live
}

func TestLiveReportsChanges(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; CREATE job:old SET n = 0", nil)
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT n FROM job WHERE n >= $least", Vars: map[string]any{"least": 1}})
	exec(t, c, "CREATE job:a SET n = 1", nil)
	exec(t, c, "CREATE job:hidden SET n = 0", nil)
	exec(t, c, "UPDATE job:old SET n = 5", nil)
	exec(t, c, "DELETE job:a; DELETE job:old", nil)
	seen := map[string]Event{}
	collect(t, live, func(events []Event) bool {
		for _, e := range events {
			seen[e.Action+" "+FormatID(e.Record)] = e
		}
		_, a := seen["DELETE job:a"]
		_, old := seen["DELETE job:old"]
		return a && old
	})
	if _, ok := seen["CREATE job:hidden"]; ok {
		t.Error("an event of a row outside of the filter came")
	}
	var row struct{ N int }
	if err := seen["DELETE job:old"].Decode(&row); err != nil || row.N != 5 {
		t.Errorf("the deleted row is %+v, %v", row, err)
	}
}

func TestLiveCoalescesPerRecord(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; DEFINE TABLE done", nil)
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	fence := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM done"})
	exec(t, c, `BEGIN;
		CREATE job:a SET n = 0; CREATE job:b SET n = 0;
		FOR $i IN 1..=50 { UPDATE job:a SET n = $i; };
		DELETE job:b;
		CREATE done:1;
		COMMIT`, nil)
	collect(t, fence, func(events []Event) bool { return len(events) == 1 })
	events := collect(t, live, func(events []Event) bool { return len(events) > 0 })
	if len(events) != 2 {
		t.Fatalf("%d events: %v", len(events), events)
	}
	var row struct{ N int }
	if err := events[0].Decode(&row); err != nil || FormatID(events[0].Record) != "job:a" || row.N != 50 {
		t.Errorf("first %v: %+v, %v", events[0].Record, row, err)
	}
	if events[1].Action != "DELETE" || FormatID(events[1].Record) != "job:b" {
		t.Errorf("second: %s %v", events[1].Action, events[1].Record)
	}
}

func TestLiveOverflowIsReportedOnceAndHeals(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; DEFINE TABLE done", nil)
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job", Buffer: 10})
	fence := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM done"})
	exec(t, c, "BEGIN; FOR $i IN 0..25 { CREATE type::record('job', $i) SET n = 1; }; CREATE done:1; COMMIT", nil)
	collect(t, fence, func(events []Event) bool { return len(events) == 1 })
	events, overflow := live.Take()
	if len(events) != 10 || !overflow {
		t.Fatalf("%d events, overflow %v", len(events), overflow)
	}
	if events, overflow := live.Take(); len(events) != 0 || overflow {
		t.Errorf("again: %d events, overflow %v", len(events), overflow)
	}
	exec(t, c, "UPDATE job:3 SET n = 2", nil)
	if events := collect(t, live, func(events []Event) bool { return len(events) > 0 }); FormatID(events[0].Record) != "job:3" {
		t.Errorf("afterwards: %v", events)
	}
}

// A consumer that never takes anything holds up neither calls nor other live queries.
func TestIdleConsumerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job", nil)
	idle := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job", Buffer: 5})
	busy := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	const rows = 2000
	exec(t, c, fmt.Sprintf("FOR $i IN 0..%d { CREATE type::record('job', $i); }", rows), nil)
	seen := map[string]bool{}
	collect(t, busy, func(events []Event) bool {
		for _, e := range events {
			seen[FormatID(e.Record)] = true
		}
		return len(seen) == rows
	})
	if n, err := First[int](testContext(t), c, "RETURN 1", nil); n != 1 || err != nil {
		t.Errorf("a call: %v, %v", n, err)
	}
	if events, overflow := idle.Take(); len(events) != 5 || !overflow {
		t.Errorf("the idle one has %d events, overflow %v", len(events), overflow)
	}
}

func TestLiveEndsWithItsTable(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job", nil)
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	exec(t, c, "REMOVE TABLE job", nil)
	expectKilled(t, live)
	_, err := c.Live(testContext(t), LiveConfig{Statement: "LIVE SELECT * FROM job"})
	if !IsNotFound(err) {
		t.Errorf("on the removed table: %v", err)
	}
}

func expectKilled(t *testing.T, live *Live) {
	t.Helper()
	for ctx := testContext(t); live.Err() == nil; {
		select {
		case <-live.C():
		case <-ctx.Done():
			t.Fatal("no word of the end")
		}
	}
	live.Close(testContext(t))
	if !errors.Is(live.Err(), ErrKilled) {
		t.Errorf("got %v", live.Err())
	}
}

func TestClosedLiveIsKilledOnTheServer(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job", nil)
	registered := func() int {
		info, err := First[struct {
			Lives map[string]any `json:"lives"`
		}](testContext(t), c, "INFO FOR TABLE job", nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(info.Lives)
	}
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	if n := registered(); n != 1 {
		t.Fatalf("%d live queries", n)
	}
	live.Close(testContext(t))
	live.Close(testContext(t))
	if n := registered(); n != 0 {
		t.Errorf("%d live queries are left", n)
	}
	if !errors.Is(live.Err(), ErrClosed) {
		t.Errorf("Err: %v", live.Err())
	}
	<-live.C() // whoever waits learns of the end
}

func TestLiveRefusesWhatIsNotOne(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job", nil)
	for _, surql := range []string{"SELECT * FROM job", "RETURN 1; LIVE SELECT * FROM job", "DEFINE TABLE a; LIVE SELECT * FROM a", "LIVE SELECT * FROM job; LIVE SELECT * FROM job", "RETURN rand::string()", "LIVE SELECT * FROM nowhere"} {
		if _, err := c.Live(testContext(t), LiveConfig{Statement: surql}); err == nil {
			t.Errorf("%s: no error", surql)
		}
	}
	if c.alive().feeds.registering != 0 {
		t.Error("a registration is still under way")
	}
}

// Giving up a registration drops the connection, so that the server forgets a live query nobody knows.
func TestAbandonedRegistrationIsForgotten(t *testing.T) {
	t.Parallel()
	proxy, cfg := proxied(t, testConfig(t))
	direct := open(t)
	cfg.Namespace, cfg.Database = direct.cfg.Namespace, direct.cfg.Database
	cfg.PingTimeout = patience
	seen := watch(&cfg)
	c := connect(t, cfg)
	exec(t, direct, "DEFINE TABLE job", nil)
	proxy.Delay(patience)
	ctx, cancel := context.WithCancel(testContext(t))
	failed := make(chan error, 1)
	go func() {
		_, err := c.Live(ctx, LiveConfig{Statement: "LIVE SELECT * FROM job"})
		failed <- err
	}()
	for sent := false; !sent; {
		tr := c.alive()
		tr.calls.mu.Lock()
		for _, call := range tr.calls.waiting {
			sent = sent || call.state.Load() == frameWritten
		}
		tr.calls.mu.Unlock()
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	proxy.Restore()
	seen.until(t, func(s State) bool { return s.Connected && s.Reconnects == 1 })
}

// The end comes while events pour in (report 40). Some of these live queries are deaf: they are registered while
// others write.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	writer := connect(t, cfg)
	exec(t, writer, "DEFINE TABLE job", nil)
	ctx, cancel := context.WithCancel(testContext(t))
	written, wrote := make(chan error, 1), make(chan struct{})
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			err := Exec(ctx, writer, "FOR $i IN 0..20 { CREATE job SET n = $n; }", map[string]any{"n": n})
			if err != nil && ctx.Err() == nil {
				written <- err
				return
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
		written <- nil
	}()
	for round := range 15 {
		c, stop, err := Connect(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var lives []*Live
		for range 3 {
			lives = append(lives, openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"}))
		}
		for range 3 {
			select {
			case <-wrote:
			case err := <-written:
				t.Fatal(err)
			}
		}
		if round%2 == 0 {
			go lives[1].Close(testContext(t))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, live := range lives {
			live.Take()
			if live.Err() == nil {
				t.Error("a live query outlived its client")
			}
		}
	}
	cancel()
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// Ten clients subscribe at once (report 11): conflicts between registrations are the caller's to retry.
func TestManySubscribeAtOnce(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	first := connect(t, cfg)
	exec(t, first, "DEFINE TABLE job", nil)
	ctx := testContext(t)
	results := make(chan error, 10)
	for range cap(results) {
		c := connect(t, cfg)
		go func() {
			results <- Retry(ctx, func(ctx context.Context) error {
				_, err := c.Live(ctx, LiveConfig{Statement: "LIVE SELECT * FROM job"})
				return err
			})
		}()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

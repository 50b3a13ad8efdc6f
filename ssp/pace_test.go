package ssp

import (
	"net/http"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestPaceDecides walks through a day of a lane: seconds with so many jobs each.
func TestPaceDecides(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1000, 0)
	p.decide(now)
	second := func(heard, claimed int) bool {
		p.catch(true)
		p.catch(false)
		p.count(heard, claimed)
		now = now.Add(paceWindow)
		polling, _ := p.decide(now)
		return polling
	}
	steps := []struct {
		heard, claimed int
		polling        bool
	}{
		{0, 0, false},
		{20, 20, false},
		{busyRate - 1, busyRate - 1, false},
		{busyRate, 3, true},
		{0, busyRate, true},
		{0, calmRate, true},
		{0, 0, true},
		{0, calmRate, true},
		{0, 5, true},
		{0, 5, false},
		{20, 20, false},
		{0, busyRate * 4, true},
		{0, 0, true},
		{0, 0, false},
	}
	for i, s := range steps {
		if got := second(s.heard, s.claimed); got != s.polling {
			t.Fatalf("step %d, %d jobs heard and %d claimed: polling %t, want %t", i, s.heard, s.claimed, got, s.polling)
		}
	}
}

// TestWhoIsBehindPolls has a lane whose jobs go slowly, and of which more are due than it can take.
func TestWhoIsBehindPolls(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1000, 0)
	p.decide(now)
	for i, s := range []struct{ behind, polling bool }{{true, true}, {true, true}, {false, true}, {false, false}, {true, true}} {
		p.catch(true)
		p.catch(s.behind)
		p.count(1, 1)
		now = now.Add(paceWindow)
		if polling, _ := p.decide(now); polling != s.polling {
			t.Fatalf("second %d, behind %t: polling %t, want %t", i, s.behind, polling, s.polling)
		}
	}
}

// TestNobodyListensWhileItsSlotsAreTaken has a backend that answers nothing, and more jobs than it has slots.
func TestNobodyListensWhileItsSlotsAreTaken(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	answer := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-answer })
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 1 }))
	r.tenants("x", repeated(100, "")...)
	r.eventually("the lane polls", func() bool { return n.metric("spky_polling") == 1 })
	close(answer)
	r.eventually("all are done", func() bool { return r.count("job", "success") == 100 })
	r.eventually("the lane listens again", func() bool { return n.metric("spky_polling") == 0 && n.metric("spky_live_up") == 1 })
	if got := len(s.requests()); got != 100 {
		t.Errorf("%d requests for 100 jobs", got)
	}
}

// TestABusyWindowEndsEarly lets a burst be noticed before its second is over.
func TestABusyWindowEndsEarly(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1000, 0)
	p.decide(now)
	p.count(busyRate, 0)
	if polling, changed := p.decide(now.Add(10 * time.Millisecond)); !polling || !changed {
		t.Errorf("a burst changes nothing: polling %t, changed %t", polling, changed)
	}
	if polling, changed := p.decide(now.Add(20 * time.Millisecond)); !polling || changed {
		t.Errorf("right after the change: polling %t, changed %t", polling, changed)
	}
}

// TestABurstIsPolledAndEachJobRunsOnce writes 2,000 jobs at once and then a single one. On a slow machine
// even that many may come slowly, so the lane is told that it is busy.
func TestABurstIsPolledAndEachJobRunsOnce(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	n := r.start(s.backends())
	l := n.lanes[0]
	busy := func() bool {
		l.pace.count(busyRate, 0)
		l.poke()
		return n.metric("spky_polling") == 1
	}
	r.eventually("the lane polls", busy)
	if !l.feed.hears() {
		t.Error("a feed that is paused on purpose counts as deaf")
	}
	const jobs = 2000
	rows := make([]map[string]any, jobs)
	for i := range rows {
		rows[i] = map[string]any{"id": surreal.NewRecordID("job", i), "path": "/x"}
	}
	for at := 0; at < jobs; at += 200 {
		r.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows[at : at+200]})
	}
	r.eventually("all are done", func() bool { return busy() && r.count("job", "success") == jobs })
	if got := len(s.requests()); got != jobs {
		t.Errorf("%d requests for %d jobs", got, jobs)
	}
	if n.metric("spky_live_up") != 0 {
		t.Error("the feed is up while the lane polls")
	}
	r.eventually("the lane listens again", func() bool { return n.metric("spky_polling") == 0 && n.metric("spky_live_up") == 1 })
	r.settled(r.job("after", "/x", nil), "success")
}

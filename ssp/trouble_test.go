package ssp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestARowThatCanNotBeClaimedIsLeftAlone has rows whose every update the table refuses. They are the
// oldest, and there are more of them than slots; the others must run all the same.
func TestARowThatCanNotBeClaimedIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends()).stop() // prepares the table
	for i := range 40 {
		r.job(fmt.Sprint("bad", i), "/bad", map[string]any{"payload": "poison"})
	}
	r.exec("DEFINE FIELD OVERWRITE payload ON job TYPE any ASSERT $value != 'poison'", nil)
	n := r.start(s.backends(func(b *config.Backend) { b.Concurrency = 4 }))
	for i := range 40 {
		r.job(fmt.Sprint("good", i), "/good", nil)
	}
	for i := range 40 {
		r.settled(surreal.NewRecordID("job", fmt.Sprint("good", i)), "success")
	}
	r.eventually("the bad rows are known as such", func() bool {
		n.lanes[0].mu.Lock()
		defer n.lanes[0].mu.Unlock()
		return len(n.lanes[0].poison) >= 40
	})
	if !strings.Contains(n.log.String(), "can't be claimed") {
		t.Error("the log does not tell of the bad rows")
	}
	if got := len(s.requests("/bad")); got > 0 {
		t.Errorf("%d requests of rows that were never claimed", got)
	}
	r.eventually("all slots are free", func() bool { return n.metric("spky_slots_busy") == 0 })
	if got := r.count("job", "pending"); got != 40 {
		t.Errorf("%d rows are pending, want the 40 bad ones", got)
	}
}

// TestReportJ23APanicEndsOneJob has a backend whose description makes every attempt panic.
func TestReportJ23APanicEndsOneJob(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.outbox("other")
	s := serve(t, nil)
	n := r.start([]config.Backend{
		s.backend(func(b *config.Backend) { b.Name, b.BaseURL, b.Concurrency = "broken", nil, 2 }),
		s.backend(func(b *config.Backend) { b.Name, b.Table = "fine", "other" }),
	})
	for i := range 10 {
		r.job(i, "/x", nil)
		r.jobIn("other", i, "/x", nil)
	}
	for i := range 10 {
		if row := r.settled(surreal.NewRecordID("job", i), "failed"); row.codes() != "refused" {
			t.Errorf("job is %+v", row)
		}
		r.settled(surreal.NewRecordID("other", i), "success")
	}
	r.eventually("all slots are free", func() bool { return n.metric("spky_slots_busy") == 0 })
	if !strings.Contains(n.log.String(), "panic in an attempt") {
		t.Error("the log does not tell of the panic")
	}
}

// TestReport20WritersThatFightForTheRowsCostNothing has users update pending and running jobs all the
// time, so that claims and outcomes lose conflicts.
func TestReport20WritersThatFightForTheRowsCostNothing(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	const jobs = 150
	s := serve(t, nil)
	n := r.start(s.backends())
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 4 {
		db := r.connect()
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					// Losing a conflict is what this is about.
					_ = surreal.Exec(r.ctx, db, "UPDATE job SET payload = rand::int() WHERE status IN ['pending', 'processing'] RETURN NONE", nil)
				}
			}
		})
	}
	for i := range jobs {
		r.job(i, "/x", nil)
	}
	r.eventually("all jobs are done", func() bool { return r.count("job", "success") == jobs })
	close(stop)
	writers.Wait()
	if got := len(s.requests()); got != jobs {
		t.Errorf("%d requests for %d jobs", got, jobs)
	}
	r.eventually("all slots are free", func() bool { return n.metric("spky_slots_busy") == 0 })
}

// TestReportJ32ClaimsWhoseAnswerIsTooLargeArriveInTheEnd has payloads of which a few fit into one answer and a
// batch does not.
func TestReportJ32ClaimsWhoseAnswerIsTooLargeArriveInTheEnd(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	const jobs = 12
	for i := range jobs {
		r.job(i, "/x", map[string]any{"payload": strings.Repeat("x", 100<<10)})
	}
	r.start(s.backends(), func(c *Config) { c.DB.MaxMessage = 512 << 10; c.DB.MaxBackoff = 50 * time.Millisecond })
	r.eventually("all jobs are done", func() bool { return r.count("job", "success") == jobs })
	for _, q := range s.requests() {
		if len(q.Body) != 100<<10+2 {
			t.Errorf("a body has %d bytes", len(q.Body))
		}
	}
}

// TestAPayloadThatFitsIntoNoAnswerEndsItsJobAlone has a payload as an end user can have the database make one: larger than
// any answer of it.
func TestAPayloadThatFitsIntoNoAnswerEndsItsJobAlone(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.exec("CREATE job:large SET path = '/large', payload = array::repeat(string::repeat('x', 1000), 700)", nil)
	const jobs = 12
	for i := range jobs {
		r.job(i, "/x", map[string]any{"payload": strings.Repeat("x", 100<<10)})
	}
	n := r.start(s.backends(), func(c *Config) { c.DB.MaxMessage = 512 << 10 })
	r.eventually("all jobs are done", func() bool { return r.count("job", "success") == jobs })
	row := r.settled(surreal.NewRecordID("job", "large"), "failed")
	if row.codes() != "refused" || !strings.Contains(row.Errors[0].Reason, "the answer is too large: 7023") || !strings.HasSuffix(row.Errors[0].Reason, " bytes, at most 524288") {
		t.Errorf("job is %+v", row)
	}
	if got := s.requests("/large"); len(got) > 0 {
		t.Errorf("it was sent: %d requests", len(got))
	}
	if log := n.log.String(); strings.Contains(log, "lost") {
		t.Errorf("a connection was lost over it:\n%s", log)
	}
}

// TestAResultThatTheTableRefusesEndsTheJobAllTheSame has a typed result column.
func TestAResultThatTheTableRefusesEndsTheJobAllTheSame(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec("DEFINE FIELD OVERWRITE result ON job TYPE option<int>", nil)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = w.Write([]byte(map[string]string{"/number": "7", "/text": `"seven"`}[q.URL.Path]))
	})
	n := r.start(s.backends())
	number, text := r.job("number", "/number", nil), r.job("text", "/text", nil)
	if row := r.settled(number, "success"); row.Result != uint64(7) {
		t.Errorf("job is %+v", row)
	}
	if row := r.settled(text, "success"); row.Result != nil {
		t.Errorf("job is %+v", row)
	}
	r.eventually("the log tells that the table refused the result", func() bool { return strings.Contains(n.log.String(), "refused the job's result") })
}

// TestARowWhoseTimeContradictsItsStateIsMended has rows in processing, held by nobody alive, that are
// listed as due all the same, and finished ones.
func TestARowWhoseTimeContradictsItsStateIsMended(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends()).stop() // prepares the table
	held, done := r.job("held", "/x", nil), r.job("done", "/never", nil)
	r.exec(`DEFINE FIELD OVERWRITE run_at ON job TYPE option<datetime>; UPDATE job:held SET status = 'processing', assignee = 'dead', lease_epoch = 3, run_at = time::now();
		UPDATE job:done SET status = 'success', run_at = time::now()`, nil)
	r.start(s.backends())
	if row := r.settled(held, "success"); row.codes() != "lease_expired" {
		t.Errorf("job is %+v", row)
	}
	r.await(done, "no more due", func(j jobRow) bool { return j.Status == "success" && j.RunAt == nil })
	if got := s.requests("/never"); len(got) > 0 {
		t.Errorf("a finished job ran: %+v", got)
	}
}

// TestLongIDsCloseNoCircuit has ids that are as long as a small server's headers may be, as an end user
// could choose them, beside good jobs of the same backend.
func TestLongIDsCloseNoCircuit(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	n := r.start(s.backends())
	var long []surreal.RecordID
	for i := range 6 {
		long = append(long, r.job(strings.Repeat("ä`", 10<<10)+fmt.Sprint(i), "/long", nil))
	}
	for _, id := range append(long, r.job("good", "/good", nil)) {
		r.settled(id, "success")
	}
	if strings.Contains(n.log.String(), "circuit open") {
		t.Error("ids that a user chose opened the backend's circuit")
	}
}

// TestApplyingTheTablesFileAgainDisturbsNothing does what a migration does while a node runs, with jobs
// on their way.
func TestApplyingTheTablesFileAgainDisturbsNothing(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	n := r.start(s.backends(), func(c *Config) { c.SweepInterval = time.Second })
	running, delayed := r.job("running", "/x", nil), r.job("delayed", "/x", map[string]any{"delay": 1000})
	r.eventually("a job is on its way", func() bool { return g.inside.Load() == 1 })
	r.outbox("job")
	g.release()
	r.settled(running, "success")
	r.settled(delayed, "success")
	r.settled(r.job("after", "/x", nil), "success")
	r.eventually("the node listens", func() bool { return n.metric("spky_live_up") == 1 })
}

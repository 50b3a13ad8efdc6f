package ssp

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// A journal is a backend that notes how many requests of each tenant it serves at once.
type journal struct {
	mu    sync.Mutex
	now   map[string]int
	most  map[string]int
	done  int
	inner func(tenant string, q *http.Request) // what a request does meanwhile
}

func newJournal(inner func(tenant string, q *http.Request)) *journal {
	return &journal{now: map[string]int{}, most: map[string]int{}, inner: inner}
}

func (j *journal) serve(_ http.ResponseWriter, q *http.Request) {
	tenant := q.URL.Query().Get("tenant")
	j.mu.Lock()
	j.now[tenant]++
	j.most[tenant] = max(j.most[tenant], j.now[tenant])
	j.mu.Unlock()
	j.inner(tenant, q)
	j.mu.Lock()
	j.now[tenant]--
	j.done++
	j.mu.Unlock()
}

func (j *journal) check(tb testing.TB, limit int) {
	tb.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for tenant, most := range j.most {
		if tenant != "" && most > limit {
			tb.Errorf("%d requests of tenant %s at once, want %d at most", most, tenant, limit)
		}
	}
}

// parted parts a backend's jobs by payload.tenant.
func parted(limit int) func(*config.Backend) {
	return func(b *config.Backend) { b.PartitionBy, b.PartitionConcurrency = "payload.tenant", limit }
}

// tenants writes jobs of tenants, many at a time; an empty name is none.
func (r *rig) tenants(prefix string, names ...string) {
	r.tb.Helper()
	for from := 0; from < len(names); from += 500 {
		var rows []map[string]any
		for i, name := range names[from:min(from+500, len(names))] {
			row := map[string]any{"id": surreal.NewRecordID("job", fmt.Sprint(prefix, from+i)), "path": "/x?tenant=" + name, "payload": map[string]any{"tenant": name}}
			if name == "" {
				row["payload"] = nil
			}
			rows = append(rows, row)
		}
		r.exec("INSERT INTO job $rows RETURN NONE", map[string]any{"rows": rows})
	}
}

func repeated(n int, names ...string) []string {
	var all []string
	for range n {
		all = append(all, names...)
	}
	return all
}

// TestNodesTogetherKeepThePartitionsLimit has three nodes, one of which stops on the way, and tenants with
// many jobs, with few and with none.
func TestNodesTogetherKeepThePartitionsLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			look := r.connect()
			j := newJournal(func(string, *http.Request) { // takes as long as the database does
				_ = surreal.Exec(r.ctx, look, "RETURN 1", nil)
			})
			s := serve(t, j.serve)
			backends := s.backends(parted(limit))
			first := r.start(backends)
			r.start(backends)
			r.start(backends)
			names := append(repeated(15, "a", "a", "b", "c", ""), repeated(1, "d", "e", "f")...)
			r.tenants("early", names...)
			r.eventually("some are done", func() bool { return len(s.requests()) > 15 })
			first.stop()
			r.tenants("late", names...)
			r.eventually("all are done", func() bool { return len(s.requests()) >= 2*len(names) && r.count("job", "success") == 2*len(names) })
			j.check(t, limit)
			if got := len(s.requests()); got != 2*len(names) {
				t.Errorf("%d requests for %d jobs", got, 2*len(names))
			}
		})
	}
}

// TestAHotPartitionHoldsUpNoOther has very many due jobs of a tenant whose requests hang, all of them
// older than those of the others.
func TestAHotPartitionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	g := newGate()
	s := newService(newJournal(func(tenant string, q *http.Request) {
		if tenant == "hot" {
			g.serve(nil, q)
		}
	}).serve)
	s.Start()
	t.Cleanup(func() { g.release(); s.Close() })
	backends := s.backends(parted(1), func(b *config.Backend) { b.Concurrency, b.Timeout = 3, time.Hour })
	r.start(backends).stop() // prepares the table
	r.tenants("hot", repeated(1500, "hot")...)
	r.tenants("cold", repeated(10, "a", "b", "c", "")...)
	n := r.start(backends)
	for i := range 40 {
		r.settled(surreal.NewRecordID("job", fmt.Sprint("cold", i)), "success")
	}
	r.tenants("later", repeated(10, "d", "e", "a", "")...)
	for i := range 40 {
		r.settled(surreal.NewRecordID("job", fmt.Sprint("later", i)), "success")
	}
	if g.inside.Load() != 1 || g.answered.Load() != 0 {
		t.Errorf("%d requests of the hot tenant, %d answered; want 1 and 0", g.inside.Load(), g.answered.Load())
	}
	r.eventually("all that wait are in the queue", func() bool {
		due, err := n.lanes[0].table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Hour), 10)
		return err == nil && len(due) == 0
	})
	if got := r.count("job", "processing"); got != 1 {
		t.Errorf("%d jobs are in processing, want the one of the hot tenant", got)
	}
	g.release()
}

// TestPartitionsTakeTurns has as many tenants with long queues as there are slots, and one that comes late:
// it must not wait for their old jobs.
func TestPartitionsTakeTurns(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	backends := s.backends(parted(1), func(b *config.Backend) { b.Concurrency = 2 })
	r.start(backends).stop() // prepares the table
	const old = 200
	r.tenants("old", repeated(old/2, "a", "b")...)
	r.start(backends)
	r.eventually("the old ones run", func() bool { return len(s.requests()) > 0 })
	r.tenants("late", "late")
	r.settled(surreal.NewRecordID("job", "late0"), "success")
	if left := r.count("job", "pending"); left == 0 {
		t.Error("the late job came last")
	}
	r.eventually("all are done", func() bool { return len(s.requests()) > old && r.count("job", "success") == old+1 })
}

// TestWhatADeadNodeLeavesInAQueueRuns has a node that died while it held a slot, after others had put
// jobs into the queue, and one that died right after it had freed a slot.
func TestWhatADeadNodeLeavesInAQueueRuns(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	j := newJournal(func(string, *http.Request) {})
	s := serve(t, j.serve)
	r.start(s.backends(parted(1))).stop() // prepares the table
	table := outbox.New(outbox.Config{DB: r.db, Name: "job", PartitionBy: "payload.tenant", PartitionConcurrency: 1})
	r.tenants("held", repeated(5, "held")...)
	r.tenants("freed", repeated(5, "freed")...)
	due, err := table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Minute), 100)
	if err != nil {
		t.Fatal(err)
	}
	offer := outbox.Offer{Room: 100}
	for _, row := range due {
		offer.Looks = append(offer.Looks, outbox.Look{ID: row.ID})
	}
	got, err := table.ClaimPartitioned(r.ctx, "dead", offer)
	if err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	for _, job := range got.Jobs {
		if surreal.FormatID(job.ID) == "job:freed0" {
			if _, err := table.Settle(r.ctx, []outbox.Outcome{{ID: job.ID, Epoch: job.Epoch, Status: outbox.Success}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.start(s.backends(parted(1)))
	r.eventually("all are done", func() bool { return r.count("job", "success") == 10 })
	j.check(t, 1)
	if row, _ := r.row(surreal.NewRecordID("job", "held0")); row.codes() != "lease_expired" {
		t.Errorf("the job of the dead node is %+v", row)
	}
}

// TestFailedAttemptsGiveTheSlotAway has jobs that fail and wait: others of the tenant run meanwhile.
func TestFailedAttemptsGiveTheSlotAway(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/bad" {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	r.start(s.backends(parted(1)))
	tenant := map[string]any{"payload": map[string]any{"tenant": "a"}}
	r.job("bad", "/bad", tenant)
	for i := range 5 {
		r.job(i, "/good", tenant)
	}
	for i := range 5 {
		r.settled(surreal.NewRecordID("job", i), "success")
	}
	if row, _ := r.row(surreal.NewRecordID("job", "bad")); row.Status != "pending" || row.Retries != 1 {
		t.Errorf("the bad job is %+v", row)
	}
}

// TestABadRowInAQueueHoldsUpNobody has rows that the table refuses to have written, in the queue and before it.
func TestABadRowInAQueueHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	backends := s.backends(parted(1))
	r.start(backends)
	tenant := map[string]any{"payload": map[string]any{"tenant": "a"}}
	r.job("first", "/x", tenant)
	r.eventually("the first is on its way", func() bool { return g.inside.Load() == 1 })
	for i := range 5 {
		r.job(fmt.Sprint("bad", i), "/bad", tenant)
	}
	r.job("good", "/x", tenant)
	waits := "SELECT VALUE id FROM job WHERE partition_queue != NONE"
	r.eventually("all others wait in the queue", func() bool {
		ids, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, waits, nil)
		return err == nil && len(ids) == 6
	})
	r.exec("DEFINE FIELD OVERWRITE path ON job TYPE string ASSERT $value != '/bad'", nil)
	g.release()
	r.settled(surreal.NewRecordID("job", "first"), "success")
	r.settled(surreal.NewRecordID("job", "good"), "success")
	r.settled(r.job("after", "/x", tenant), "success")
}

// TestAColumnThatIsNotThereEndsTheNode names a column that no job could have, and one that is no name.
func TestAColumnThatIsNotThereEndsTheNode(t *testing.T) {
	t.Parallel()
	for column, want := range map[string]error{"tenant": nil, "x`; REMOVE TABLE job; --": schema.ErrPartition} {
		r := newJobs(t)
		node, err := New(Config{DB: r.cfg, Backends: serve(t, nil).backends(func(b *config.Backend) { b.PartitionBy = column })})
		if err != nil {
			t.Fatal(err)
		}
		err = node.Run(r.ctx)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("partitioned by %s: Run answered %v", column, err)
		}
	}
}

package ssp

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// A cancellation is what the database answers to one: the state that it found the job in, and whether it changed anything.
type cancellation struct {
	Status  outbox.Status `json:"status"`
	Changed bool          `json:"changed"`
}

// canceller cancels jobs as an operator's tools do.
func (r *rig) canceller() func(surreal.RecordID) (cancellation, error) {
	r.tb.Helper()
	box, err := schema.InspectOutbox(r.ctx, r.db, "job")
	if err != nil {
		r.tb.Fatal(err)
	}
	return func(id surreal.RecordID) (cancellation, error) {
		return surreal.First[cancellation](r.ctx, r.db.Retrying(), "RETURN fn::spky::job::cancel($id, $cancelled)", map[string]any{"id": id, "cancelled": box.Cancelled})
	}
}

// cancel cancels a job, which must be possible, and answers with the state that it was in.
func (r *rig) cancel(id surreal.RecordID) outbox.Status {
	r.tb.Helper()
	was, err := r.canceller()(id)
	if err != nil || !was.Changed {
		r.tb.Fatalf("cancel %s: %+v, %v", surreal.FormatID(id), was, err)
	}
	return was.Status
}

func TestCancellingAPendingJobKeepsItFromRunning(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	r.start(s.backends(func(b *config.Backend) { b.Concurrency = 1 }))
	first := r.job("first", "/first", nil)
	r.eventually("the slot is taken", func() bool { return g.inside.Load() == 1 })
	queued, delayed := r.job("queued", "/no", nil), r.job("delayed", "/no", map[string]any{"delay": 200})
	for _, id := range []surreal.RecordID{queued, delayed} {
		r.cancel(id)
	}
	last := r.job("last", "/last", map[string]any{"delay": 300})
	g.release()
	r.settled(first, "success")
	r.settled(last, "success")
	for _, id := range []surreal.RecordID{queued, delayed} {
		if row := r.settled(id, "cancelled"); row.codes() != "cancelled" || row.Retries != 0 {
			t.Errorf("job is %+v", row)
		}
	}
	if got := s.requests("/no"); len(got) > 0 {
		t.Errorf("cancelled jobs ran: %+v", got)
	}
}

// TestCancellingARunningJobAbortsItsRequest does so on a table that knows the word and on one that does not.
func TestCancellingARunningJobAbortsItsRequest(t *testing.T) {
	t.Parallel()
	for word, change := range map[string]string{
		"cancelled": "",
		"failed":    `DEFINE FIELD OVERWRITE status ON job TYPE string DEFAULT ALWAYS 'pending' ASSERT $value IN ['pending', 'processing', 'success', 'failed']`,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			r.exec(change+";", nil)
			gone := make(chan struct{}, 1)
			s := serve(t, func(_ http.ResponseWriter, q *http.Request) {
				<-q.Context().Done()
				gone <- struct{}{}
			})
			// The next sweep is an hour away: only the signal can tell the node.
			n := r.start(s.backends(func(b *config.Backend) { b.Timeout = time.Hour }), func(c *Config) { c.SweepInterval = time.Hour })
			id := r.job("x", "/x", nil)
			r.eventually("it runs", func() bool { return len(s.requests()) == 1 })
			if was := r.cancel(id); was != outbox.Processing {
				t.Fatalf("cancel found %q", was)
			}
			select {
			case <-gone:
			case <-r.ctx.Done():
				t.Fatal("the request goes on")
			}
			if row := r.settled(id, word); row.codes() != "cancelled" || row.Retries != 0 {
				t.Errorf("job is %+v", row)
			}
			r.eventually("the slot is free", func() bool { return n.metric("spky_slots_busy") == 0 })
			r.eventually("it is counted", func() bool { return n.metric("spky_jobs_cancelled_total") == 1 })
			r.eventually("no signal is left", func() bool {
				left, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM _00_signal", nil)
				return err == nil && len(left) == 0
			})
		})
	}
}

// TestACancellationWhoseSignalGetsLostIsFoundBySweep writes only the column, as if no signal had come.
func TestACancellationWhoseSignalGetsLostIsFoundBySweep(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	r.start(s.backends(func(b *config.Backend) { b.Timeout = time.Hour }))
	id := r.job("x", "/x", nil)
	r.eventually("it runs", func() bool { return g.inside.Load() == 1 })
	r.exec("UPDATE $id SET cancel_requested = time::now() RETURN NONE", map[string]any{"id": id})
	r.settled(id, "cancelled")
}

// TestCancellationAndCompletionHaveOneWinner lets the two race many times. Whatever wins, the row
// tells one consistent story, and no job runs twice.
func TestCancellationAndCompletionHaveOneWinner(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "odd") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	n := r.start(s.backends())
	cancel := r.canceller()
	const jobs = 60
	var wg sync.WaitGroup
	for i := range jobs {
		id := r.job(i, "/"+[]string{"even", "odd"}[i%2], map[string]any{"max_retries": 2})
		wg.Go(func() {
			for range i % 7 {
				_, _ = r.row(id) // a little later each time
			}
			_, _ = cancel(id)
		})
	}
	wg.Wait()
	ends := map[string]int{}
	for i := range jobs {
		row := r.ended(surreal.NewRecordID("job", i))
		ends[row.Status]++
		stories := map[string]string{"success": "", "failed": "500 500"}
		want, ok := stories[row.Status]
		switch {
		case ok && row.codes() == want:
		case row.Status == "cancelled" && slices.Contains([]string{"cancelled", "500 cancelled", "500 500 cancelled"}, row.codes()):
		default:
			t.Errorf("job %d is %+v", i, row)
		}
	}
	t.Log(ends)
	r.eventually("all slots are free", func() bool { return n.metric("spky_slots_busy") == 0 })
	if lost := n.metric("spky_leases_lost_total"); lost != 0 {
		t.Errorf("%v outcomes were dropped", lost)
	}
	r.settled(r.job("after", "/even", nil), "success")
}

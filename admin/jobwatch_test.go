package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// TestWatchJob follows a job from pending to its end, and sees one deleted.
func TestWatchJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jobs()
	id := r.newJob(NewJob{})
	table := outbox.New(outbox.Config{DB: r.db, Name: "job"})
	record, err := surreal.ParseID(id)
	r.check(err)
	var told []string
	end, err := j.Watch(r.ctx, id, func(job Job) error { // what is done to it is told next
		told = append(told, string(job.Status))
		switch job.Status {
		case outbox.Pending:
			_, _, err := table.Claim(r.ctx, "node", []surreal.RecordID{record})
			return err
		case outbox.Processing:
			_, err := table.Settle(r.ctx, []outbox.Outcome{{ID: record, Epoch: 1, Status: outbox.Success, Result: "done"}})
			return err
		}
		return nil
	})
	if err != nil || end.Status != outbox.Success || string(end.Result) != `"done"` || !slices.Equal(told, []string{"pending", "processing", "success"}) {
		t.Errorf("told %q, the end is %s, %v", told, pretty(t, end), err)
	}
	gone := r.newJob(NewJob{ID: "gone"})
	last, err := j.Watch(r.ctx, gone, func(Job) error { r.exec("DELETE job:gone", nil); return nil })
	if !errors.Is(err, ErrNotFound) || last.ID != gone {
		t.Errorf("watch of one that is deleted: %+v, %v", last, err)
	}
	never := func(Job) error { t.Error("told"); return nil }
	if _, err := j.Watch(r.ctx, "nowhere", never); !errors.Is(err, ErrNotFound) {
		t.Errorf("watch of none: %v", err)
	}
	stop := errors.New("enough")
	if _, err := j.Watch(r.ctx, r.newJob(NewJob{}), func(Job) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("watch until the caller has enough: %v", err)
	}
}

// changes follows all changes in the background, through a connection of its own.
func (r *rig) changes(cfg surreal.Config) <-chan JobChange {
	r.t.Helper()
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	j := NewJobs(JobsConfig{DB: db, Tables: []string{"job"}})
	ctx, cancel := context.WithCancel(r.ctx)
	told := make(chan JobChange, 1000)
	ended := make(chan error, 1)
	go func() { ended <- j.Changes(ctx, "", func(c JobChange) error { told <- c; return nil }) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			r.t.Errorf("changes ended with %v", err)
		}
		r.check(stop())
	})
	return told
}

// saw waits for a change that fits, and writes jobs until then: a subscription has no moment of its own
// to wait for.
func (r *rig) saw(told <-chan JobChange, fits func(JobChange) bool) JobChange {
	r.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case c := <-told:
			if fits(c) {
				return c
			}
		case <-ticker.C:
			r.newJob(NewJob{Path: "/again", Payload: []byte(`"secret"`)})
		case <-r.ctx.Done():
			r.t.Fatal("no such change was told")
		}
	}
}

// TestChanges sees jobs come, change and go, without what they hold; and tells of a lost connection.
func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	target, err := url.Parse(r.cfg.Endpoint)
	r.check(err)
	proxy, err := faultproxy.Listen(target.Host)
	r.check(err)
	t.Cleanup(func() { r.check(proxy.Close()) })
	cfg := r.cfg
	cfg.Endpoint = "ws://" + proxy.Addr()
	told := r.changes(cfg)
	c := r.saw(told, func(c JobChange) bool { return c.Path == "/again" })
	if c.Status != outbox.Pending || c.Table != "job" || c.ID == "" || c.Gap || c.Deleted {
		t.Errorf("told %+v", c)
	}
	id := r.newJob(NewJob{ID: "x"})
	_, err = r.jobs().Cancel(r.ctx, id)
	r.check(err)
	r.saw(told, func(c JobChange) bool { return c.ID == id && c.Status == outbox.Cancelled })
	r.exec("DELETE job:x", nil)
	r.saw(told, func(c JobChange) bool { return c.ID == id && c.Deleted })
	proxy.Reset()
	if c := r.saw(told, func(c JobChange) bool { return c.Gap }); c.Table != "job" || c.ID != "" {
		t.Errorf("told %+v", c)
	}
	r.saw(told, func(c JobChange) bool { return c.Gap }) // once somebody listens again
	r.saw(told, func(c JobChange) bool { return c.Path == "/again" })
}

// TestCancelAndRetryWithANode cancels a job whose request is under way, and looks that its backend is
// called once for each time that somebody asked for it.
func TestCancelAndRetryWithANode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mu sync.Mutex
	calls := 0
	begun, hang := make(chan struct{}, 10), true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // else the server does not notice that the client has gone
		mu.Lock()
		calls++
		wait := hang
		mu.Unlock()
		begun <- struct{}{}
		if wait {
			select {
			case <-req.Context().Done():
			case <-r.ctx.Done():
			}
		}
	}))
	t.Cleanup(server.Close)
	r.node(server.URL)
	j := r.jobs()
	id := r.newJob(NewJob{Path: "/x", MaxRetries: 5})
	<-begun
	if was, err := j.Cancel(r.ctx, id); err != nil || was != outbox.Processing {
		t.Fatalf("cancel: %q, %v", was, err)
	}
	end, err := j.Watch(r.ctx, id, func(Job) error { return nil })
	if err != nil || end.Status != outbox.Cancelled || len(end.Errors) == 0 || end.Errors[len(end.Errors)-1].Code != "cancelled" {
		t.Errorf("the end is %s, %v", pretty(t, end), err)
	}
	_, err = j.Cancel(r.ctx, id)
	wants(t, "cancel of a cancelled one", err, new(*StateError), "the job is cancelled")
	mu.Lock()
	hang = false
	mu.Unlock()
	if was, err := j.Retry(r.ctx, id); err != nil || was != outbox.Cancelled {
		t.Errorf("retry: %q, %v", was, err)
	}
	end, err = j.Watch(r.ctx, id, func(Job) error { return nil })
	mu.Lock()
	defer mu.Unlock()
	if err != nil || end.Status != outbox.Success || end.Retries != 0 || len(end.Errors) != 0 || calls != 2 {
		t.Errorf("the end is %s, %v, after %d calls", pretty(t, end), err, calls)
	}
}

// node starts a node for the rig's outbox table.
func (r *rig) node(backend string) {
	r.t.Helper()
	base, err := url.Parse(backend)
	r.check(err)
	node, err := ssp.New(ssp.Config{DB: r.cfg, Jitter: -1, Logger: slog.New(slog.DiscardHandler), Backends: []config.Backend{
		{Name: "api", BaseURL: base, Table: "job", Concurrency: 8, Timeout: 30 * time.Second, RetryOn: config.RetryAll},
	}})
	r.check(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.ctx))
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("node: %v", err)
		}
	})
	select {
	case <-node.Ready():
	case err := <-ended:
		ended <- err
		r.t.Fatalf("node ended: %v", err)
	}
}

// TestOldJobsGetTheirPlace starts a node on a table from before lists, with more jobs than one sweep
// brings up to date.
func TestOldJobsGetTheirPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`REMOVE FIELD newest ON job; REMOVE FIELD listed ON job; REMOVE INDEX idx_job_newest ON job; REMOVE INDEX idx_job_due ON job;
		DEFINE INDEX idx_job_due ON job FIELDS run_at, status`, nil)
	r.exec(`INSERT INTO job (<array> 0..700).map(|$n| { RETURN { id: 700 - $n, path: '/x', status: 'success',
		created_at: d'2024-01-01T00:00:00Z' + duration::from_secs($n) } }) RETURN NONE`, nil)
	r.node("http://127.0.0.1:1")
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for r.json("SELECT VALUE id FROM job WHERE listed = NONE LIMIT 1", nil) != "[]" {
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			t.Fatal("old jobs still have no place")
		}
	}
	page, err := r.jobs().List(r.ctx, JobListOptions{Limit: 3})
	if err != nil || len(page.Jobs) != 3 || page.Jobs[0].ID != "job:1" || page.Jobs[2].ID != "job:3" {
		t.Errorf("listed %s, %v", pretty(t, page), err)
	}
}

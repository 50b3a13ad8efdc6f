package wftest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// attempt is the timeout of a run's request, so long that no budget ends a run.
const attempt = "86400000"

// request asks the engine for a run, as the sync processor does, and waits for its end. The answer is
// the run's state.
func (d *driver) request(job string) string {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.plan.ctx)
	defer cancel()
	body, _ := json.Marshal(map[string]string{"instance": d.plan.id}) // a text
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://backend/__spky/workflow/"+d.plan.binding, bytes.NewReader(body))
	if err != nil {
		d.t.Fatalf("wftest: ask for a run: %v", err)
	}
	r.Header.Set("Spky-Job-Id", url.PathEscape(job))
	r.Header.Set("Spky-Timeout-Ms", attempt)
	ended := make(chan struct{})
	d.mu.Lock()
	d.cancel, d.ended, d.moved = cancel, ended, time.Now()
	d.mu.Unlock()

	answer, done := &recorder{header: http.Header{}}, make(chan struct{})
	engine := d.engine
	go func() { defer close(done); engine.Handler(http.NotFoundHandler()).ServeHTTP(answer, r) }()
	d.await(done)
	if ctx.Err() != nil { // aborted: the run ends by itself, and with it its engine
		d.await(ended)
		d.close()
		d.open(d.store)
	}
	return d.state(answer, ctx.Err() != nil)
}

// state reads the answer to a request for a run, which says no where the run was aborted.
func (d *driver) state(answer *recorder, aborted bool) string {
	d.t.Helper()
	var res struct{ State, Message string }
	if err := json.Unmarshal(answer.body.Bytes(), &res); err != nil {
		d.t.Fatalf("wftest: the answer to a request for a run is %d %s", answer.status, answer.body.String())
	}
	if i, _ := d.store.Instance(d.plan.id); answer.status != http.StatusOK && !aborted {
		d.t.Fatalf("wftest: run %d: %d %s", i.Runs, answer.status, res.Message)
	}
	return res.State
}

// await waits for done, and fails the test when the workflow's code hangs or has exited.
func (d *driver) await(done <-chan struct{}) {
	d.t.Helper()
	ticker := time.NewTicker(d.plan.patience / 4)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-d.exits:
			d.give("%s", d.exited)
		case <-d.plan.ctx.Done():
			select {
			case <-done:
			case <-time.After(d.plan.patience):
			}
			d.give("the test's context ended in run %d: %v", d.runs, context.Cause(d.plan.ctx))
		case <-ticker.C:
			if d.hangs() {
				d.give("run %d goes no further, and no step executes: the workflow's code waits for something that no step brings about "+
					"(a channel, a lock, a goroutine that wf.Go or wf.Branch did not start), or it loops outside steps\n%s", d.runs, d.result().tail(10))
			}
		}
	}
}

// give gives up on a run that may never end.
func (d *driver) give(format string, args ...any) {
	d.t.Helper()
	d.mu.Lock()
	d.silent = true
	d.mu.Unlock()
	d.plan.patience = min(d.plan.patience, time.Second) // for the goroutines that are left
	d.t.Fatalf("wftest: "+format, args...)
}

func (d *driver) hangs() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.executing) == 0 && time.Since(d.moved) > d.plan.patience
}

// abort ends the present run's request, as when its job is cancelled.
func (d *driver) abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}

// codeEnds marks that the workflow's code has returned.
func (d *driver) codeEnds() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moved = time.Now()
	close(d.ended)
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

package api

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
)

// TestHintsBeginAnew reads the hints of an instance that ends, and of what comes after.
func TestHintsBeginAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.MaxStreams = 1 })
	r.api.Mount("/pages/", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.api.Hints(w, req, Topic{Of: TopicInstance, Key: strings.TrimPrefix(req.URL.Path, "/pages/")}); err != nil {
			p := r.api.ProblemOf(req, err)
			w.Header().Set("Retry-After", p.RetryAfter)
			http.Error(w, p.Code, p.Status)
		}
	}))
	r.instance("one")
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+"/pages/one", nil)
	r.check(err)
	answer, err := http.DefaultTransport.RoundTrip(request)
	r.check(err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	until("event: changed")
	if full := r.ask(asked{method: http.MethodGet, path: "/pages/one"}); full.status != http.StatusServiceUnavailable || !strings.Contains(full.text, "too_many_streams") || full.header.Get("Retry-After") == "" {
		t.Errorf("a second stream of one: %d %s", full.status, full.text)
	}
	watched := func(want bool) {
		t.Helper()
		for poll := time.NewTicker(time.Millisecond); ; <-poll.C {
			if _, ok := r.api.Watched("one"); ok == want {
				return
			}
			r.check(r.ctx.Err())
		}
	}
	watched(true)
	_, err = r.durable.Terminate(r.ctx, "one")
	r.check(err)
	watched(false) // it has ended, and its row is listened to
	_, err = r.durable.Restart(r.ctx, "one")
	r.check(err)
	watched(true)
	until("event: changed")
	if p, ok := r.api.Watched("two"); ok {
		t.Errorf("of an instance that nobody watches is known: %+v", p)
	}
}

// TestWhatPagesListenTo opens a stream for each topic, and looks which tables it listens to.
func TestWhatPagesListenTo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.api.Mount("/pages/", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.api.Hints(w, req, Topic{Of: strings.TrimPrefix(req.URL.Path, "/pages/"), Key: req.URL.Query().Get("key")}); err != nil {
			http.Error(w, err.Error(), r.api.ProblemOf(req, err).Status)
		}
	}))
	r.instance("ended")
	_, err := r.durable.Terminate(r.ctx, "ended")
	r.check(err)
	_, err = r.jobs.Cancel(r.ctx, r.job("ended"))
	r.check(err)
	for topic, want := range map[string]string{
		"overview": "_00_node _00_wf_instance job", "instances": "_00_wf_instance", "instance?key=ended": "_00_wf_instance", "job?key=job:ended": "job", "jobs": "job", "jobs?key=job": "job",
		"schedules": "_00_schedule _00_schedule_key _00_schedule_run", "dags": "_00_schedule _00_workflow_run", "run?key=one": "_00_step_run _00_workflow_run", "nodes": "_00_node", "audit": "_00_audit",
	} {
		ctx, leave := context.WithCancel(r.ctx)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/pages/"+topic, nil)
		r.check(err)
		answer, err := http.DefaultTransport.RoundTrip(request)
		r.check(err)
		r.listens(topic, "_00_admin_token "+want)
		leave()
		answer.Body.Close()
		r.listens("nobody", "")
	}
	for _, topic := range []string{"clock", "jobs?key=user", "job?key=user:ann"} {
		if got := r.ask(asked{method: http.MethodGet, path: "/pages/" + topic}); got.status != http.StatusUnprocessableEntity && got.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", topic, got.status, got.text)
		}
	}
}

// listens waits until just some tables are listened to.
func (r *rig) listens(topic, want string) {
	r.t.Helper()
	for poll := time.NewTicker(time.Millisecond); ; <-poll.C {
		r.api.tables.mu.Lock()
		got := slices.Sorted(maps.Keys(r.api.tables.of))
		r.api.tables.mu.Unlock()
		if slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(want)))) {
			return
		}
		if r.ctx.Err() != nil {
			r.t.Fatalf("%s: it listens to %q, want %q", topic, got, want)
		}
	}
}

// TestPagesThatFail mounts one that panics.
func TestPagesThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.api.Mount("/pages/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("of a page") }))
	if f := r.ask(asked{method: http.MethodGet, path: "/pages/"}); f.status != http.StatusInternalServerError || f.fault(t).Code != "internal" || strings.Contains(f.text, "of a page") {
		t.Errorf("a panic is answered with %d %s", f.status, f.text)
	}
	if _, err := r.api.Known(r.ctx, "spky_none_of_ours"); !errors.Is(err, admin.ErrToken) {
		t.Errorf("a token that is none: %v", err)
	}
	if who, err := r.api.Known(r.ctx, readSecret); err != nil || who.May(scopeFull) || who.Name != "viewer" {
		t.Errorf("a secret is of %+v, %v", who, err)
	}
}

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/admin/logs"
)

// The interfaces that operations and client have in common, as far as only the compiler can tell.
type (
	jobs interface {
		List(ctx context.Context, o admin.JobListOptions) (admin.JobPage, error)
		Get(ctx context.Context, id string) (admin.Job, error)
		Create(ctx context.Context, n admin.NewJob) (string, error)
		Cancel(ctx context.Context, id string) (admin.JobStatus, error)
		Retry(ctx context.Context, id string) (admin.JobStatus, error)
		Clear(ctx context.Context, table string, all bool) (admin.Cleared, error)
		Watch(ctx context.Context, id string, tell func(admin.Job) error) (admin.Job, error)
		Changes(ctx context.Context, table string, tell func(admin.JobChange) error) error
	}
	tokens interface {
		Create(ctx context.Context, label string, scope admin.Scope, ttl time.Duration) (string, admin.Token, error)
		List(ctx context.Context) ([]admin.Token, error)
		Revoke(ctx context.Context, id string) error
	}
	ring interface {
		Recent(ctx context.Context, f logs.Filter) ([]logs.Line, error)
		Follow(ctx context.Context, f logs.Filter, tell func(logs.Line) error) error
	}
)

var (
	_ = []jobs{(*admin.Jobs)(nil), (*client.Jobs)(nil)}
	_ = []tokens{(*admin.Tokens)(nil), (*client.Tokens)(nil)}
	_ = []ring{(*logs.Ring)(nil), (*client.Logs)(nil)}
)

// TestTheClientGivesWhatTheOperationsGive reads everything both ways.
func TestTheClientGivesWhatTheOperationsGive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, c := r.ctx, r.client
	near, far := r.api.Durable, c.Durable()
	for _, id := range []string{"a", "b", "c"} {
		_, err := far.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: id, Params: json.RawMessage(`{"n": 12345678901234567890, "x": "ü<"}`), Owner: "user:me"})
		r.check(err)
	}
	_, err := far.SendEvent(ctx, "a", "go", json.RawMessage(`{"ok": true}`))
	r.check(err)
	page, err := far.List(ctx, admin.ListOptions{Binding: "ALPHA", Limit: 2, Status: "queued", Owner: "user:me"})
	other, err2 := near.List(ctx, admin.ListOptions{Binding: "ALPHA", Limit: 2, Status: "queued", Owner: "user:me"})
	same(t, "list", page, err, other, err2)
	page, err = far.List(ctx, admin.ListOptions{Cursor: page.Next, Limit: 2})
	other, err2 = near.List(ctx, admin.ListOptions{Cursor: other.Next, Limit: 2})
	same(t, "the second page", page, err, other, err2)
	i, err := far.Get(ctx, "a")
	j, err2 := near.Get(ctx, "a")
	same(t, "get", i, err, j, err2)
	steps, err := far.Steps(ctx, "a", 0, true)
	steps2, err2 := near.Steps(ctx, "a", 0, true)
	same(t, "steps", steps, err, steps2, err2)
	events, err := far.Events(ctx, "a", 0)
	events2, err2 := near.Events(ctx, "a", 0)
	same(t, "events", events, err, events2, err2)
	all, err := far.Workflows(ctx)
	all2, err2 := near.Workflows(ctx)
	same(t, "workflows", all, err, all2, err2)
	counts, err := far.Counts(ctx, "ALPHA")
	counts2, err2 := near.Counts(ctx, "ALPHA")
	same(t, "counts", counts, err, counts2, err2)
	newest, err := far.Newest(ctx, "ALPHA")
	newest2, err2 := near.Newest(ctx, "ALPHA")
	same(t, "newest", newest, err, newest2, err2)

	id, err := c.Jobs().Create(ctx, admin.NewJob{ID: "a-b", Path: "/work", Payload: json.RawMessage(`{"n": 1}`), MaxRetries: 7, Delay: 60_000, RetryStrategy: "exponential"})
	r.check(err)
	job, err := c.Jobs().Get(ctx, id)
	job2, err2 := r.api.Jobs.Get(ctx, id)
	same(t, "job", job, err, job2, err2)
	if job.MaxRetries != 7 || job.Delay != 60_000 || job.RetryStrategy != "exponential" {
		t.Errorf("the job is %+v", job)
	}
	jobPage, err := c.Jobs().List(ctx, admin.JobListOptions{Status: "pending", Table: "job", Backend: "api", Origin: "app", Query: "work", Limit: 1})
	r.check(err)
	if len(jobPage.Jobs) != 1 || jobPage.Jobs[0].ID != id || jobPage.Now.IsZero() {
		t.Errorf("jobs: %+v", jobPage)
	}
	nodes, err := c.Cluster().Nodes(ctx)
	nodes2, err2 := r.api.Cluster.Nodes(ctx)
	same(t, "nodes", nodes, err, nodes2, err2)
	backends, err := c.Cluster().Backends(ctx)
	backends2, err2 := r.api.Cluster.Backends(ctx)
	same(t, "backends", backends, err, backends2, err2)
	overview, err := c.Cluster().Overview(ctx)
	r.check(err)
	if overview.Now.IsZero() || len(overview.Tables) != 1 {
		t.Errorf("the overview is empty: %+v", overview)
	}
	analytics, err := c.Cluster().Analytics(ctx, 3)
	r.check(err)
	if analytics.Until.Sub(analytics.Since) < 2*time.Hour || analytics.Until.Sub(analytics.Since) > 3*time.Hour {
		t.Errorf("analytics of three hours: %+v", analytics)
	}
	if now, err := far.Now(ctx); err != nil || time.Since(now).Abs() > time.Hour {
		t.Errorf("now: %v %v", now, err)
	}
	explained, err := c.Explainer().Job(ctx, id)
	r.check(err)
	if explained.Subject != id || len(explained.Causes) == 0 {
		t.Errorf("explained: %+v", explained)
	}
}

// TestTheClientActs does everything that changes something, and finds it in the audit as its own.
func TestTheClientActs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, c := r.ctx, r.client
	d := c.Durable()
	id, err := d.Create(ctx, admin.NewInstance{Binding: "ALPHA"})
	r.check(err)
	for _, step := range []struct {
		verb string
		do   func(context.Context, string) (admin.InstanceStatus, error)
		was  admin.InstanceStatus
	}{
		{"pause", d.Pause, "queued"}, {"resume", d.Resume, "paused"}, {"terminate", d.Terminate, "queued"}, {"restart", d.Restart, "terminated"},
	} {
		if was, err := step.do(ctx, id); err != nil || was != step.was {
			t.Errorf("%s: %s %v, want %s", step.verb, was, err, step.was)
		}
	}
	job, err := c.Jobs().Create(ctx, admin.NewJob{Path: "/work"})
	r.check(err)
	if was, err := c.Jobs().Cancel(ctx, job); err != nil || was != "pending" {
		t.Errorf("cancel: %s %v", was, err)
	}
	if was, err := c.Jobs().Retry(ctx, job); err != nil || was != "cancelled" {
		t.Errorf("retry: %s %v", was, err)
	}
	if cleared, err := c.Jobs().Clear(ctx, "job", true); err != nil || cleared.Cleared < 1 {
		t.Errorf("clear: %+v %v", cleared, err)
	}
	text, token, err := c.Tokens().Create(ctx, "an agent", admin.ScopeRead, 36*time.Hour)
	r.check(err)
	if life := token.ExpiresAt.Sub(token.CreatedAt).Round(time.Hour); life != 48*time.Hour || !strings.HasPrefix(text, "spky_"+token.ID+"_") {
		t.Errorf("the token %s lives for %v", text[:10], life)
	}
	if all, err := c.Tokens().List(ctx); err != nil || len(all) != 1 || all[0].Label != "an agent" {
		t.Errorf("tokens: %+v %v", all, err)
	}
	r.check(c.Tokens().Revoke(ctx, token.ID))
	page, err := c.Audit().List(ctx, admin.AuditOptions{Actor: "root", Limit: 100})
	r.check(err)
	var done []string
	for _, e := range page.Entries {
		if e.Via != "cli" || e.Outcome != "done" {
			t.Errorf("audit: %+v", e)
		}
		done = append(done, e.Action)
	}
	want := "token.revoke token.create job.clear job.retry job.cancel job.create instance.restart instance.terminate instance.resume instance.pause instance.create"
	if got := strings.Join(done, " "); got != want {
		t.Errorf("the audit has\n%s, want\n%s", got, want)
	}
}

// TestTheClientErrsAsTheOperationsDo: errors are told apart by the same values, and say the same.
func TestTheClientErrsAsTheOperationsDo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := r.ctx
	near, far := r.api.Durable, r.client.Durable()
	_, err := near.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "there"})
	r.check(err)
	both := func(what string, a, b error) {
		t.Helper()
		if a == nil || b == nil || a.Error() != b.Error() {
			t.Errorf("%s: over HTTP %v, else %v", what, a, b)
		}
	}
	_, a := far.Get(ctx, "nobody")
	_, b := near.Get(ctx, "nobody")
	both("get", a, b)
	if !errors.Is(a, admin.ErrNotFound) {
		t.Errorf("get: %v is no ErrNotFound", a)
	}
	_, a = far.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "there"})
	_, b = near.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "there"})
	both("create", a, b)
	if !errors.Is(a, admin.ErrExists) {
		t.Errorf("create: %v is no ErrExists", a)
	}
	was, a := far.Resume(ctx, "there")
	_, b = near.Resume(ctx, "there")
	both("resume", a, b)
	var state *admin.StateError
	if !errors.As(a, &state) || was != "queued" || state.Status != "queued" || state.Job || state.Verb != "resume" || !strings.Contains(fmt.Sprint(state.Possible), "pause") {
		t.Errorf("resume: %#v", a)
	}
	_, a = far.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "-"})
	_, b = near.Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "-"})
	both("create -", a, b)
	var input *admin.InputError
	if !errors.As(a, &input) {
		t.Errorf("create -: %v is no InputError", a)
	}
	id, err := r.client.Jobs().Create(ctx, admin.NewJob{Path: "/work"})
	r.check(err)
	_, a = r.client.Jobs().Retry(ctx, id)
	_, b = r.api.Jobs.Retry(ctx, id)
	both("retry", a, b)
	if !errors.As(a, &state) || !state.Job {
		t.Errorf("retry: %#v", a)
	}
	_, a = r.client.Jobs().Watch(ctx, "nobody", func(admin.Job) error { return nil })
	if !errors.Is(a, admin.ErrNotFound) {
		t.Errorf("watch: %v is no ErrNotFound", a)
	}
	var refused *client.Error
	if _, err = r.as("wrong").Durable().Workflows(ctx); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || refused.Hint == "" {
		t.Errorf("with a wrong token: %v", err)
	}
	token, _, err := r.api.Tokens.Create(ctx, "viewer", admin.ScopeRead, 0)
	r.check(err)
	if _, err = r.as(token).Durable().Pause(ctx, "there"); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
		t.Errorf("with a token that may read: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{URL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	var unreachable *client.UnreachableError
	if _, err := c.Durable().Workflows(t.Context()); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "http://127.0.0.1:1/admin/api") {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.Durable().Watch(t.Context(), "a", func(admin.Progress) error { return nil }); !errors.As(err, &unreachable) {
		t.Errorf("a stream: %v", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://h:1": "http://h:1/admin/api", "https://h/": "https://h/admin/api", "http://h/admin": "http://h/admin/api",
		"http://h/admin/api/": "http://h/admin/api", "http://h/spky": "http://h/spky/admin/api",
		"h:1": "", "ftp://h": "", "http://": "", "http://user:sesame@h": "", "http://h?a=b": "", "://sesame@h": "",
	} {
		c, err := client.New(client.Config{URL: given})
		switch {
		case err != nil && want != "", err == nil && c.URL() != want:
			t.Errorf("%s: %v, want %q", given, err, want)
		case err != nil && strings.Contains(err.Error(), "sesame"):
			t.Errorf("%s: the error tells the password: %v", given, err)
		}
	}
}

// TestTokensAreChecked refuses what is no token before it is sent, and does not repeat it.
func TestTokensAreChecked(t *testing.T) {
	t.Parallel()
	for token, good := range map[string]bool{"": true, "spky_a_b": true, "spky_a_b\n": true, "sesame\nX: y": false, "sesame open": false, "sesame\x00": false, "sesameü": false} {
		_, err := client.New(client.Config{URL: "http://h", Token: token})
		if good != (err == nil) || err != nil && (strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "SPKY_ADMIN_TOKEN")) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// TestAWatchSurvivesItsConnection cuts all connections while instance, job and log are watched: each is taken
// up again, and nothing is told twice.
func TestAWatchSurvivesItsConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, c := r.ctx, r.client
	_, err := c.Durable().Create(ctx, admin.NewInstance{Binding: "ALPHA", ID: "watched"})
	r.check(err)
	id, err := c.Jobs().Create(ctx, admin.NewJob{Path: "/work"})
	r.check(err)
	log := r.logger()
	log.Info("line 1")
	told := make(chan string, 100)
	enough := errors.New("enough")
	var watchers sync.WaitGroup
	defer watchers.Wait()
	watchers.Go(func() {
		last, err := c.Durable().Watch(ctx, "watched", func(p admin.Progress) error { told <- "instance " + string(p.Instance.Status); return nil })
		if err != nil || last.Instance.Status != "terminated" {
			t.Errorf("the watch of the instance ended with %s %v", last.Instance.Status, err)
		}
	})
	watchers.Go(func() {
		last, err := c.Jobs().Watch(ctx, id, func(j admin.Job) error { told <- "job " + string(j.Status); return nil })
		if err != nil || last.Status != "cancelled" {
			t.Errorf("the watch of the job ended with %s %v", last.Status, err)
		}
	})
	watchers.Go(func() {
		err := c.Logs().Follow(ctx, logs.Filter{Query: "line"}, func(l logs.Line) error {
			told <- l.Message
			if l.Message == "line 2" {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Errorf("the watch of the log ended with %v", err)
		}
	})
	seen := map[string]int{}
	await := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			for seen[text] == 0 {
				select {
				case is := <-told:
					seen[is]++
				case <-ctx.Done():
					t.Fatalf("%s is not told; told is %v", text, seen)
				}
			}
		}
	}
	await("instance queued", "job pending", "line 1")
	r.server.CloseClientConnections()
	for !r.counts(`spky_admin_requests_total{operation="streamInstance",status="200"} 1`, `spky_admin_requests_total{operation="streamJob",status="200"} 1`, "spky_admin_streams 3") {
		r.check(ctx.Err()) // until the old ones are gone and there are new ones
	}
	log.Info("line 2")
	_, err = r.api.Durable.Terminate(ctx, "watched")
	r.check(err)
	_, err = r.api.Jobs.Cancel(ctx, id)
	r.check(err)
	await("instance terminated", "job cancelled", "line 2")
	watchers.Wait()
	close(told)
	for is := range told {
		seen[is]++
	}
	for text, times := range seen {
		if times != 1 {
			t.Errorf("%s is told %d times", text, times)
		}
	}
}

// recording notes what is asked for, and answers nothing.
type recording struct{ asked []*http.Request }

func (r *recording) RoundTrip(q *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, q)
	return nil, errors.New("nothing")
}

// TestEveryOptionIsAskedFor sets every field of what narrows lists, by reflection, so that a new one is not
// forgotten here.
func TestEveryOptionIsAskedFor(t *testing.T) {
	t.Parallel()
	calls := &recording{}
	c, err := client.New(client.Config{URL: "http://127.0.0.1:1", Transport: calls})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, _ = c.Durable().List(ctx, filled[admin.ListOptions]())
	_, _ = c.Jobs().List(ctx, filled[admin.JobListOptions]())
	_, _ = c.Audit().List(ctx, filled[admin.AuditOptions]())
	_, _ = c.Logs().Recent(ctx, filled[logs.Filter]())
	for i, of := range []reflect.Type{
		reflect.TypeFor[admin.ListOptions](), reflect.TypeFor[admin.JobListOptions](), reflect.TypeFor[admin.AuditOptions](), reflect.TypeFor[logs.Filter](),
	} {
		if query := calls.asked[i].URL.Query(); len(query) != of.NumField() {
			t.Errorf("%v: %d fields, and %v is asked for", of, of.NumField(), query)
		}
	}
}

// filled is a struct of texts, numbers and flags with all of them set.
func filled[T any]() T {
	var v T
	s := reflect.ValueOf(&v).Elem()
	for _, field := range s.Fields() {
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(7)
		case reflect.Uint64:
			field.SetUint(7)
		default:
			panic("a field of kind " + field.Kind().String())
		}
	}
	return v
}

package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// smallAnswer is how many bytes an answer has at most where one is to be too large, and largeText a text, in SurrealQL, of
// more.
const (
	smallAnswer = 128 << 10
	largeText   = "('/' + array::join(array::repeat(string::repeat('x', 1000), 140), ''))"
)

// small is the table's jobs by a connection that reads no answer beyond smallAnswer, and does not end.
func (r *rig) small() *Jobs {
	r.t.Helper()
	cfg := r.cfg
	cfg.MaxMessage = smallAnswer
	client, hangUp, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	r.t.Cleanup(func() {
		if n := client.State().Reconnects; n > 0 {
			r.t.Errorf("the connection was lost %d times", n)
		}
		if err := hangUp(); err != nil {
			r.t.Error(err)
		}
	})
	return NewJobs(JobsConfig{DB: client, Backends: r.durable.backends})
}

// anything makes the outbox table one whose columns take values of any type.
func (r *rig) anything() {
	r.t.Helper()
	r.exec("REMOVE TABLE job; DEFINE TABLE job SCHEMALESS", nil)
	for _, column := range []string{"status", "path", "payload", "assigned_to", "assignee", "retries", "max_retries", "retry_strategy", "errors", "timeout", "delay", "lease_until", "lease_epoch", "result"} {
		r.exec("DEFINE FIELD "+column+" ON job TYPE any", nil)
	}
}

// prepared gives the table the platform's columns.
func (r *rig) prepared() {
	r.t.Helper()
	_, err := schema.PrepareOutbox(r.ctx, r.db, "job")
	r.check(err)
}

// TestLargeJobsAreListed has jobs that somebody made so large, column by column, that no list could be read: from before
// the table had its columns, and after it, of every state.
func TestLargeJobsAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.anything()
	write := func(when string) {
		for _, status := range []string{"pending", "processing", "success", "failed", "cancelled"} {
			r.exec("CREATE type::record('job', $id) SET status = $status, created_at = d'2020-01-01T00:00:00Z', path = "+largeText+", lease_until = IF $status = 'processing' { d'2020-01-01T00:00:00Z' } RETURN NONE",
				map[string]any{"id": when + status, "status": status})
		}
		r.exec("CREATE type::record('job', $id) SET status = 'failed', created_at = d'2020-01-01T00:00:00Z', path = ["+largeText+"], retries = "+largeText+", max_retries = "+largeText+", retry_strategy = "+largeText+
			", timeout = "+largeText+", delay = "+largeText+", assignee = "+largeText+", lease_until = "+largeText+", assigned_to = type::record('user', "+largeText+") RETURN NONE", map[string]any{"id": when + "all"})
	}
	write("early")
	r.prepared()
	write("late")
	j := r.small()
	for want, all := range map[int][]JobListOptions{
		12: {{}, {Table: "job"}, {Backend: "api"}, {Origin: originApp}, {Limit: 1}},
		10: {{Query: "/xxxx"}, {Query: "XXX", Origin: originApp}, {Query: "x", Limit: 2}},
		4:  {{Status: outbox.Failed}, {Status: outbox.Failed, Limit: 1}},
		2:  {{Status: outbox.Pending}, {Status: outbox.Success}, {Status: outbox.Cancelled}, {Stalled: true}, {Status: outbox.Failed, Query: "/xx"}, {Query: "all", Limit: 1}},
		1:  {{Query: "latefailed"}, {Query: "job:earlyall"}},
	} {
		for _, o := range all {
			r.listed(j, o, want)
		}
	}
	q, err := j.query(JobListOptions{Status: outbox.Pending, Query: "/xxxx"})
	r.check(err)
	if found, few, err := j.pending(r.ctx, q); err != nil || !few || len(found) != 2 { // where others stand before them in vain
		t.Errorf("of the pending jobs it finds %d, %v, %v", len(found), few, err)
	}
}

// listed walks over the pages of a list.
func (r *rig) listed(j *Jobs, o JobListOptions, want int) {
	r.t.Helper()
	seen := map[string]bool{}
	for range 20 {
		page, err := j.List(r.ctx, o)
		if err != nil {
			r.t.Errorf("%+v: %v", o, err)
			return
		}
		for _, job := range page.Jobs {
			seen[job.ID] = true
			if text, err := json.Marshal(job); err != nil || len(text) > 4000 {
				r.t.Errorf("%+v: %s is listed with %d bytes, %v", o, job.ID, len(text), err)
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if len(seen) != want {
		r.t.Errorf("%+v: found %d jobs of %d: %v", o, len(seen), want, seen)
	}
}

// TestALargeStatusIsListed has one that no state is.
func TestALargeStatusIsListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.anything()
	r.exec("CREATE job:large SET status = ["+largeText+"], path = '/x' RETURN NONE", nil)
	r.prepared()
	j := r.small()
	r.listed(j, JobListOptions{}, 1)
	r.listed(j, JobListOptions{Query: "/x"}, 1)
}

// TestChangesOfLargeJobsAreTold writes one, whose notification would end the connection if it held all that is shown of it.
func TestChangesOfLargeJobsAreTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.anything()
	r.prepared()
	cfg := r.cfg
	cfg.MaxMessage = smallAnswer
	told := r.changes(cfg)
	r.saw(told, func(c JobChange) bool { return c.Path == "/again" })
	r.exec("CREATE job:large SET status = 'failed', path = "+largeText+", retry_strategy = ["+largeText+"], delay = "+largeText+", retries = 2 RETURN NONE", nil)
	c := r.saw(told, func(c JobChange) bool { return c.Gap || c.ID == "job:large" })
	if c.Gap || len(c.Path) != 2049 || c.Retries != 2 || c.Status != outbox.Failed {
		t.Errorf("told %.300s", pretty(t, c))
	}
}

// TestALargeJobIsShownAsFarAsItFits has jobs of which another column each does not fit into an answer.
func TestALargeJobIsShownAsFarAsItFits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.anything()
	r.prepared()
	r.exec(`LET $entry = { code: 503, reason: 'away', at: d'2026-01-01T00:00:00Z', attempt: 2 };
		CREATE job:path SET path = `+largeText+`, errors = [$entry], result = { ok: true } RETURN NONE;
		CREATE job:reason SET path = '/x', errors = [$entry, { code: 'x', reason: `+largeText+`, at: `+largeText+` }, $entry], result = { ok: true } RETURN NONE;
		CREATE job:errors SET path = '/x', errors = array::concat(array::repeat(`+largeText+`, 5), array::repeat($entry, 30), [string::repeat('x', 10000), $entry, $entry]), result = { ok: true } RETURN NONE;
		CREATE job:result SET path = '/x', errors = [$entry], result = { text: `+largeText+` } RETURN NONE;
		CREATE job:both SET path = '/x', errors = [{ reason: `+largeText+` }, $entry], result = `+largeText+`, retries = 2, lease_epoch = 7 RETURN NONE;
		CREATE job:column SET path = '/x', errors = [$entry], result = { ok: true }, mine = `+largeText+` RETURN NONE;
		CREATE job:empty SET path = `+largeText+`, errors = [$entry], payload = `+largeText+` RETURN NONE`, nil)
	j := r.small()
	for id, want := range map[string]struct {
		errors int
		result string
	}{
		"path": {1, `{"ok":true}`}, "reason": {3, `{"ok":true}`}, "errors": {20, `{"ok":true}`}, "result": {1, "the answer is too large"},
		"both": {2, "the answer is too large"}, "column": {1, `{"ok":true}`}, "empty": {1, "null"},
	} {
		job, err := j.Get(r.ctx, id)
		r.check(err)
		text := pretty(t, job)
		last := job.Errors[len(job.Errors)-1]
		if len(job.Errors) != want.errors || fmt.Sprint(last.Code) != "503" || last.Reason != "away" || last.At == nil || last.Attempt != 2 ||
			!strings.Contains(string(job.Result), want.result) || !strings.Contains(string(job.Payload), "cannot send") || len(text) > 50_000 {
			t.Errorf("%s is shown with %d errors and %d bytes as %.1500s", id, len(job.Errors), len(text), text)
		}
	}
	if job, err := j.Get(r.ctx, "both"); err != nil || job.LeaseEpoch != 7 || job.Retries != 2 || len(job.Errors[0].Reason) != 8192 {
		t.Errorf("both is %.300v, %v", job, err)
	}
}

package admin

import (
	"errors"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
)

// jobs are the operations on the rig's outbox table.
func (r *rig) jobs() *Jobs {
	return NewJobs(JobsConfig{DB: r.db, Backends: []config.Backend{{Name: "api", Table: "job"}}})
}

func (r *rig) newJob(n NewJob) string {
	r.t.Helper()
	if n.Path == "" {
		n.Path = "/x"
	}
	id, err := r.jobs().Create(r.ctx, n)
	r.check(err)
	return id
}

func (r *rig) job(id string) Job {
	r.t.Helper()
	j, err := r.jobs().Get(r.ctx, id)
	r.check(err)
	return j
}

func TestJobLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jobs()
	id := r.newJob(NewJob{Path: "/index", Payload: []byte(`{"n": 12345678901234567}`), MaxRetries: 7, RetryStrategy: "exponential", ID: "a-b", Delay: 3_600_000, AssignedTo: "user:ann"})
	job := r.job(id)
	if id != "job:`a-b`" || job.Status != outbox.Pending || string(job.Payload) != `{"n":12345678901234567}` || job.MaxRetries != 7 || job.Origin != "app" ||
		job.Backend != "api" || job.AssignedTo != "user:ann" || job.Delay != 3_600_000 || string(job.Result) != "null" || job.CreatedAt == nil || job.RunAt == nil {
		t.Errorf("created %s: %s", id, pretty(t, job))
	}
	if _, err := j.Create(r.ctx, NewJob{Path: "/x", ID: id}); !errors.Is(err, ErrExists) {
		t.Errorf("a used id: %v", err)
	}
	if was, err := j.Cancel(r.ctx, "a-b"); err != nil || was != outbox.Pending || r.job(id).Status != outbox.Cancelled {
		t.Errorf("cancel: %s, %v", was, err)
	}
	if was, err := j.Retry(r.ctx, id); err != nil || was != outbox.Cancelled || r.job(id).Status != outbox.Pending {
		t.Errorf("retry: %s, %v", was, err)
	}
	page, err := j.List(r.ctx, JobListOptions{})
	r.check(err)
	if len(page.Jobs) != 1 || page.Jobs[0].ID != id || page.Next != "" || page.Now.IsZero() {
		t.Errorf("listed %s", pretty(t, page))
	}
	if c, err := j.Clear(r.ctx, "", false); err != nil || c != (Cleared{}) {
		t.Errorf("clear: %+v, %v", c, err)
	}
	if c, err := j.Clear(r.ctx, "job", true); err != nil || c != (Cleared{Cleared: 1, Total: 1}) {
		t.Errorf("clear: %+v, %v", c, err)
	}
	if _, err := j.Get(r.ctx, id); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

// TestOnlyJobsAreJobs asks for rows that look like jobs in tables that are no outbox tables.
func TestOnlyJobsAreJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE TABLE user SCHEMALESS; CREATE user:ann SET status = 'pending', path = '/x', password = 'secret'", nil)
	_, token, err := NewTokens(r.db).Create(r.ctx, "t", ScopeRead, 0)
	r.check(err)
	j := r.jobs()
	for _, id := range []string{"user:ann", "user:`ann`", "_00_admin_token:" + token.ID, "`_00_admin_token`:" + token.ID} {
		_, get := j.Get(r.ctx, id)
		_, cancel := j.Cancel(r.ctx, id)
		_, retry := j.Retry(r.ctx, id)
		_, watch := j.Watch(r.ctx, id, func(Job) error { return nil })
		_, create := j.Create(r.ctx, NewJob{Path: "/x", ID: id})
		for _, err := range []error{get, cancel, retry, watch} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
		wants(t, id, create, new(*InputError), "id")
	}
	if got := r.json("SELECT VALUE status FROM user", nil); got != `["pending"]` {
		t.Errorf("the user is %s", got)
	}
	if page, err := j.List(r.ctx, JobListOptions{Query: "user:ann"}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("listed %s, %v", pretty(t, page), err)
	}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// TestJobVerbs tries every verb in every state, and in one that nobody knows, and holds the answer, the
// row and the audit against what the state is said to allow.
func TestJobVerbs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD OVERWRITE status ON job TYPE any DEFAULT 'pending'", nil) // a table that takes anything
	j := r.jobs()
	verbs := map[string]func(context.Context, string) (outbox.Status, error){verbCancelJob: j.Cancel, verbRetryJob: j.Retry}
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "mcp"})
	for _, status := range append(outbox.Statuses(), "odd", "") {
		for verb, call := range verbs {
			id := r.newJob(NewJob{ID: fmt.Sprintf("%s-%s", verb, status)})
			r.exec("UPDATE $id SET status = $status, lease_epoch = 3, assignee = 'n', lease_until = time::now() + 1h, retries = 2, result = 'r'",
				map[string]any{"id": surreal.RecordID{Table: "job", ID: fmt.Sprintf("%s-%s", verb, status)}, "status": statusOrNone(status)})
			was, err := call(ctx, id)
			allowed := slices.Contains(possibleJob(status), verb)
			after := r.job(id)
			switch {
			case allowed && (err != nil || was != status):
				t.Errorf("%s of one that is %q: %q, %v", verb, status, was, err)
			case !allowed:
				var state *StateError
				wants(t, verb+" of one that is "+string(status), err, &state, "the job is "+string(status))
				if state.Status != string(status) || !slices.Equal(state.Possible, possibleJob(status)) || after.Status != status {
					t.Errorf("%s of one that is %q: %+v, and it is %q", verb, status, state, after.Status)
				}
			}
			if want := jobAfter(verb, status); after.Status != want {
				t.Errorf("after %s one that was %q is %q, want %q", verb, status, after.Status, want)
			}
			if verb == verbRetryJob && allowed && (after.Retries != 0 || string(after.Result) != "null" || after.Assignee != "" || after.LeaseEpoch != 4) {
				t.Errorf("retried: %s", pretty(t, after))
			}
			r.audited("ann mcp job."+verb+" "+id, outcomeOf(allowed, status))
		}
	}
	for verb, call := range verbs {
		for _, id := range []string{"job:nowhere", "user:ann", "_00_admin_token:x", "job:['x', 1]"} {
			if _, err := call(ctx, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s of %s: %v", verb, id, err)
			}
		}
		r.audited("ann mcp job."+verb+" job:nowhere", "not found")
	}
}

func statusOrNone(s outbox.Status) any {
	if s == "" {
		return surreal.None
	}
	return string(s)
}

func jobAfter(verb string, was outbox.Status) outbox.Status {
	switch {
	case verb == verbCancelJob && was == outbox.Pending:
		return outbox.Cancelled
	case verb == verbRetryJob && was.Terminal():
		return outbox.Pending
	}
	return was
}

func outcomeOf(allowed bool, was outbox.Status) string {
	switch {
	case allowed:
		return "done"
	case was == "":
		return "not found"
	}
	return "refused: " + string(was)
}

// audited fails unless the newest audit row of who did what to which says how it went.
func (r *rig) audited(what, outcome string) {
	r.t.Helper()
	got := r.json("SELECT VALUE outcome FROM _00_audit WHERE string::concat(actor, ' ', via, ' ', action, ' ', target) = $what LIMIT 1", map[string]any{"what": what})
	if got != `["`+outcome+`"]` {
		r.t.Errorf("the audit says of %s %s, want %s", what, got, outcome)
	}
}

// TestEveryMutationIsAudited looks for one row of each, with the one who did it.
func TestEveryMutationIsAudited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "dashboard"})
	j := r.jobs()
	job, err := j.Create(ctx, NewJob{Path: "/x", ID: "one"})
	r.check(err)
	_, _ = j.Create(ctx, NewJob{Path: "/x", ID: "one"})
	random, err := j.Create(ctx, NewJob{Path: "/x"})
	r.check(err)
	_, err = j.Cancel(ctx, job)
	r.check(err)
	_, err = j.Retry(ctx, job)
	r.check(err)
	_, err = j.Clear(ctx, "job", true)
	r.check(err)
	id, err := r.durable.Create(ctx, NewInstance{Binding: "ALPHA", ID: "i"})
	r.check(err)
	_, _ = r.durable.Create(ctx, NewInstance{Binding: "ALPHA", ID: "i"})
	for _, v := range r.durable.verbs() {
		_, _ = v.call(ctx, id)
	}
	page, err := NewAudit(r.db).List(r.ctx, AuditOptions{})
	r.check(err)
	var got []string
	for _, e := range page.Entries {
		if e.Actor != "ann" || e.Via != "dashboard" {
			t.Errorf("the audit has %+v", e)
		}
		got = append(got, strings.TrimSpace(e.Action+" "+e.Target+" "+e.Outcome+" "+e.Detail))
	}
	slices.Reverse(got)
	want := []string{
		"job.create job:one done", "job.create job:one refused: exists create job:one: job already exists", "job.create " + random + " done",
		"job.cancel job:one done", "job.retry job:one done", "job.clear job done 2 jobs deleted",
		"instance.create i done", "instance.create i refused: exists",
		"instance.pause i done", "instance.resume i done", "instance.terminate i done", "instance.restart i done", "instance.retry i refused: queued", "instance.send-event i done",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, cursor := range []string{"zzz", "1", "x y.", "1.~"} {
		_, err = NewAudit(r.db).List(r.ctx, AuditOptions{Cursor: cursor})
		wants(t, "the cursor "+cursor, err, new(*InputError), "none that a list gave")
	}
	// Refused by the database itself, the whole of it undone.
	r.exec("DEFINE FIELD tenant ON job TYPE string", nil)
	_, err = j.Create(r.ctx, NewJob{Path: "/x"})
	wants(t, "a job without what the table wants", err, new(*InputError), "the table job refuses it: query: statement 1: Couldn't coerce value for field `tenant`")
	last, err := NewAudit(r.db).List(r.ctx, AuditOptions{Limit: 1})
	r.check(err)
	if e := last.Entries[0]; e.Actor != "unknown" || e.Outcome != "failed" || !strings.Contains(e.Detail, "tenant") {
		t.Errorf("the audit has %+v", e)
	}
}

// TestCancelRaces has an operator cancel jobs at the moment at which something else happens to them: each
// job has one end, and everybody was told the truth.
func TestCancelRaces(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	table := outbox.New(outbox.Config{DB: r.db, Name: "job"})
	const races = 40
	for name, race := range map[string]func(id surreal.RecordID) raced{
		"completion": func(id surreal.RecordID) raced {
			return r.cancelWhile(id, func() string { return r.settle(table, id, outbox.Outcome{Status: outbox.Success, Result: "done"}) })
		},
		"failed attempt": func(id surreal.RecordID) raced {
			return r.cancelWhile(id, func() string {
				return r.settle(table, id, outbox.Outcome{Status: outbox.Pending, Counts: true, Failure: &outbox.Failure{Code: 500, Attempt: 1}})
			})
		},
		"claim": func(id surreal.RecordID) raced {
			return r.cancelWhile(id, func() string {
				claimed, _, err := table.Claim(r.ctx, "node", []surreal.RecordID{id})
				return fmt.Sprint(len(claimed), err)
			})
		},
	} {
		for n := range races {
			id := surreal.RecordID{Table: "job", ID: fmt.Sprint(name, n)}
			r.newJob(NewJob{ID: surreal.FormatID(id)})
			if name != "claim" {
				_, _, err := table.Claim(r.ctx, "node", []surreal.RecordID{id})
				r.check(err)
			}
			got := race(id)
			if end := r.job(surreal.FormatID(id)); !got.consistent(name, end) {
				t.Errorf("%s: cancel was told %q, %v, the other %q; the job is %s", name, got.was, got.err, got.other, pretty(t, end))
			}
		}
	}
}

// A raced is what both sides of a race were told.
type raced struct {
	was   outbox.Status
	err   error
	other string
}

// consistent says whether what both were told fits what the job has become.
func (got raced) consistent(race string, end Job) bool {
	was, err, other := got.was, got.err, got.other
	var state *StateError
	refused := errors.As(err, &state)
	switch race {
	case "completion": // whether asked for in time or too late: the work is done, and nothing asks any more
		told := err == nil && was == outbox.Processing || refused && state.Status == "success"
		return told && other == "true success" && end.Status == outbox.Success && end.CancelRequested == nil && string(end.Result) == `"done"`
	case "failed attempt": // in either order it is cancelled, once
		told := err == nil && (was == outbox.Processing && other == "true cancelled" || was == outbox.Pending && other == "true pending")
		n := 0
		for _, e := range end.Errors {
			if e.Code == outbox.CodeCancelled {
				n++
			}
		}
		return told && end.Status == outbox.Cancelled && n == 1 && end.Retries == 1 && end.Assignee == ""
	}
	lost := other == "0 <nil>" && end.Status == outbox.Cancelled && was == outbox.Pending
	won := other == "1 <nil>" && end.Status == outbox.Processing && was == outbox.Processing && end.CancelRequested != nil
	return err == nil && (lost || won)
}

// cancelWhile cancels a job while something else is done, and answers with what both came to.
func (r *rig) cancelWhile(id surreal.RecordID, do func() string) (got raced) {
	j := r.jobs()
	var all sync.WaitGroup
	all.Go(func() { got.was, got.err = j.Cancel(r.ctx, surreal.FormatID(id)) })
	all.Go(func() { got.other = do() })
	all.Wait()
	return got
}

func (r *rig) settle(table *outbox.Table, id surreal.RecordID, o outbox.Outcome) string {
	o.ID, o.Epoch = id, 1
	settled, err := table.Settle(r.ctx, []outbox.Outcome{o})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(settled[0].Written, " ", settled[0].Status)
}

// TestCancelAndRetryAtOnce has many try: one of each wins, and a job that was retried runs once more.
func TestCancelAndRetryAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.jobs()
	for n := range 20 {
		id := r.newJob(NewJob{ID: fmt.Sprint("n", n)})
		won := make(chan outbox.Status, 8)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if was, err := j.Cancel(r.ctx, id); err == nil {
					won <- was
				}
			})
		}
		all.Wait()
		for range 4 {
			all.Go(func() {
				if was, err := j.Retry(r.ctx, id); err == nil {
					won <- was
				}
			})
		}
		all.Wait()
		close(won)
		var told []outbox.Status
		for was := range won {
			told = append(told, was)
		}
		if end := r.job(id); !slices.Equal(told, []outbox.Status{outbox.Pending, outbox.Cancelled}) || end.Status != outbox.Pending || end.LeaseEpoch != 1 {
			t.Fatalf("told %q; the job is %s", told, pretty(t, end))
		}
	}
}

// TestAViewerIsToldSo has a database user operate who may only look.
func TestAViewerIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.newJob(NewJob{})
	instance := r.create(NewInstance{Binding: "ALPHA"})
	r.exec("DEFINE USER looker ON DATABASE PASSWORD 'p' ROLES VIEWER", nil)
	cfg := r.cfg
	cfg.Username, cfg.Password = "looker", "p"
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	t.Cleanup(func() { r.check(stop()) })
	j := NewJobs(JobsConfig{DB: db, Tables: []string{"job"}})
	if page, err := j.List(r.ctx, JobListOptions{}); err != nil || len(page.Jobs) != 2 {
		t.Errorf("listed %s, %v", pretty(t, page), err)
	}
	for what, do := range map[string]func() error{
		"cancel": func() error { _, err := j.Cancel(r.ctx, id); return err },
		"create": func() error { _, err := j.Create(r.ctx, NewJob{Path: "/x"}); return err },
		"clear":  func() error { _, err := j.Clear(r.ctx, "", true); return err },
		"pause":  func() error { _, err := NewDurable(DurableConfig{DB: db}).Pause(r.ctx, instance); return err },
		"token":  func() error { _, _, err := NewTokens(db).Create(r.ctx, "x", ScopeFull, 0); return err },
	} {
		if err := do(); err == nil || strings.Count(err.Error(), "need an editor or owner of the database") != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if rows := r.json("SELECT VALUE actor FROM _00_audit WHERE action != 'job.create' AND action != 'instance.create'", nil); rows != "[]" || r.job(id).Status != outbox.Pending {
		t.Errorf("the audit has %s", rows)
	}
}

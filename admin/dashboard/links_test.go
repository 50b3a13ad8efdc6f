package dashboard

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// targets are what rows of the audit are about: an action, and the target with or without a link.
var targets = regexp.MustCompile(`(?s)data-label="What" class="mono">([^<]*)</td><td data-label="To what" class="mono">(?:<a href="([^"]*)">)?([^<]*)<`)

// TestTargetsOfTheAudit follows the link of each kind of target to its page.
func TestTargetsOfTheAudit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers, append(nightly(), hanging()...)...)
	run, err := r.dags.Trigger(r.ctx, "hanging")
	r.check(err)
	_, err = r.dags.Cancel(r.ctx, run.Runs[0])
	r.check(err)
	_, err = r.schedules.Pause(r.ctx, "nightly")
	r.check(err)
	r.create("MAIL", "letter", `{}`)
	job := r.job(admin.NewJob{ID: "later/than ⟨this⟩", Path: "/work", Delay: 3_600_000})
	_, err = r.jobs.Cancel(r.ctx, job)
	r.check(err)
	_, _, err = r.tokens.Create(r.ctx, "somebody's", admin.ScopeRead, 0)
	r.check(err)
	if _, err = r.durable.Pause(r.ctx, "nobody"); err == nil {
		t.Error("an instance that there is not was paused")
	}
	c := r.client(fullSecret)
	want := map[string]string{
		"dag.trigger hanging": "/admin/dags/hanging", "dag.cancel " + run.Runs[0]: runAddress(run.Runs[0]), "schedule.pause nightly": "/admin/schedules/nightly",
		"instance.create letter": "/admin/instances/letter", "job.create " + job: "/admin/jobs/", "job.cancel " + job: "/admin/jobs/", "instance.pause nobody": "", "token.create": "",
	}
	found := map[string]bool{}
	for _, row := range targets.FindAllStringSubmatch(c.get("/admin/audit").text, -1) {
		what, address := row[1]+" "+html.UnescapeString(row[3]), html.UnescapeString(row[2])
		if row[1] == "token.create" {
			what = row[1]
		}
		to, known := want[what]
		if found[what] = true; !known || !strings.HasPrefix(address, to) || to == "" && address != "" {
			t.Errorf("%s leads to %q, want %q", what, address, to)
		}
		if address == "" {
			continue
		}
		if page := c.get(address); page.status != http.StatusOK || !strings.Contains(html.UnescapeString(page.text), html.UnescapeString(row[3])) {
			t.Errorf("%s leads to %q, which answers %d", what, address, page.status)
		}
	}
	if len(found) != len(want) {
		t.Errorf("the audit has %v", found)
	}
}

// TestTargetsThatHaveNoPage are what was cut, and a table that was cleared.
func TestTargetsThatHaveNoPage(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]admin.AuditEntry{
		"/admin/jobs?table=a%26b":    {Action: "job.clear", Target: "a&b", Outcome: "done"},
		"/admin/instances/..%2Fjobs": {Action: "instance.pause", Target: "../jobs", Outcome: "refused: paused"},
		"":                           {Action: "job.create", Target: "job:" + strings.Repeat("x", 496) + "…", Outcome: "done"},
	} {
		if got := targetAddress(e); got != want {
			t.Errorf("%+v leads to %q, want %q", e, got, want)
		}
	}
	if got := targetAddress(admin.AuditEntry{Action: "sign-in", Target: "127.0.0.1", Outcome: "refused: shut out"}); got != "" {
		t.Errorf("a sign-in leads to %q", got)
	}
}

// TestLinksBetweenPages follows what a job, an instance and the overview say of where else to look.
func TestLinksBetweenPages(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	c := r.client(fullSecret)
	leads := func(from, to string) {
		t.Helper()
		if text := html.UnescapeString(c.get(from).text); !strings.Contains(text, `href="`+to+`"`) {
			t.Errorf("%s does not lead to %s", from, to)
			return
		}
		path, place, _ := strings.Cut(to, "#")
		if answer := c.get(path); answer.status != http.StatusOK || place != "" && !strings.Contains(answer.text, `id="`+place+`"`) {
			t.Errorf("%s leads to %s, which answers %d", from, to, answer.status)
		}
	}
	run, err := r.dags.Run(r.ctx, r.ran)
	r.check(err)
	leads("/admin/jobs/"+run.Steps[0].Job, runAddress(r.ran))
	leads("/admin/jobs/job:doc03", "/admin/audit?target=job%3adoc03")
	leads("/admin/jobs/job:doc03", "/admin/nodes#"+mark("b", "api"))
	leads("/admin/instances/tyger", "/admin/nodes#"+mark("b", "api"))
	leads("/admin/instances/tyger", "/admin/audit?target=tyger")
	leads("/admin/", "/admin/nodes#"+mark("node", "node-1"))
	leads("/admin/", "/admin/workflows/INGEST")
	leads("/admin/workflows/INGEST", "/admin/nodes#"+mark("b", "api"))
	if text := c.get("/admin/jobs/job:doc03").text; strings.Contains(text, "DAG run") {
		t.Error("a job of no DAG leads to a run")
	}
}

// TestAJobThatIsGoneIsNoLink terminates an instance whose job had not begun, which is deleted then.
func TestAJobThatIsGoneIsNoLink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(fullSecret)
	r.create("MAIL", "letter", `{}`)
	i, err := r.durable.Get(r.ctx, "letter")
	r.check(err)
	if text := c.get("/admin/instances/letter").text; !strings.Contains(text, jobLink(i.Job)) {
		t.Error("while it is queued, the page does not lead to its job")
	}
	_, err = r.durable.Terminate(r.ctx, "letter")
	r.check(err)
	if answer := c.get(jobLink(i.Job)); answer.status != http.StatusNotFound {
		t.Fatalf("its job is there: %d", answer.status)
	}
	if text := c.get("/admin/instances/letter").text; strings.Contains(text, jobLink(i.Job)) || !strings.Contains(text, "terminated") {
		t.Error("the page leads to a job that is gone")
	}
}

// TestStepsOfAKind filters the steps of an instance.
func TestStepsOfAKind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.create("INGEST", "one", `{"settle":"100ms"}`)
	r.status("one", wf.Waiting)
	_, err := r.durable.SendEvent(r.ctx, "one", "reviewed", nil)
	r.check(err)
	r.status("one", wf.Complete)
	c := r.client(readSecret)
	for kind, want := range map[string]int{"": 5, "do": 3, "sleep": 1, "waitForEvent": 1} {
		if text := c.get("/admin/instances/one?kind=" + kind).text; strings.Count(text, `class="step `) != want {
			t.Errorf("of kind %q there are %d steps, want %d", kind, strings.Count(text, `class="step `), want)
		}
	}
}

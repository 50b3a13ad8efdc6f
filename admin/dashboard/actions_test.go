package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// act clicks an action, confirms it, and waits for what is told of it.
func (b *browser) act(verb, told string) {
	b.t.Helper()
	b.click(`button[popovertarget="ask-` + verb + `"]`)
	b.click(`#ask-` + verb + ` form button:not(.quiet)`)
	b.told(told)
}

// told waits until the page tells what came of an action.
func (b *browser) told(what string) {
	b.t.Helper()
	b.await(`document.querySelector("#flash").innerText.includes(` + quoted(what) + `)`)
}

func (b *browser) state(want string) {
	b.t.Helper()
	b.await(`document.querySelector(".strip .state").textContent === ` + quoted(want))
}

// TestActionsOnInstances does everything that an instance's page offers.
func TestActionsOnInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	b := r.browse()
	b.signIn(fullSecret)

	b.open("/admin/workflows/INGEST")
	b.click(`[popovertarget="create"]`)
	b.do("fill in", chromedp.SendKeys(chromedp.CSS("#new-id"), "one"), chromedp.SendKeys(chromedp.CSS("#new-params"), `{"pages":`))
	b.click("#create button.primary")
	b.told("Params: not JSON")
	b.click(`[popovertarget="create"]`)
	if id := eval[string](b, `document.querySelector("#new-id").value`); id != "one" {
		t.Errorf("after a refusal the form has the id %q", id)
	}
	b.do("fill in", chromedp.SetValue(chromedp.CSS("#new-params"), `{"pages":2}`))
	b.click("#create button.primary")
	b.await(`location.pathname === "/admin/instances/one"`)
	b.state("waiting")

	b.markPage()
	b.act("pause", "It is paused")
	b.state("paused")
	b.act("resume", "It goes on.")
	b.state("waiting")
	b.click(`[popovertarget="send-event"]`)
	if got := eval[string](b, `document.querySelector("#event-type").value`); got != "reviewed" {
		t.Errorf("the form offers the event %q", got)
	}
	b.do("fill in", chromedp.SendKeys(chromedp.CSS("#event-payload"), `{"ok":`))
	b.click("#send-event button.primary")
	b.told("not JSON")
	b.state("waiting")
	b.click(`[popovertarget="send-event"]`)
	b.do("fill in", chromedp.SetValue(chromedp.CSS("#event-payload"), `{"ok":true}`))
	b.click("#send-event button.primary")
	b.told("The event was sent.")
	b.state("complete")
	b.act("restart", "It begins again")
	b.state("waiting")
	b.act("terminate", "It is terminated.")
	b.state("terminated")

	r.create("INGEST", "two", `{"broken":true}`)
	b.open("/admin/instances/two")
	b.state("errored")
	b.markPage()
	b.act("retry", "It goes on from the steps that failed.")
	b.state("errored")
	if !eval[bool](b, same) {
		t.Error("an action loaded the page anew")
	}
	for _, action := range []string{"create", "pause", "resume", "send-event", "restart", "terminate", "retry"} {
		page, err := r.audit.List(r.ctx, admin.AuditOptions{Action: "instance." + action, Actor: "root"})
		r.check(err)
		if len(page.Entries) == 0 || page.Entries[0].Via != "dashboard" {
			t.Errorf("the audit has of %s by the dashboard: %+v", action, page.Entries)
		}
	}
}

// TestActionsInTheWrongState posts what pages that are out of date would.
func TestActionsInTheWrongState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.create("INGEST", "waits", `{}`)
	r.create("MAIL", "ended", `{}`)
	r.status("waits", wf.Waiting)
	r.status("ended", wf.Complete)
	r.job(admin.NewJob{ID: "done", Path: "/work"})
	r.ended("job:done", "success")
	r.job(admin.NewJob{ID: "later", Path: "/work", Delay: 86_400_000})
	c := r.client(fullSecret)
	csrf := c.csrf()
	refused := func(path, says string, more url.Values) {
		t.Helper()
		form := url.Values{"csrf": {csrf}}
		for name, values := range more {
			form[name] = values
		}
		answer := c.ask(http.MethodPost, path, form)
		if answer.status != http.StatusSeeOther {
			t.Fatalf("POST %s: %d %s", path, answer.status, answer.text)
		}
		text := c.get(answer.header.Get("Location")).text
		_, flash, _ := strings.Cut(text, `class="flash refused"`)
		if flash, _, _ = strings.Cut(flash, "</div>"); !strings.Contains(flash, says) || strings.Contains(flash, "openapi") {
			t.Errorf("POST %s is told as %q, want %q", path, flash, says)
		}
		if again := c.get(answer.header.Get("Location")).text; strings.Contains(again, `class="flash refused"`) {
			t.Errorf("POST %s is told twice", path)
		}
	}
	for verb, id := range map[string]string{"resume": "waits", "retry": "waits", "pause": "ended", "terminate": "ended"} {
		refused("/admin/instances/"+id+"/"+verb, fmt.Sprintf("%s instance %s: it is ", map[bool]string{true: strings.ToUpper(verb[:1]) + verb[1:]}[true], id), nil)
	}
	refused("/admin/instances/ended/send-event", "it is complete", url.Values{"type": {"reviewed"}})
	refused("/admin/instances/waits/send-event", "Event type", url.Values{"type": {"<b>"}})
	refused("/admin/jobs/job:done/cancel", "the job is success", nil)
	refused("/admin/jobs/job:later/retry", "the job is pending", nil)
	refused("/admin/workflows/INGEST/instances", "already exists", url.Values{"id": {"waits"}})
	refused("/admin/workflows/INGEST/instances", "not JSON", url.Values{"params": {"{"}})
	refused("/admin/workflows/INGEST/instances", "allowed: 1 to 100 letters", url.Values{"id": {"../../etc"}})
	for _, path := range []string{"/admin/instances/none/pause", "/admin/jobs/job:none/cancel", "/admin/jobs/user:ann/cancel"} {
		answer := c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}})
		if answer.status != http.StatusSeeOther {
			t.Errorf("POST %s: %d", path, answer.status)
		}
		if page := c.get(answer.header.Get("Location")); page.status != http.StatusNotFound {
			t.Errorf("POST %s leads to a page of %d", path, page.status)
		}
	}
	for _, path := range []string{"/admin/instances/waits/explode", "/admin/jobs/job:done/explode", "/admin/bulk/jobs/explode", "/admin/bulk/instances/explode", "/admin/schedules/s/explode"} {
		if answer := c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}}); answer.status != http.StatusNotFound {
			t.Errorf("POST %s: %d", path, answer.status)
		}
	}
	long := url.Values{"csrf": {csrf}, "params": {strings.Repeat("x", maxForm+1)}}
	if answer := c.ask(http.MethodPost, "/admin/workflows/INGEST/instances", long); answer.status != http.StatusUnprocessableEntity {
		t.Errorf("a form of more than 4 MiB: %d", answer.status)
	}
}

// TestActionsOnJobs does what a job's page offers.
func TestActionsOnJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.job(admin.NewJob{ID: "later", Path: "/work", Delay: 86_400_000})
	r.job(admin.NewJob{ID: "hangs", Path: "/hang", MaxRetries: 1})
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/jobs/job:later")
	b.state("pending")
	b.act("cancel", "It is cancelled.")
	b.state("cancelled")
	b.act("retry", "It runs again")
	b.state("success")
	b.await(`document.querySelector("#live").innerText.includes('"words": 114')`)
	b.open("/admin/jobs/job:hangs")
	b.state("processing")
	b.act("cancel", "asked to abort")
	b.state("cancelled")
}

// TestBulk retries all that failed, and cancels those that were ticked.
func TestBulk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 7 {
		r.job(admin.NewJob{ID: fmt.Sprintf("f%d", n), Path: "/work", MaxRetries: 1, Delay: 86_400_000})
	}
	r.exec("UPDATE job SET status = 'failed', retries = 1 RETURN NONE", nil)
	for n := range 5 {
		r.job(admin.NewJob{ID: fmt.Sprintf("p%d", n), Path: "/work", Delay: 86_400_000})
	}
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/jobs?status=failed")
	b.click(`#bulk-bar button.quiet[formaction$="/retry"]`)
	b.await(`document.querySelector(".ask .big")?.innerText === "Retry 7 jobs?"`)
	b.do("type another number", chromedp.SendKeys(chromedp.CSS("#count"), "8"), chromedp.Submit(chromedp.CSS("#count")))
	b.await(`document.querySelector(".ask .error")?.innerText === "That is not the number."`)
	if page, err := r.jobs.List(r.ctx, admin.JobListOptions{Status: "failed"}); err != nil || len(page.Jobs) != 7 {
		t.Fatalf("%d jobs have failed, %v", len(page.Jobs), err)
	}
	b.do("type the number", chromedp.SendKeys(chromedp.CSS("#count"), "7"), chromedp.Submit(chromedp.CSS("#count")))
	b.told("retry: 7 of 7 done.")
	b.await(`location.search === "?status=failed" && document.querySelector("#live").innerText.includes("There are none.")`)

	b.open("/admin/jobs?q=job:p&status=pending")
	if eval[bool](b, `!document.querySelector('#bulk-bar button[name="selected"]').disabled`) {
		t.Error("nothing is ticked, and something can be done to it")
	}
	for _, n := range []int{1, 3} {
		b.click(fmt.Sprintf(`input[name="id"][value="job:p%d"]`, n))
	}
	b.await(`document.querySelector("#chosen").textContent === "2"`)
	_, err := r.jobs.Cancel(r.ctx, "job:p3") // by somebody else, meanwhile
	r.check(err)
	b.await(`document.querySelector("#chosen").textContent === "1"`) // it shows no more, and so is ticked no more
	b.click(`#bulk-bar button[name="selected"][formaction$="/cancel"]`)
	b.await(`document.querySelector(".ask .big")?.innerText === "Cancel 1 job?"`)
	b.do("type the number", chromedp.SendKeys(chromedp.CSS("#count"), "1"), chromedp.Submit(chromedp.CSS("#count")))
	b.told("cancel: 1 of 1 done.")
	page, err := r.jobs.List(r.ctx, admin.JobListOptions{Status: "cancelled"})
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("%d jobs are cancelled, %v", len(page.Jobs), err)
	}
}

// TestBulkOfManyIsBounded asks for more than one form may act on.
func TestBulkOfManyIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`INSERT INTO job (<array> 0..1100).map(|$n| { RETURN { path: '/work', delay: 86400000, payload: {} } }) RETURN NONE`, nil)
	r.create("MAIL", "one", `{}`)
	c := r.client(fullSecret)
	csrf := c.csrf()
	ask := c.ask(http.MethodPost, "/admin/bulk/jobs/cancel", url.Values{"csrf": {csrf}, "all": {"1"}, "back": {"/admin/jobs?status=pending"}})
	if ask.status != http.StatusOK || !strings.Contains(ask.text, "cancel 1000 jobs?") || !strings.Contains(ask.text, "More match") || strings.Count(ask.text, `name="id"`) != 1000 {
		t.Errorf("of 1,100: %d, %d ids", ask.status, strings.Count(ask.text, `name="id"`))
	}
	ids := make([]string, 1001)
	if answer := c.ask(http.MethodPost, "/admin/bulk/jobs/cancel", url.Values{"csrf": {csrf}, "id": ids, "count": {"1001"}}); answer.status != http.StatusUnprocessableEntity {
		t.Errorf("1,001 ids: %d", answer.status)
	}
	for _, back := range []string{"https://evil.example.com/", "/admin/instances", "/admin/jobs/../../x", "%"} {
		answer := c.ask(http.MethodPost, "/admin/bulk/jobs/cancel", url.Values{"csrf": {csrf}, "back": {back}})
		if to := answer.header.Get("Location"); answer.status != http.StatusSeeOther || to != "/admin/jobs" {
			t.Errorf("nothing ticked, from %s: %d to %s", back, answer.status, to)
		}
	}
	done := c.ask(http.MethodPost, "/admin/bulk/instances/terminate", url.Values{"csrf": {csrf}, "id": {"one", "none"}, "count": {"2"}, "back": {"/admin/instances"}})
	if text := c.get(done.header.Get("Location")).text; !strings.Contains(text, "terminate: 1 of 2 done. 1 refused: gone.") {
		t.Errorf("of one that there is, and one that there is not: %s", text)
	}
}

// TestAnActionIsToldOnItsPage looks at another page in between, which says nothing of it.
func TestAnActionIsToldOnItsPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("INGEST", "one", `{}`)
	c := r.client(fullSecret)
	if a := c.ask(http.MethodPost, "/admin/instances/one/pause", url.Values{"csrf": {c.csrf()}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.text)
	}
	const told = `class="flash done"`
	if text := c.get("/admin/nodes").text; strings.Contains(text, told) {
		t.Errorf("another page says %s", text)
	}
	if text := c.get("/admin/instances/one").text; !strings.Contains(text, told) {
		t.Errorf("its page says nothing: %s", text)
	}
	if text := c.get("/admin/instances/one").text; strings.Contains(text, told) {
		t.Errorf("its page says it once more: %s", text)
	}
}

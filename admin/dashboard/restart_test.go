package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sp00ky.cloud/spky/wf"
)

// openStep opens the step of a name on an instance's page, and no other.
func (b *browser) openStep(name string) {
	b.t.Helper()
	b.await(`[...document.querySelectorAll(".step .name")].some((n) => n.textContent === ` + quoted(name) + `)`)
	eval[bool](b, `document.querySelectorAll(".step").forEach((s) => { s.querySelector("details").open = s.querySelector(".name").textContent === `+quoted(name)+`; }), true`)
	b.await(`document.querySelector(".step details[open] .detail.loaded dl")`)
}

// TestRestartFromAStep restarts an instance from one of its steps by its page: what began before is kept. A step that
// there is not is refused in words.
func TestRestartFromAStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.create("INGEST", "one", `{"pages":2}`)
	r.status("one", wf.Waiting)
	_, err := r.durable.SendEvent(r.ctx, "one", "reviewed", json.RawMessage(`{"by":"ann"}`))
	r.check(err)
	r.status("one", wf.Complete)
	was := r.began("one", 0)
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/instances/one")
	b.state("complete")
	b.markPage()
	b.openStep("publish")
	const ask = `.step details[open] button[popovertarget^="ask-restart-"]`
	b.click(ask)
	b.await(`document.querySelector(".step details[open] .sheet:popover-open")?.innerText.includes("begins again from publish")`)
	b.click(`.step details[open] .sheet form button.quiet`)
	b.await(`!document.querySelector(".sheet:popover-open")`)
	b.click(ask)
	b.click(`.step details[open] .sheet form button:not(.quiet)`)
	b.told("It begins again")
	b.state("complete")
	b.await(`document.querySelector(".strip").innerText.match(/Restarts\s*1/)`)
	now := r.began("one", 1)
	for name, at := range was {
		if kept := now[name] == at; kept != (name != "publish") {
			t.Errorf("%s began at %s, and at %s before", name, now[name], at)
		}
	}
	if !eval[bool](b, same) {
		t.Error("an action loaded the page anew")
	}

	b.openStep("publish")
	b.do("name another step", chromedp.SetValue(chromedp.CSS(`.step details[open] input[name="name"]`), "nobody's"))
	b.click(ask)
	b.click(`.step details[open] .sheet form button:not(.quiet)`)
	b.told(`step do "nobody's" #1 not found in execution history`)
	b.state("complete")

	b.expects("status of 404")                                       // it may look again when the step is forgotten
	b.open("/admin/instances/one/step?kind=do&name=count+pages&n=1") // the step's own page leads to the instance's
	b.click(`button[popovertarget^="ask-restart-"]`)
	b.click(`.sheet:popover-open form button:not(.quiet)`)
	b.await(`location.pathname === "/admin/instances/one"`)
	b.told("It begins again")
	b.state("waiting")
}

// began says when the steps of an instance began.
func (r *rig) began(id string, incarnation int) map[string]string {
	r.t.Helper()
	steps, err := r.durable.Steps(r.ctx, id, incarnation, false)
	r.check(err)
	all := map[string]string{}
	for _, s := range steps {
		all[s.Name] = s.StartedAt.String()
	}
	return all
}

// TestRestartFromAStepIsRefused posts what no page would, and looks for the button without the right to use it.
func TestRestartFromAStepIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.create("INGEST", "waits", `{}`)
	r.status("waits", wf.Waiting)
	c := r.client(fullSecret)
	for says, form := range map[string]url.Values{
		"not found in execution history": {"name": {"nope"}, "count": {"1"}, "type": {"do"}},
		"The name of the step":           {"name": {""}, "count": {"1"}},
		"counted from 1":                 {"name": {"count pages"}, "count": {"0"}},
		"Steps are counted":              {"name": {"count pages"}, "count": {"x"}},
		"allowed: do, sleep":             {"name": {"count pages"}, "count": {"1"}, "type": {"step"}},
	} {
		form.Set("csrf", c.csrf())
		answer := c.ask(http.MethodPost, "/admin/instances/waits/restart", form)
		if answer.status != http.StatusSeeOther {
			t.Fatalf("%v: %d %s", form, answer.status, answer.text)
		}
		_, flash, _ := strings.Cut(c.get(answer.header.Get("Location")).text, `class="flash refused"`)
		if flash, _, _ = strings.Cut(flash, "</div>"); !strings.Contains(strings.ToLower(flash), strings.ToLower(says)) {
			t.Errorf("%v is told as %q, want %q", form, flash, says)
		}
	}
	if i, err := r.durable.Get(r.ctx, "waits"); err != nil || i.Incarnation != 0 || i.Status != wf.Waiting {
		t.Errorf("it is %+v, %v", i, err)
	}
	const step = "/admin/instances/waits/step?kind=do&name=count+pages&n=1"
	if page := c.get(step).text; !strings.Contains(page, "Restart from here") {
		t.Error("the step's page does not offer it")
	}
	if page := r.client(readSecret).get(step).text; strings.Contains(page, "Restart from here") {
		t.Error("a reader is offered it")
	}
}

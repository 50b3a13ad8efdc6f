package dashboard

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/wf"
)

// same says whether the page is still the one that was marked.
const same = `window.marked === true`

func (b *browser) markPage() {
	b.t.Helper()
	eval[bool](b, `window.marked = true`)
}

// TestAnInstanceMovesOnScreen watches an instance from its beginning to its end on one page.
func TestAnInstanceMovesOnScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browse()
	b.signIn(fullSecret)
	r.create("INGEST", "one", `{"pages":3,"settle":"300ms","failures":1}`)
	b.open("/admin/instances/one")
	b.await(`document.querySelector("#pulse").dataset.state === "live"`)
	b.markPage()
	if text := b.text(".falls"); text == "" {
		t.Error("the page has no waterfall")
	}
	r.running(workflows, answers)
	b.await(`[...document.querySelectorAll(".step .name")].some((name) => name.textContent === "review") && document.querySelector(".strip .state").textContent === "waiting"`)
	b.await(`document.querySelectorAll(".step rect.failed").length === 1 && document.querySelectorAll(".step rect.gap").length >= 1`)
	b.await(`document.querySelector(".note time")?.textContent.startsWith("in 23 h")`)

	// What is opened stays open, and is not loaded anew.
	b.click(`.step:has(rect.failed) summary`)
	b.await(`document.querySelector(".step details[open] .detail table")?.innerText.includes("the converter answers 503 at attempt 1")`)
	b.await(`document.querySelector(".step details[open] .detail .value")?.textContent === "10"`)

	_, err := r.durable.SendEvent(r.ctx, "one", "reviewed", json.RawMessage(`{"by":"ann"}`))
	r.check(err)
	b.await(`document.querySelector(".strip .state").textContent === "complete"`)
	b.await(`document.querySelector(".step details[open] .detail .value")?.textContent === "10"`)
	b.await(`[...document.querySelectorAll(".value")].some((value) => value.textContent.includes('"by": "ann"'))`)
	b.await(`document.querySelectorAll(".actions .act").length === 1 && document.querySelector(".actions .act").textContent === "Restart"`)
	if !eval[bool](b, same) {
		t.Error("the page was loaded anew")
	}
}

// TestListsMoveOnScreen watches the lists while jobs and instances come and go.
func TestListsMoveOnScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	jobs, instances := r.browse(), r.browse()
	for page, path := range map[*browser]string{jobs: "/admin/jobs", instances: "/admin/instances"} {
		page.signIn(readSecret)
		page.open(path)
		page.await(`document.querySelector("#pulse").dataset.state === "live"`)
		page.markPage()
	}
	r.create("MAIL", "letter", `{}`)
	instances.await(`document.querySelector("#live").innerText.match(/letter\s+complete/)`)
	jobs.await(`document.querySelector("#live").innerText.includes("/__spky/workflow/MAIL")`)
	for _, page := range []*browser{jobs, instances} {
		if !eval[bool](page, same) {
			t.Error("a list was loaded anew")
		}
	}
}

// TestPagesMoveOnScreen has every page open that shows more than one thing, and does what each has to show.
func TestPagesMoveOnScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers, append(nightly(), hanging()...)...)
	pages := map[string]*browser{}
	for _, path := range []string{"/admin/", "/admin/workflows", "/admin/workflows/MAIL", "/admin/schedules", "/admin/schedules/nightly", "/admin/dags", "/admin/dags/nightly", "/admin/nodes", "/admin/audit"} {
		b := r.browse()
		b.signIn(readSecret)
		b.open(path)
		b.await(`document.querySelector("#pulse").dataset.state === "live"`)
		b.markPage()
		pages[path] = b
	}
	says := func(path, text string) {
		t.Helper()
		pages[path].await(`document.querySelector("#live").innerText.match(` + text + `)`)
	}
	r.create("MAIL", "letter", `{}`)
	says("/admin/workflows", `/MAIL[^]*(now|ago)/`)
	says("/admin/workflows/MAIL", `/letter\s+complete/`)
	says("/admin/", `/1 complete/`)
	says("/admin/audit", `/instance\.create\s+letter/`)
	_, err := r.schedules.Pause(r.ctx, "nightly")
	r.check(err)
	says("/admin/schedules", `/nightly\s+paused/`)
	says("/admin/schedules/nightly", `/paused/`)
	says("/admin/dags", `/nightly\s+paused/`)
	says("/admin/dags/nightly", `/paused/`)
	_, err = r.dags.Trigger(r.ctx, "nightly")
	r.check(err)
	says("/admin/dags", `/failed\s+3 of 5 steps/`)
	says("/admin/dags/nightly", `/nightly\S*\s+by hand\s+failed\s+3\/5/`)
	says("/admin/schedules/nightly", `/triggered\s+failed/`)
	says("/admin/nodes", `/node-1\s+alive/`)
	r.exec(`CREATE _00_node:dead CONTENT { node: 'gone-node', host: 'h', version: 'v', pid: 1, started_at: time::now() - 1h, heartbeat_at: time::now() - 50m, backends: [] } RETURN NONE`, nil)
	says("/admin/nodes", `/gone-node\s+dead/`)
	says("/admin/", `/gone-node\s+dead/`)
	for path, page := range pages {
		if !eval[bool](page, same) {
			t.Errorf("%s was loaded anew", path)
		}
	}
}

// hanging is a DAG of one step that does not end, and has an hour.
func hanging() []schedule.Spec {
	specs := schedule.Specs(&config.Config{
		Backends: configured(nil), Retention: config.Retention{RunSuccess: 10, RunFailed: 10},
		Workflows: []config.DAG{{
			Name: "hanging", Concurrency: "skip", OnFailure: "halt",
			Steps: []config.DAGStep{{Name: "hang", Backend: "api", Route: "/hang", Retry: config.Retry{Max: 1}}},
		}},
	})
	specs[0].DAG.Deadline = time.Hour
	return specs
}

// TestARunMovesOnScreen watches the page of a run from its beginning to its end.
func TestARunMovesOnScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers, hanging()...)
	started, err := r.dags.Trigger(r.ctx, "hanging")
	r.check(err)
	b := r.browse()
	b.signIn(readSecret)
	b.open(runAddress(started.Runs[0]))
	b.await(`document.querySelector("#pulse").dataset.state === "live"`)
	b.markPage()
	b.await(`document.querySelector(".strip").innerText.match(/Deadline\s+in 59 min/) && document.querySelectorAll(".steps rect.busy").length === 1`)
	width := eval[float64](b, `document.querySelector(".took") && Number(document.querySelector("#live").dataset.now)`)
	b.await(fmt.Sprintf(`Number(document.querySelector("#live").dataset.now) > %f`, width)) // what runs is drawn longer by and by
	_, err = r.dags.Cancel(r.ctx, started.Runs[0])
	r.check(err)
	b.state("killed")
	b.await(`!document.querySelector("#live").dataset.moves && !document.querySelector(".strip").innerText.includes("Deadline")`)
	if !eval[bool](b, same) {
		t.Error("the page was loaded anew")
	}
}

// TestIdlePagesDoNotLook reads of every page how often it looks of itself: where nothing moves, never.
func TestIdlePagesDoNotLook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("INGEST", "waits", `{}`)
	r.exec(`UPDATE _00_wf_instance:waits SET status = 'complete', finished_at = time::now() RETURN NONE`, nil)
	c := r.client(readSecret)
	for _, path := range []string{
		"/admin/", "/admin/jobs", "/admin/workflows", "/admin/workflows/MAIL", "/admin/instances", "/admin/instances/waits", "/admin/schedules", "/admin/dags", "/admin/nodes", "/admin/audit",
	} {
		if text := c.get(path).text; strings.Contains(text, "data-moves") || !strings.Contains(text, `id="feed"`) {
			t.Errorf("%s looks of itself, or is told nothing", path)
		}
	}
	r.exec(`UPDATE _00_wf_instance:waits SET status = 'running', finished_at = NONE RETURN NONE`, nil)
	if text := c.get("/admin/instances/waits").text; !strings.Contains(text, `data-moves="2000"`) {
		t.Error("what runs stands still")
	}
}

// TestTheStreamDropsAndComesBack takes the server away from under a page, and starts it again.
func TestTheStreamDropsAndComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers)
	r.create("INGEST", "one", `{}`)
	r.status("one", wf.Waiting)
	b := r.browse()
	for _, part := range []string{"net::ERR_", "htmx:", "[object Event]"} { // what a browser says of a server that is away
		b.expects(part)
	}
	b.signIn(fullSecret)
	b.open("/admin/instances/one")
	b.await(`document.querySelector("#pulse").dataset.state === "live" && document.querySelector(".strip .state").textContent === "waiting"`)
	b.markPage()

	r.server.CloseClientConnections() // only the connections
	b.await(`document.querySelector("#pulse").dataset.state === "live"`)

	address := r.server.Listener.Addr().String()
	r.server.CloseClientConnections()
	r.server.Listener.Close() // and now nobody is there
	b.await(`document.querySelector("#pulse").dataset.state === "lost"`)
	_, err := r.durable.SendEvent(r.ctx, "one", "reviewed", nil)
	r.check(err)
	r.status("one", wf.Complete)
	listener, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", address)
	r.check(err)
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: r.api.Handler(), ReadHeaderTimeout: time.Minute}}
	again.Start()
	t.Cleanup(func() { r.api.Close(); again.Close() })
	b.await(`document.querySelector("#pulse").dataset.state === "live" && document.querySelector(".strip .state").textContent === "complete"`)
	if !eval[bool](b, same) {
		t.Error("the page was loaded anew")
	}
}

// TestAPageWhoseSessionEndsGoesToTheLogin revokes the token of somebody who looks.
func TestAPageWhoseSessionEndsGoesToTheLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret, token, err := r.tokens.Create(r.ctx, "for a while", admin.ScopeRead, time.Hour)
	r.check(err)
	b := r.browse()
	b.expects("status of 401")
	b.expects("htmx:")
	b.signIn(secret)
	b.open("/admin/nodes")
	b.await(`document.querySelector("#pulse").dataset.state === "live"`)
	r.check(r.tokens.Revoke(r.ctx, token.ID))
	b.await(`location.pathname === "/admin/login" && location.search === "?next=%2Fadmin%2Fnodes"`)
}

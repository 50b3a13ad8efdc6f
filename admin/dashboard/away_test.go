package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// awayRig is a rig whose database can be taken away.
func awayRig(t *testing.T) (*rig, *faultproxy.Proxy) {
	t.Helper()
	target := devdbtest.Fresh(t)
	proxy, err := faultproxy.Listen(target.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	target.Endpoint = "ws://" + proxy.Addr()
	r := rigOn(t, target)
	t.Cleanup(proxy.Restore)
	return r, proxy
}

// TestTheDatabaseGoesAndComesBack takes it away from under open pages, of which each says so in words, keeps what it
// shows, and goes on by itself. Whoever opens a page meanwhile is told as well, and gets the page once there is one. A
// browser's console says nothing.
func TestTheDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	r, proxy := awayRig(t)
	secret, _, err := r.tokens.Create(r.ctx, "of the database", admin.ScopeFull, time.Hour)
	r.check(err)
	r.create("INGEST", "one", `{}`)
	r.job(admin.NewJob{ID: "one", Path: "/work"})
	pages := map[string]*browser{}
	for _, path := range []string{"/admin/", "/admin/jobs", "/admin/jobs/job:one", "/admin/instances/one", "/admin/schedules", "/admin/dags", "/admin/nodes", "/admin/audit"} {
		b := r.browse()
		b.signIn(secret)
		b.open(path)
		b.await(`document.querySelector("#pulse").dataset.state === "live"`)
		b.markPage()
		pages[path] = b
	}
	late := r.browse()
	late.expects("status of 503") // a page that is asked for while there is none
	late.signIn(fullSecret)

	proxy.Cut()
	for path, b := range pages {
		b.await(`!document.querySelector("#away").hidden && document.querySelector("#away").innerText.startsWith("The database does not answer. What you see is as it was at ") && document.querySelector("#pulse").dataset.state === "away"`)
		if b.text("#live") == "" || b.text("h1") == "" {
			t.Errorf("%s shows nothing any more", path)
		}
	}
	acting := pages["/admin/instances/one"]
	acting.click(`button[popovertarget="ask-terminate"]`)
	acting.click(`#ask-terminate form button:not(.quiet)`)
	acting.await(`!document.querySelector("#ask-terminate:popover-open")`)
	acting.await(`!document.querySelector("#away").hidden && document.querySelector("#away").innerText.includes("whether what you asked for was done shows once the database is back")`)
	if title := acting.text("h1"); !strings.HasPrefix(title, "one") {
		t.Errorf("an action that is not possible leads to %s", title)
	}
	late.open("/admin/jobs")
	late.await(`document.querySelector("#live").innerText.includes("The database does not answer.")`)

	proxy.Restore()
	for path, b := range pages {
		b.await(`document.querySelector("#away").hidden && document.querySelector("#pulse").dataset.state === "live"`)
		if !eval[bool](b, same) {
			t.Errorf("%s was loaded anew", path)
		}
	}
	late.await(`document.querySelector("h1").textContent === "Jobs" && document.querySelector("#pulse").dataset.state === "live" && document.querySelector("#live").innerText.includes("job:one")`)
	acting.open("/admin/nodes")
	if told := acting.text("#flash"); told != "" {
		t.Errorf("of what was asked for while it was away, another page says %q", told)
	}
	r.create("MAIL", "after", `{}`)
	pages["/admin/"].await(`document.querySelector("#live").innerText.includes("2 queued")`)
	pages["/admin/jobs"].await(`document.querySelector("#live").innerText.includes("/__spky/workflow/MAIL")`)
}

// TestWhatIsAskedForWhileTheDatabaseIsAway asks without a script, and as one.
func TestWhatIsAskedForWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	r, proxy := awayRig(t)
	c := r.client(fullSecret)
	r.create("INGEST", "one", `{}`)
	csrf := c.csrf()
	proxy.Cut()
	if a := c.get("/admin/jobs"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.text, "The database does not answer.") || !strings.Contains(a.text, " data-away") {
		t.Errorf("a page: %d %s", a.status, a.text)
	}
	if a := c.ask(http.MethodGet, "/admin/jobs", nil, "Hx-Request", "true", "Spky-Look", "again"); a.status != http.StatusNoContent || a.header.Get("Spky-Away") != "The database does not answer." || a.text != "" {
		t.Errorf("a script: %d %v %s", a.status, a.header, a.text)
	}
	form := url.Values{"csrf": {csrf}}
	for range 2 {
		if a := c.ask(http.MethodPost, "/admin/instances/one/pause", form); a.status != http.StatusServiceUnavailable || !strings.Contains(a.text, "The database does not answer.") {
			t.Errorf("a form: %d %v %s", a.status, a.header, a.text)
		}
	}
	if a := c.ask(http.MethodPost, "/admin/instances/one/pause", form, "Hx-Request", "true", "Hx-Current-Url", "/admin/instances/one"); a.status != http.StatusNoContent || a.header.Get("Spky-Away") != "The database does not answer." {
		t.Errorf("a script's form: %d %v %s", a.status, a.header, a.text)
	}
	proxy.Restore()
	if text := c.get("/admin/instances/one").text; !strings.Contains(text, ">one</span>") || strings.Contains(text, `class="flash refused"`) {
		t.Errorf("afterwards its page is %s", text)
	}
}

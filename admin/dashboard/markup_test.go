package dashboard

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// inline is what the Content-Security-Policy would keep a browser from heeding.
var inlineMarkup = regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\sstyle\s*=|<[^>]+\son[a-z]+\s*=|javascript:|<base|<iframe|<object|<embed`)

// markedMarkup is an element with an id.
var markedMarkup = regexp.MustCompile(`<[^>]+\sid="([^"]*)"`)

// TestMarkup reads every page for what must not be in it.
func TestMarkup(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	c := r.client(fullSecret)
	for _, path := range append(r.wholePages(), "/admin/jobs/job:doc04", "/admin/login", "/admin/instances/none", "/admin/dags/none", "/admin/runs/none") {
		answer := c.get(path)
		h := answer.header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if found := inlineMarkup.FindString(answer.text); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		ids := map[string]bool{}
		for _, id := range markedMarkup.FindAllStringSubmatch(answer.text, -1) {
			if ids[id[1]] {
				t.Errorf("%s has the id %s twice", path, id[1])
			}
			ids[id[1]] = true
		}
		for _, word := range []string{fullSecret, "ZgotmplZ", "<no value>", "%!"} {
			if strings.Contains(answer.text, word) {
				t.Errorf("%s has %q", path, word)
			}
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.stranger()
	for name, hashed := range r.pages.assets.names {
		answer := c.get("/admin/assets/" + hashed)
		if answer.status != http.StatusOK || !strings.Contains(answer.header.Get("Cache-Control"), "immutable") || answer.text == "" {
			t.Errorf("%s: %d %v", name, answer.status, answer.header)
		}
	}
	for _, library := range []string{"htmx", "idiomorph", "uplot"} {
		if len(r.pages.assets.files[r.pages.assets.names["vendor/"+library+".LICENSE"]]) < 200 {
			t.Errorf("%s has no licence beside it", library)
		}
	}
	for _, path := range []string{"/admin/assets/", "/admin/assets/style.css", "/admin/assets/..%2f..%2fgo.mod", "/admin/assets/0/style.css"} {
		if answer := c.get(path); answer.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.status)
		}
	}
}

// TestRedactedOnPages looks for what the configuration hides.
func TestRedactedOnPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, "*.card", "params.name", "payload.token")
	r.running(workflows, answers)
	r.create("INGEST", "one", `{"name":"secret-name","deep":[{"card":"secret-card"}],"shown":"plain-value"}`)
	r.status("one", "waiting")
	_, err := r.durable.SendEvent(r.ctx, "one", "other", json.RawMessage(`{"token":"secret-token","card":"secret-card"}`))
	r.check(err)
	_, err = r.durable.SendEvent(r.ctx, "one", "reviewed", json.RawMessage(`{"card":"secret-card"}`))
	r.check(err)
	r.status("one", "complete")
	job := r.job(admin.NewJob{ID: "one", Path: "/work", Payload: json.RawMessage(`{"token":"secret-token","shown":"plain-value"}`)})
	r.ended(job, "success")
	failed := r.job(admin.NewJob{ID: "two", Path: "/work", Payload: json.RawMessage(`{"token":"secret-token"}`)})
	r.ended(failed, "success")
	r.create("INGEST", "two", `{"name":"secret-name"}`)
	r.status("two", "waiting")
	r.exec(`UPDATE job:two SET status = 'failed', errors = [{ code: 500, reason: 'cannot do secret-token', attempt: 1 }];
		UPDATE _00_wf_instance:two SET status = 'errored', finished_at = time::now(), error = { name: 'Error', message: 'cannot do secret-name' };
		UPDATE _00_wf_step:['two', 0]..=['two', 0, ..] SET status = 'errored', finished_at = time::now(), error = { name: 'Error', message: 'cannot do secret-name' },
			attempts = [{ started_at: time::now(), ended_at: time::now(), error: { name: 'Error', message: 'cannot do secret-name' } }]`, nil)
	c := r.client(fullSecret)
	for _, path := range []string{"/admin/instances/two", "/admin/jobs/job:two", "/admin/instances/two/step?kind=waitForEvent&name=review"} {
		if answer := c.get(path); strings.Contains(answer.text, "secret-") || !strings.Contains(answer.text, "cannot do [redacted]") {
			t.Errorf("%s (%d) shows: %s", path, answer.status, answer.text)
		}
	}
	for _, path := range []string{
		"/admin/instances?status=errored", "/admin/jobs?status=failed",
		"/admin/", "/admin/instances", "/admin/instances/one", "/admin/instances/one/value?of=params", "/admin/instances/one/value?of=output",
		"/admin/instances/one/step?kind=waitForEvent&name=review", "/admin/instances/one/value?of=step&kind=do&name=publish", "/admin/jobs", "/admin/jobs/job:one", "/admin/jobs/job:one/value?of=payload",
	} {
		answer := c.get(path)
		if answer.status != http.StatusOK || strings.Contains(answer.text, "secret-") {
			t.Errorf("%s (%d) shows what is hidden: %s", path, answer.status, answer.text)
		}
		if lists := path == "/admin/" || path == "/admin/jobs" || path == "/admin/instances"; lists && strings.Contains(answer.text, "plain-value") {
			t.Errorf("the list %s shows a payload", path)
		}
	}
	if text := c.get("/admin/instances/one").text; !strings.Contains(text, "[redacted]") || !strings.Contains(text, "plain-value") {
		t.Errorf("the instance's page shows nothing: %s", text)
	}
}

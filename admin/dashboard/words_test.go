package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// starts writes a DAG of one step and starts a run of it.
func (r *rig) starts(name string) {
	r.t.Helper()
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}}}
	cfg.Workflows = []config.DAG{{Name: name, Steps: []config.DAGStep{{Name: "only", Backend: "api", Route: "/work"}}}}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	_, err := r.dags.Trigger(r.ctx, name)
	r.check(err)
}

// TestWordsOfActions are about what has been done, not about what else the same button does.
func TestWordsOfActions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(fullSecret)
	csrf := c.csrf()
	r.create("INGEST", "one", `{}`)
	r.exec(`UPDATE _00_wf_instance:one SET status = 'waiting', runs = 1;
		CREATE type::record('_00_wf_step', ['one', 0, 'sleep', 'nap', 1]) SET instance = _00_wf_instance:one, seq = 1, kind = 'sleep', name = 'nap',
			occurrence = 1, status = 'waiting', attempts = [], started_at = time::now(), wake_at = time::now() + 1h`, nil)
	if text := c.get("/admin/instances/one").text; !strings.Contains(text, "sleeps") {
		t.Errorf("while it sleeps: %s", text)
	}
	for _, act := range []struct {
		verb string
		form url.Values
		told string
	}{
		{"pause", url.Values{}, "<p>It is paused.</p>"},
		{"terminate", url.Values{}, "<p>It is terminated.</p>"},
		{"restart", url.Values{"name": {"nap"}, "count": {"1"}}, `<p>It begins again from step "nap" #1, with the same params.</p>`},
		{"restart", url.Values{}, "<p>It begins again from its first step, with the same params.</p>"},
	} {
		act.form.Set("csrf", csrf)
		if a := c.ask(http.MethodPost, "/admin/instances/one/"+act.verb, act.form); a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", act.verb, a.status, a.text)
		}
		text := html.UnescapeString(c.get("/admin/instances/one").text)
		if !strings.Contains(text, act.told) {
			t.Errorf("of %s the page does not say %q: %s", act.verb, act.told, text)
		}
		if act.verb == "terminate" && (strings.Contains(text, ">sleeps") || !strings.Contains(text, "cut off")) {
			t.Errorf("of its sleep the page of a terminated instance says %s", text)
		}
	}
	r.create("INGEST", "two", `{}`)
	r.exec(`UPDATE _00_wf_instance:two SET status = 'running', lease_token = 'x', lease_until = time::now() + 1h`, nil)
	c.ask(http.MethodPost, "/admin/instances/two/pause", url.Values{"csrf": {csrf}})
	if text := c.get("/admin/instances/two").text; !strings.Contains(text, "It is paused as soon as the step that runs is stored.") {
		t.Errorf("of one that runs: %s", text)
	}
}

// TestWordsOfAddresses says what is wrong with them; a filter that cannot be meant is told beside the list on all pages.
func TestWordsOfAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(fullSecret)
	r.create("INGEST", "one", `{}`)
	r.starts("dag")
	if a := c.get("/admin/instances/%00"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "There is a zero byte in the address") {
		t.Errorf("%d %s", a.status, a.text)
	}
	for _, path := range []string{"/admin/jobs?status=zzz", "/admin/instances?status=zzz", "/admin/instances/one?steps=zzz", "/admin/dags/dag?status=zzz"} {
		if a := c.get(path); a.status != http.StatusOK || !strings.Contains(a.text, `class="flash refused"`) || !strings.Contains(a.text, "zzz") {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
}

// TestRunsOfADAGHavePages walks to the last run by the links of the page.
func TestRunsOfADAGHavePages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.starts("dag")
	r.exec(`LET $first = SELECT * FROM ONLY _00_workflow_run LIMIT 1;
		FOR $n IN 1..=120 {
			CREATE type::record('_00_workflow_run', 'more' + <string>$n)
				CONTENT object::extend(object::remove($first, ['id']), { started_at: $first.started_at - duration::from_secs($n), newest: $first.newest + $n * 1000000 })
		}`, nil)
	c := r.client(fullSecret)
	seen, pages := 0, 0
	for at := "/admin/dags/dag"; pages < 10; pages++ {
		text := c.get(at).text
		seen += strings.Count(text, `href="/admin/runs/`)
		before, _, more := strings.Cut(text, `" rel="next"`)
		if !more {
			break
		}
		at = html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):])
	}
	if seen != 121 || pages < 2 {
		t.Errorf("%d runs on %d pages", seen, pages+1)
	}
}

// TestQuantile writes upper bounds as such.
func TestQuantile(t *testing.T) {
	t.Parallel()
	if got := quantile(11.2, 5) + " " + quantile(0, 0); got != "≤ 12 ms –" {
		t.Error(got)
	}
}

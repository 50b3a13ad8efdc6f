package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// hostile are texts that would do something on a page that took them for markup.
var hostile = []string{
	`<script>window.hacked=1</script>`, `"><img src=x onerror=window.hacked=1>`, `'><svg onload=window.hacked=1>`, `javascript:window.hacked=1`, `</pre></details><iframe src=//evil.example.com>`,
	`{{.Token}}${7*7}`, "line\nbreak\x00\x1b[31m\u202egnp.exe", `<a href="https://evil.example.com/">click</a>`, `]]><!--`, `&lt;b&gt;`, `hx-get="/admin/logout" hx-trigger="load"`,
}

// plant writes rows that hold them wherever a row holds text that somebody else chose, and answers with their pages.
func (r *rig) plant() []string {
	r.t.Helper()
	pages := []string{"/admin/", "/admin/jobs", "/admin/instances", "/admin/workflows", "/admin/audit", "/admin/nodes", "/admin/schedules", "/admin/dags"}
	r.exec("DEFINE FIELD OVERWRITE owner_note ON job TYPE any; DEFINE FIELD OVERWRITE retry_strategy ON job TYPE any", nil)
	for n, text := range hostile {
		clean := strings.ReplaceAll(text, "\x00", "")
		id := fmt.Sprintf("h%d", n)
		r.exec(`CREATE type::record('job', $text) SET path = $text, payload = object::from_entries([[$text, $text]]), status = 'failed', retries = 1, result = $text, errors = [{ code: $text, reason: $text, at: time::now(), attempt: 1 }],
			owner_note = $text, retry_strategy = $text, assigned_to = type::record('user', $text), assignee = $text, traceparent = $text RETURN NONE`, map[string]any{"text": clean})
		r.exec(`CREATE type::record('_00_wf_instance', $id) CONTENT { binding: $text, status: 'errored', job_table: 'job', params: object::from_entries([[$text, $text]]), output: $text, error: { name: $text, message: $text }, stack: $text,
			warning: { code: $text, message: $text, unreached: [$text] }, owner: type::record('user', $text), backend: $text, version: $text, current_step: $text, waiting_for: { kind: $text, name: $text, types: [$text] },
			steps_done: 1, runs: 1, incarnation: 0, created_at: time::now(), started_at: time::now(), updated_at: time::now(), finished_at: time::now(), stalled_at: time::now(), traceparent: $text } RETURN NONE`, map[string]any{"id": id, "text": clean})
		r.exec(`CREATE type::record('_00_wf_step', [$id, 0, 'do', $text, 1]) CONTENT { instance: type::record('_00_wf_instance', $id), seq: 1, kind: 'do', name: $text, occurrence: 1, status: 'errored', output: $text, error: { name: $text, message: $text },
			stack: $text, attempts: [{ started_at: time::now(), ended_at: time::now(), error: { name: $text, message: $text } }], config: { retries: { limit: 1, delay: 1, backoff: $text }, timeout: 1 }, started_at: time::now(), finished_at: time::now() } RETURN NONE`, map[string]any{"id": id, "text": clean})
		r.exec(`CREATE type::record('_00_wf_event', [$id, 0, 1]) SET instance = type::record('_00_wf_instance', $id), type = $text, payload = $text RETURN NONE`, map[string]any{"id": id, "text": clean})
		r.exec(`CREATE type::record('_00_node', $text) CONTENT { node: $text, host: $text, version: $text, listen: $text, pid: 1, draining: false, started_at: time::now(), heartbeat_at: time::now(), backends: [{ name: $text, table: $text, slots: 1, busy: 0, claimed: 0, queued: 0, due: 0,
			circuit: 'open', circuit_reason: $text, refused: $text, feed: true, attempts: 1, failures: 1, p50_ms: 1.0, p99_ms: 1.0 }] } RETURN NONE`, map[string]any{"text": clean})
		r.check(r.audit.Record(admin.WithActor(r.ctx, admin.Actor{Name: clean, Via: clean}), "job."+clean, clean, clean, clean))
		pages = append(pages, "/admin/instances/"+id)
		pages = append(pages, r.plantDAG(id, clean)...)
	}
	return pages
}

// plantDAG writes a DAG and a schedule, with a run of each, and answers with their pages.
func (r *rig) plantDAG(id, text string) []string {
	r.t.Helper()
	name := id + text
	r.exec(`CREATE type::record('_00_schedule', $name) CONTENT { name: $name, digest: $text, clock: $text, enabled: true, deployed_at: time::now(), trouble: $text, next_fire_at: time::now(), spec: {
		cron: $text, timezone: $text, backend: $text, table: 'job', concurrency: $text, for_each: { query: $text, key: $text },
		dag: { on_failure: $text, deadline_ms: 1, steps: [{ name: $text, position: 0, backend: $text, route: $text, depends_on: [] }, { name: $text + $text, position: 1, backend: $text, route: $text, depends_on: [$text] }] } } } RETURN NONE`,
		map[string]any{"name": name, "text": text})
	r.exec(`CREATE type::record('_00_schedule', 's' + $name) CONTENT { name: 's' + $name, digest: $text, clock: $text, enabled: true, deployed_at: time::now(), trouble: $text,
		spec: { cron: $text, timezone: $text, backend: $text, table: 'job', route: $text, concurrency: $text, quarantine_after: 1, for_each: { query: $text, key: $text } } } RETURN NONE;
		CREATE type::record('_00_schedule_run', ['s' + $name, -1, $text]) SET schedule = 's' + $name, key = $text, tick = time::now(), manual = true, status = 'failed', reason = $text, target = type::record('job', $text), started_at = time::now() RETURN NONE;
		CREATE type::record('_00_schedule_key', ['s' + $name, $text]) SET schedule = 's' + $name, key = $text, failures = 2, quarantined_at = time::now() RETURN NONE`, map[string]any{"name": name, "text": text})
	r.exec(`CREATE type::record('_00_workflow_run', $name) CONTENT { workflow: $name, key: $text, manual: true, status: 'failed', on_failure: 'halt', concurrency: $text, tick: type::record('_00_schedule_run', [$name, -1, $text]),
		steps: 2, steps_done: 1, error: { code: $text, reason: $text }, stopping: { code: $text, reason: $text }, started_at: time::now(), deadline_ms: 1, deadline_at: time::now(), newest: -1 } RETURN NONE`, map[string]any{"name": name, "text": text})
	for position, status := range []string{"failed", "dispatched"} {
		r.exec(`CREATE type::record('_00_step_run', [$name, $position]) CONTENT { run: $name, position: $position, name: $text + <string> $position, backend: $text, table: 'job', route: $text, payload: $text, retries: 1, strategy: $text, cancelled: $text,
			depends_on: [$text + '0'], upstream: [], status: $status, job: type::record('job', $text), error: { code: $text, reason: $text }, retry_count: 3, started_at: time::now() } RETURN NONE`,
			map[string]any{"name": name, "text": text, "position": position, "status": status})
	}
	return []string{"/admin/dags/" + url.PathEscape(name), "/admin/schedules/" + url.PathEscape("s"+name), runAddress(name)}
}

// TestHostileTextIsText opens every page of rows that hold markup and scripts, with all that can be opened open.
func TestHostileTextIsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pages := r.plant()
	list, err := r.jobs.List(r.ctx, admin.JobListOptions{})
	r.check(err)
	if len(list.Jobs) != len(hostile) {
		t.Fatalf("%d jobs of %d", len(list.Jobs), len(hostile))
	}
	for _, job := range list.Jobs {
		pages = append(pages, "/admin/jobs/"+url.PathEscape(job.ID))
	}
	b := r.browse()
	b.signIn(fullSecret)
	for _, path := range append(pages,
		"/admin/login?next="+url.QueryEscape(hostile[1]), "/admin/jobs?q="+url.QueryEscape(hostile[1]), "/admin/instances?owner="+url.QueryEscape("user:"+hostile[3]), "/admin/audit?actor="+url.QueryEscape(hostile[0])) {
		b.open(path)
		b.await(`document.readyState === "complete"`)
		eval[bool](b, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), true`)
		if strings.HasPrefix(path, "/admin/instances/") {
			b.await(`document.querySelector(".detail.loaded table")`)
		}
		eval[bool](b, `document.querySelectorAll("[popover]").forEach((p) => { p.showPopover(); p.hidePopover(); }), true`)
		odd := eval[string](b, `[...document.querySelectorAll("img, iframe, object, embed, base, [onerror], [onload], main script, main svg[onload], a[href^='javascript:' i], main [hx-trigger]")]
			.concat([...document.querySelectorAll("a[href]")].filter((a) => { const to = new URL(a.getAttribute("href"), location); return to.origin !== location.origin && !to.href.startsWith("https://traces.example.com/trace/"); })).map((e) => e.outerHTML).join("\n")`)
		if odd != "" || eval[bool](b, `"hacked" in window`) {
			t.Errorf("%s has %s", path, odd)
		}
	}
	for n, text := range hostile {
		b.open(fmt.Sprintf("/admin/instances/h%d", n))
		plain := strings.TrimSpace(strings.Split(strings.ReplaceAll(text, "\x00", ""), "\n")[0])
		if got := b.text(".falls"); !strings.Contains(got, plain) {
			t.Errorf("%q does not show as it is: %s", plain, got)
		}
	}
}

// TestLongTexts looks at rows with a megabyte in what is usually short.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("long ", 200_000)
	r.exec(`CREATE type::record('job', $text) SET path = $text, payload = { text: $text }, errors = [{ code: 500, reason: $text }] RETURN NONE`, map[string]any{"text": long})
	r.exec(`CREATE job:short SET path = $text, payload = { text: $text }, errors = [{ code: 500, reason: $text }] RETURN NONE`, map[string]any{"text": long})
	r.create("MAIL", "one", `{"text":"`+strings.Repeat("long ", 150_000)+`"}`)
	c := r.client(fullSecret)
	for _, path := range []string{"/admin/", "/admin/jobs", "/admin/jobs/job:short", "/admin/instances/one", "/admin/instances", "/admin/audit"} {
		if answer := c.get(path); answer.status != http.StatusOK || path != "/admin/jobs" && len(answer.text) > 100_000 {
			t.Errorf("%s: %d, %d bytes", path, answer.status, len(answer.text))
		}
	}
	whole := c.get("/admin/instances/one/value?of=params")
	if whole.status != http.StatusOK || len(whole.text) < 750_000 || whole.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("all of the params: %d, %d bytes, %v", whole.status, len(whole.text), whole.header)
	}
	if answer := c.get("/admin/jobs/" + strings.Repeat("x", 20_000)); answer.status != http.StatusUnprocessableEntity {
		t.Errorf("an id of 20,000 bytes: %d", answer.status)
	}
}

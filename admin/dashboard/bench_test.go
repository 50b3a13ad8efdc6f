package dashboard

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
)

const (
	manySteps     = 10_000
	manyInstances = 100_000
	manyJobs      = 100_000
	fillPart      = 2_000
)

// fillSteps writes steps of the instance long, one after another, of which one of a hundred failed once.
const fillSteps = `INSERT INTO _00_wf_step (<array> $from..$to).map(|$n| {
	LET $at = d'2026-01-01T00:00:00Z' + duration::from_millis($n * 20);
	RETURN { id: ['long', 0, 'do', 'step ' + <string> $n, 1], instance: _00_wf_instance:long, seq: $n + 1, kind: 'do', name: 'step ' + <string> $n, occurrence: 1,
		status: 'complete', output: { n: $n, text: 'what a step came to, which is a hundred bytes or so, give or take a few of those bytes' }, started_at: $at, finished_at: $at + 15ms,
		attempts: IF $n % 100 = 7 { [{ started_at: $at, ended_at: $at + 5ms, error: { name: 'Error', message: 'busy' } }, { started_at: $at + 10ms, ended_at: $at + 15ms }] }
			ELSE { [{ started_at: $at, ended_at: $at + 15ms }] } }
}) RETURN NONE`

const fillInstances = `INSERT INTO _00_wf_instance (<array> $from..$to).map(|$n| { RETURN {
	id: 'i' + <string> $n, binding: ['INGEST', 'MAIL'][$n % 2], job_table: 'job', owner: IF $n % 50 = 0 { user:ann } ELSE { NONE }, runs: 1, incarnation: 0,
	status: IF $n % 100 = 7 { 'errored' } ELSE IF $n % 10 = 1 { 'waiting' } ELSE { 'complete' }, steps_done: 5, params: { n: $n }, created_at: time::now(), updated_at: time::now() } }) RETURN NONE`

const fillJobs = `INSERT INTO job (<array> $from..$to).map(|$n| {
	LET $s = IF $n % 100 = 7 { 'failed' } ELSE IF $n % 10 = 1 { 'pending' } ELSE { 'success' };
	RETURN { id: 'j' + <string> $n, path: '/documents/index', status: $s, delay: IF $s = 'pending' { 86400000 } ELSE { NONE }, payload: { n: $n } }
}) RETURN NONE`

// BenchmarkPages measures what pages take beside 10,000 steps of one instance, 100,000 instances and 100,000 jobs;
// ms/op is from the request to the last byte, best-ms the quickest. Run it with -benchtime=20x.
func BenchmarkPages(b *testing.B) {
	r := newRig(b)
	r.create("INGEST", "long", `{}`)
	r.exec("UPDATE _00_wf_instance:long SET status = 'running', steps_done = $n, started_at = d'2026-01-01T00:00:00Z', runs = 1 RETURN NONE", map[string]any{"n": manySteps})
	for statement, many := range map[string]int{fillSteps: manySteps, fillInstances: manyInstances, fillJobs: manyJobs} {
		for from := 0; from < many; from += fillPart {
			r.exec(statement, map[string]any{"from": from, "to": from + fillPart})
		}
	}
	c := r.client(fullSecret)
	second, err := r.durable.List(r.ctx, admin.ListOptions{Limit: pageRows})
	r.check(err)
	for name, path := range map[string]string{
		"overview": "/admin/", "instances": "/admin/instances", "instances/second page": "/admin/instances?cursor=" + url.QueryEscape(second.Next),
		"instances/errored": "/admin/instances?status=errored", "instances/owner": "/admin/instances?owner=user:ann", "instances/begins with": "/admin/instances?q=i4999",
		"jobs": "/admin/jobs", "jobs/failed": "/admin/jobs?status=failed", "jobs/search": "/admin/jobs?q=j4999", "workflows": "/admin/workflows", "workflow": "/admin/workflows/INGEST",
		"instance/latest steps": "/admin/instances/long", "instance/first steps": "/admin/instances/long?first=1", "instance/middle": "/admin/instances/long?after=5000",
		"instance/search": "/admin/instances/long?name=step+77", "step": "/admin/instances/long/step?kind=do&name=step+77&n=1", "nodes": "/admin/nodes", "audit": "/admin/audit",
	} {
		b.Run(name, func(b *testing.B) {
			size, best := 0, time.Hour
			for b.Loop() {
				begun := time.Now()
				answer := c.get(path)
				best = min(best, time.Since(begun))
				if answer.status != http.StatusOK {
					b.Fatalf("%s: %d %s", path, answer.status, answer.text)
				}
				size = len(answer.text)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
			b.ReportMetric(float64(size)/1024, "KiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// client is somebody who signed in with a browser that has no scripts.
func (r *rig) client(secret string) *client {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	r.check(err)
	c := &client{rig: r, http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {secret}, "next": {"/admin/"}})
	if answer.status != http.StatusSeeOther || answer.header.Get("Location") != "/admin/" {
		r.t.Fatalf("sign in: %d %s", answer.status, answer.text)
	}
	return c
}

// csrf is the token that a page's forms bring.
func (c *client) csrf() string {
	c.t.Helper()
	_, rest, ok := strings.Cut(c.get("/admin/").text, `name="csrf" value="`)
	token, _, _ := strings.Cut(rest, `"`)
	if !ok || token == "" {
		c.t.Fatal("no form of the overview has a CSRF token")
	}
	return token
}

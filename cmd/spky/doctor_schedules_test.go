package main

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestDoctorTriesScheduledJobs has tables take and refuse what schedules and DAGs write, and a tick that nobody
// starts.
func TestDoctorTriesScheduledJobs(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.write("sp00ky.yml", p.read("sp00ky.yml")+`
schedules:
  hourly: {every: 1h, backend: api, route: /echo, timeout: 5s}
workflows:
  digest: {steps: {one: {backend: api, route: /echo}, two: {backend: api, route: /fail, dependsOn: [one]}}}
`)
	p.must("migrate")
	if got := p.checks("scheduled jobs of job"); len(got) != 1 || got[0].Severity != "pass" || !strings.Contains(got[0].Detail, "hourly, digest") {
		t.Errorf("a table as `add api` writes it: %+v", got)
	}
	if got := p.checks("schedules"); len(got) != 0 {
		t.Errorf("before a node has started: %+v", got)
	}
	p.query("DEFINE FIELD tenant ON job TYPE string", nil)
	if got := p.checks("scheduled jobs of job"); len(got) != 1 || got[0].Severity != "fail" || !strings.Contains(got[0].Detail, "no run of hourly, digest can be started: column tenant ") {
		t.Errorf("a mandatory column: %+v", got)
	}
	p.query("REMOVE FIELD tenant ON job; DELETE job", nil)
	stop := p.runner()
	p.until("schedules are written", func() bool { return len(decode[[]admin.Schedule](p, "schedules", "list")) == 1 })
	if got := p.checks("schedules"); len(got) != 1 || got[0].Severity != "pass" {
		t.Errorf("with a node: %+v", got)
	}
	stop()
	p.query("UPDATE _00_schedule:hourly SET next_fire_at = time::now() - 1m, trouble = 'no such table'", nil)
	if got := p.checks("schedules"); len(got) != 1 || got[0].Severity != "warn" || !strings.Contains(got[0].Detail, "hourly is due, and no node starts it: no such table") || !strings.Contains(got[0].Fix, "spky explain hourly") {
		t.Errorf("a tick that nobody starts: %+v", got)
	}
}

// TestDoctorTriesQueriesOfForEach has queries whose faults only a database knows, beside one that is right.
func TestDoctorTriesQueriesOfForEach(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.write("sp00ky.yml", p.read("sp00ky.yml")+`
schedules:
  right: {every: 1h, backend: api, route: /echo, forEach: {query: "SELECT * FROM customer"}}
  parse: {every: 1h, backend: api, route: /echo, forEach: {query: "SELECT * FROM customer WHERE"}}
  table: {every: 1h, backend: api, route: /echo, forEach: {query: "SELECT * FROM custmer"}}
  key: {every: 1h, backend: api, route: /echo, forEach: {query: "SELECT name FROM customer"}}
workflows:
  digest: {forEach: {query: "SELECT id, name FROM customer", key: name}, steps: {one: {backend: api, route: /echo}}}
`)
	p.must("migrate")
	p.query("CREATE customer:a SET name = 'a'; CREATE customer:b", nil)
	for name, want := range map[string]string{
		"right": "pass: a tick now would be for 2 rows", "parse": "fail: no tick can be started: forEach.query: query: Parse error",
		"table": "fail: no tick can be started: forEach.query: The table 'custmer' does not exist",
		"key":   `fail: no tick can be started: forEach.query: 2 of 2 rows have no column "id"`, "digest": `warn: forEach.query: 1 of 2 rows have no column "name"`,
	} {
		if got := p.checks("forEach of " + name); len(got) != 1 || !strings.HasPrefix(string(got[0].Severity)+": "+got[0].Detail, want) {
			t.Errorf("%s: %+v\nwant %s", name, got, want)
		}
	}
}

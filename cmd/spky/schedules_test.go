package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
)

// until asks until the condition holds.
func (p *project) until(what string, holds func() bool) {
	p.t.Helper()
	for over := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(over) {
			p.t.Fatalf("did not happen: %s", what)
		}
	}
}

// TestSchedulesFromTheConfiguration has spky run start what sp00ky.yml says, and acts on it, on the database
// and through the admin API.
func TestSchedulesFromTheConfiguration(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.write("sp00ky.yml", p.read("sp00ky.yml")+`
schedules:
  nightly: {cron: "0 3 * * *", timezone: Europe/Berlin, backend: api, route: /echo, payload: {n: 1}}
  often: {every: 10s, backend: api, route: /echo, concurrency: allow}
  off: {every: 1h, backend: api, route: /fail, enabled: false}
`)
	p.must("migrate")
	if out := p.must("schedules", "list"); !strings.Contains(out, "No schedules") {
		t.Errorf("without a node:\n%s", out)
	}
	p.want(exitNotFound, "schedules list", "schedules", "get", "nightly")
	p.runner()
	p.until("schedules are written", func() bool { return len(decode[[]admin.Schedule](p, "schedules", "list")) == 3 })
	out := p.must("schedules", "list")
	for _, want := range []string{"0 3 * * * Europe/Berlin", "every 10s", "disabled", "api /echo"} {
		if !strings.Contains(out, want) {
			t.Errorf("list does not say %q:\n%s", want, out)
		}
	}
	if out := p.must("schedules", "trigger", "nightly"); !strings.HasPrefix(out, "started job:`nightly-") {
		t.Errorf("trigger says %s", out)
	}
	p.until("the run is over", func() bool {
		runs := decode[detailedSchedule](p, "schedules", "get", "nightly").Runs
		return len(runs) == 1 && runs[0].Status == "success" && runs[0].Manual
	})
	if out := p.must("schedules", "get", "nightly"); !strings.Contains(out, "triggered") || !strings.Contains(out, "success") {
		t.Errorf("get says\n%s", out)
	}
	p.until("a tick comes by itself", func() bool {
		return slices.ContainsFunc(decode[detailedSchedule](p, "schedules", "get", "often").Runs, func(r admin.ScheduleRun) bool { return !r.Manual && r.Job != "" })
	})
	p.want(exitState, "nothing is in quarantine", "schedules", "release", "nightly")
	p.want(exitState, "possible now: pause", "schedules", "resume", "nightly")
	p.want(exitNotFound, "schedules list", "schedules", "pause", "missing")
	p.want(exitUsage, "--runs", "schedules", "get", "nightly", "--runs", "0")
	p.adminAPI("sesame-schedules-1")
	if out := p.must("schedules", "pause", "often"); out != "paused often (was active)\n" {
		t.Errorf("pause says %s", out)
	}
	p.want(exitState, "possible now: resume", "schedules", "pause", "often")
	if out := p.must("schedules", "get", "often"); !regexp.MustCompile(`often +paused +every 10s +api /echo +- `).MatchString(out) {
		t.Errorf("a paused schedule has no next tick:\n%s", out)
	}
	if out := p.must("schedules", "resume", "often"); out != "resumed often (was paused)\n" {
		t.Errorf("resume says %s", out)
	}
	if out := p.must("schedules", "trigger", "off"); !strings.HasPrefix(out, "started job:`off-") {
		t.Errorf("trigger of a disabled one says %s", out)
	}
}

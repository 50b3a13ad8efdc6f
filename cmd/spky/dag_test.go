package main

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestDAGsFromTheConfiguration has spky run take what sp00ky.yml says, and acts on it, on the database and
// through the admin API.
func TestDAGsFromTheConfiguration(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.write("sp00ky.yml", p.read("sp00ky.yml")+`
workflows:
  nightly: dags/nightly.yml
  broken:
    schedule: {cron: "0 3 * * *", timezone: Europe/Berlin}
    steps:
      one: {backend: api, route: /fail, retry: {max: 1}}
      two: {backend: api, route: /echo, dependsOn: [one]}
`)
	p.write("dags/nightly.yml", `
steps:
  fetch: {backend: api, route: /echo, payload: {n: 1}}
  left: {backend: api, route: /echo, dependsOn: [fetch]}
  right: {backend: api, route: /echo, dependsOn: [fetch]}
  join: {backend: api, route: /echo, dependsOn: [left, right]}
`)
	p.must("lint")
	p.must("migrate")
	if out := p.must("dag", "list"); !strings.Contains(out, "No DAGs") {
		t.Errorf("without a node:\n%s", out)
	}
	p.want(exitNotFound, "dag list", "dag", "trigger", "nightly")
	p.runner()
	p.until("DAGs are written", func() bool { return len(decode[[]admin.DAG](p, "dag", "list")) == 2 })
	out := p.must("dag", "list")
	for _, want := range []string{"0 3 * * * Europe/Berlin", "by hand", "nightly"} {
		if !strings.Contains(out, want) {
			t.Errorf("list does not say %q:\n%s", want, out)
		}
	}
	if out := p.must("schedules", "list"); !strings.Contains(out, "dag broken") || strings.Contains(out, "nightly") {
		t.Errorf("schedules list says\n%s", out)
	}
	p.want(exitState, "spky dag trigger nightly", "schedules", "pause", "nightly")
	run := p.triggers("nightly")
	p.ends(run, admin.RunSuccess)
	got := decode[admin.DetailedRun](p, "dag", "describe", "nightly")
	if got.ID != run || got.StepsDone != 4 {
		t.Errorf("%+v", got)
	}
	text := p.must("dag", "describe", run)
	for _, want := range []string{"4 of 4 succeeded", "left, right", "job:`wf_" + run + "_join`"} {
		if !strings.Contains(text, want) {
			t.Errorf("describe does not say %q:\n%s", want, text)
		}
	}
	failed := p.triggers("broken")
	p.ends(failed, admin.RunFailed)
	if out := p.must("dag", "describe", failed); !strings.Contains(out, "job_failed: not today") || !strings.Contains(out, "upstream_failed: failed: one") {
		t.Errorf("describe says\n%s", out)
	}
	p.want(exitState, "possible now: rerun", "dag", "retry", run)
	p.want(exitState, "possible now: retry, rerun", "dag", "cancel", failed)
	p.want(exitNotFound, "dag list", "dag", "describe", "missing")
	p.want(exitUsage, "status", "dag", "runs", "nightly", "--status", "over")
	p.want(exitUsage, "--limit", "dag", "runs", "nightly", "--limit", "0")
	if out := p.must("explain", failed); !strings.Contains(out, "step one: not today") || !strings.Contains(out, "spky dag retry "+failed) {
		t.Errorf("explain says\n%s", out)
	}
	p.adminAPI("sesame-dags-1")
	if out := p.must("explain", "broken"); !strings.Contains(out, "next tick comes in") || !strings.Contains(out, "spky explain "+failed) {
		t.Errorf("explain says\n%s", out)
	}
	if out := p.must("dag", "retry", failed); !strings.Contains(out, "(was failed): 2 steps begin anew, 0 are kept") {
		t.Errorf("retry says %s", out)
	}
	p.ends(failed, admin.RunFailed)
	again := strings.TrimSpace(strings.TrimPrefix(p.must("dag", "rerun", run), "started "))
	p.ends(again, admin.RunSuccess)
	if runs := decode[[]admin.DAGRun](p, "dag", "runs", "nightly", "--status", "success"); len(runs) != 2 || runs[0].ID != again {
		t.Errorf("%+v", runs)
	}
	p.pages(again, run)
	if out := p.must("dag", "runs", "broken"); !strings.Contains(out, "step_failed: step one: not today") {
		t.Errorf("runs says\n%s", out)
	}
}

// pages walks through the two runs of nightly by the cursor that the first page tells.
func (p *project) pages(newest, oldest string) {
	p.t.Helper()
	code, out, says := p.run("dag", "runs", "nightly", "--limit", "1")
	_, cursor, ok := strings.Cut(strings.TrimSpace(says), "--cursor ")
	if code != exitOK || !ok || !strings.Contains(out, newest) || strings.Contains(out, oldest) {
		p.t.Fatalf("the first page: %d %s%s", code, out, says)
	}
	if code, out, says = p.run("dag", "runs", "nightly", "--limit", "1", "--cursor", strings.Trim(cursor, "'")); code != exitOK || says != "" || !strings.Contains(out, oldest) {
		p.t.Errorf("the last page: %d %s%s", code, out, says)
	}
}

// triggers starts a run, and answers with it.
func (p *project) triggers(name string) string {
	p.t.Helper()
	out := p.must("dag", "trigger", name)
	run, ok := strings.CutPrefix(strings.TrimSpace(out), "started "+name+"-")
	if !ok {
		p.t.Fatalf("trigger says %s", out)
	}
	return name + "-" + run
}

// ends waits until a run is over.
func (p *project) ends(run, status string) {
	p.t.Helper()
	var last admin.DetailedRun
	p.until("run "+run+" is over", func() bool {
		last = decode[admin.DetailedRun](p, "dag", "describe", run)
		return last.Status != admin.RunRunning
	})
	if last.Status != status {
		p.t.Errorf("the run ended as %s, %+v; want %s", last.Status, last.Error, status)
	}
}

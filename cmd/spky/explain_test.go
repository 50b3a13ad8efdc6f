package main

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	p.query("CREATE job:`a-b` SET path = '/x', delay = 3600000", nil)
	code, out, stderr := p.run("explain", "job:a-b")
	if code != exitOK || stderr != "" {
		t.Fatalf("explain: %d %s%s", code, out, stderr)
	}
	for _, want := range []string{"job:`a-b` is pending.", "It is not due yet", "→ wait; or `spky jobs cancel 'job:`a-b`'`", "No node is alive", "→ start one: `spky run`"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if e := decode[admin.Explanation](p, "explain", "a-b"); e.Subject != "job:`a-b`" || len(e.Causes) != 2 || e.Causes[0].Code != "not_due" {
		t.Errorf("explained as %+v", e)
	}
	p.must("workflows", "trigger", "GREET", "--id", "first")
	if e := decode[admin.Explanation](p, "explain", "first"); e.Kind != "instance" || e.State != "queued" || e.Causes[0].Code != "no_node" {
		t.Errorf("explained as %+v", e)
	}
	for _, id := range []string{"nobody", "job:nobody"} {
		if code, out, stderr := p.run("explain", id); code != exitNotFound || out != "" || !strings.Contains(stderr, id) || !strings.Contains(stderr, "hint: look for it with `spky ") {
			t.Errorf("explain %s: %d %s%s", id, code, out, stderr)
		}
	}
	if code, _, _ := p.run("explain", "_00_node:x"); code != exitUsage {
		t.Errorf("explain of no job: %d", code)
	}
}

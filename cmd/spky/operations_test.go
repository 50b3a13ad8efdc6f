package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestJobsThroughTheAdminAPI does with --url what the other tests do on the database.
func TestJobsThroughTheAdminAPI(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	p.adminAPI("sesame-remote-3")
	code, out, stderr := p.run("jobs", "create", "--path", "/echo", "--payload", `{"n": 1}`, "--id", "a-b", "--wait", "--json")
	var job jobJSON
	if err := json.Unmarshal([]byte(out), &job); err != nil || code != exitOK || job.Status != "success" || job.ID != "job:`a-b`" {
		t.Fatalf("create --wait: %d %v %s%s", code, err, out, stderr)
	}
	late := p.create("--path", "/echo", "--delay", "1h")
	p.want(exitState, "possible now: cancel", "jobs", "retry", late)
	p.must("jobs", "cancel", late)
	if out := p.must("jobs", "watch", late); !strings.Contains(out, "cancelled") {
		t.Errorf("watch says\n%s", out)
	}
	p.want(exitState, "possible now: retry", "jobs", "cancel", late)
	p.want(exitNotFound, "`spky jobs list` shows", "jobs", "get", "job:nowhere")
	p.want(exitNotFound, "no outbox table", "jobs", "get", "user:ann")
	p.want(exitFailed, "choose another --id", "jobs", "create", "--path", "/echo", "--id", "a-b")
	p.want(exitUsage, "path", "jobs", "create", "--path", "no-slash")
	listed := decode[[]jobJSON](p, "jobs", "list")
	if len(listed) != 2 || listed[0].ID != late {
		t.Errorf("listed %+v", listed)
	}
	if out := p.must("jobs", "get", "a-b"); !strings.Contains(out, `"n": 1`) {
		t.Errorf("get says\n%s", out)
	}
	if nodes := decode[[]admin.Node](p, "nodes"); len(nodes) != 1 || nodes[0].State != admin.NodeAlive {
		t.Errorf("nodes %+v", nodes)
	}
	if o := decode[admin.Overview](p, "stats"); o.Jobs.Success != 1 || o.Jobs.Cancelled != 1 || o.Nodes.Alive != 1 {
		t.Errorf("stats %+v", o)
	}
	if a := decode[admin.Analytics](p, "stats", "--hours", "2"); len(a.Totals) != 1 || a.Totals[0].Name != "/echo" || a.Totals[0].Success != 1 || a.Totals[0].Cancelled != 1 {
		t.Errorf("analytics %+v", a)
	}
	if out := p.must("stats", "--hours", "2"); !strings.Contains(out, "SCOPE") || !strings.Contains(out, "/echo") {
		t.Errorf("stats --hours says\n%s", out)
	}
	p.want(exitUsage, "allowed: 1 to 744", "stats", "--hours", "0")
	if out := p.must("jobs", "clear"); out != "deleted 2 jobs\n" {
		t.Errorf("clear says %s", out)
	}
}

// TestStatsAndClear looks at and deletes what is there, without any node.
func TestStatsAndClear(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	p.create("--path", "/echo")
	p.must("jobs", "cancel", p.create("--path", "/echo"))
	running := p.create("--path", "/echo", "--id", "running")
	p.query("UPDATE job:running SET status = 'processing', assignee = 'gone', lease_until = time::now() - 1s", nil)
	if o := decode[admin.Overview](p, "stats"); o.Jobs.Pending != 1 || o.Jobs.Due != 1 || o.Jobs.Stalled != 1 || o.Jobs.OldestDue == nil {
		t.Errorf("stats %+v", o)
	}
	if a := decode[admin.Analytics](p, "stats", "--hours", "1"); len(a.Totals) != 1 || a.Totals[0].Cancelled != 1 {
		t.Errorf("analytics %+v", a)
	}
	if out := p.must("stats"); !strings.Contains(out, "OLDEST DUE") || !strings.Contains(out, "unknown") {
		t.Errorf("stats says\n%s", out)
	}
	if out := p.must("jobs", "list", "--stalled"); !strings.Contains(out, running) || !strings.Contains(out, "gone fell silent") || strings.Count(out, "\n") != 2 {
		t.Errorf("stalled jobs:\n%s", out)
	}
	if got := decode[map[string]int](p, "jobs", "clear"); got["cleared"] != 1 {
		t.Errorf("cleared %v", got)
	}
	if got := decode[map[string]int](p, "jobs", "clear", "--all"); got["cleared"] != 1 {
		t.Errorf("cleared %v", got)
	}
	if left := decode[[]jobJSON](p, "jobs", "list"); len(left) != 1 || left[0].ID != running {
		t.Errorf("left %+v", left)
	}
}

// TestPagesOfJobs goes on where a list ended.
func TestPagesOfJobs(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	first := p.create("--path", "/echo")
	second := p.create("--path", "/fail")
	code, out, stderr := p.run("jobs", "list", "--limit", "1", "--json")
	_, cursor, found := strings.Cut(strings.TrimSpace(stderr), "--cursor ")
	if code != exitOK || !strings.Contains(out, second) || !found {
		t.Fatalf("%d\n%s%s", code, out, stderr)
	}
	cursor = strings.Trim(cursor, "'")
	code, out, stderr = p.run("jobs", "list", "--limit", "1", "--json", "--cursor="+cursor)
	if code != exitOK || !strings.Contains(out, first) || stderr != "" {
		t.Errorf("%d\n%s%s", code, out, stderr)
	}
	if got := decode[[]jobJSON](p, "jobs", "list", "--query", "FAIL"); len(got) != 1 || got[0].ID != second {
		t.Errorf("found %+v", got)
	}
	if got := decode[[]jobJSON](p, "jobs", "list", "--origin", "durable"); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
	p.want(exitUsage, "cursor", "jobs", "list", "--cursor", "x")
	p.want(exitUsage, "origin", "jobs", "list", "--origin", "moon")
	p.want(exitUsage, "has no backend", "jobs", "list", "--backend", "moon")
}

func TestTokensOnTheCommandLine(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	if out := p.must("token", "list"); out != "No tokens.\n" {
		t.Errorf("list says %s", out)
	}
	code, secret, stderr := p.run("token", "create", "agent")
	secret = strings.TrimSpace(secret)
	if code != exitOK || !strings.HasPrefix(secret, "spky_") || strings.Contains(stderr, secret) || !strings.Contains(stderr, "not shown again") {
		t.Fatalf("create: %d %s %s", code, secret, stderr)
	}
	tokens := decode[[]admin.Token](p, "token", "list")
	if len(tokens) != 1 || tokens[0].Scope != admin.ScopeRead || tokens[0].Label != "agent" || tokens[0].State != "valid" {
		t.Errorf("tokens %+v", tokens)
	}
	full := strings.TrimSpace(p.must("token", "create", "me", "--scope", "full", "--ttl", "1h"))
	p.adminAPI("sesame-remote-4")
	p.set("SPKY_ADMIN_TOKEN", secret)
	p.must("jobs", "list")
	p.want(exitFailed, "scope is read", "jobs", "create", "--path", "/echo")
	p.set("SPKY_ADMIN_TOKEN", full)
	p.create("--path", "/echo")
	p.must("token", "revoke", tokens[0].ID)
	p.want(exitNotFound, "`spky token list` shows", "token", "revoke", "nobody")
	p.set("SPKY_ADMIN_TOKEN", secret)
	p.want(exitUnreachable, "the token is not valid", "jobs", "list")
	p.set("SPKY_ADMIN_TOKEN", full)
	for _, bad := range []string{"0d", "366d", "x", "-1h", ""} {
		p.want(exitUsage, "--ttl", "token", "create", "agent", "--ttl="+bad)
	}
	p.want(exitUsage, "scope", "token", "create", "agent", "--scope", "root")
}

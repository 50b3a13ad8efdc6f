package main

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/admin"
)

var listensAt = regexp.MustCompile(`"msg":"the admin API listens","address":"([^"]+)"`)

// adminAPI starts `spky run` with its admin API, which the project's commands then go through. The
// project forgets its database, so that nothing can reach it otherwise.
func (p *project) adminAPI(token string) {
	p.t.Helper()
	p.set("SPKY_AUTH_SECRET", token)
	ctx, cancel := context.WithCancelCause(context.Background())
	log := newWatched()
	ended := make(chan int, 1)
	go func() { ended <- p.start(ctx, strings.NewReader(""), io.Discard, log, "run", "--log-level", "trace") }()
	stop := sync.OnceFunc(func() { cancel(errInterrupted); <-ended })
	p.t.Cleanup(stop)
	for _, text := range []string{`"msg":"the admin API listens"`, `"msg":"ready"`} {
		select {
		case <-log.saw(text):
		case code := <-ended:
			ended <- code
			p.t.Fatalf("spky run ended with %d:\n%s", code, log)
		}
	}
	p.set("SPKY_ADMIN_URL", "http://"+listensAt.FindStringSubmatch(log.String())[1])
	p.set("SPKY_ADMIN_TOKEN", token)
	p.set("SPKY_AUTH_SECRET", "")
	p.set("SPKY_DB_URL", "ws://127.0.0.1:1")
	p.t.Cleanup(func() {
		if strings.Contains(log.String(), token) {
			p.t.Error("the token is in the log")
		}
	})
}

func TestWorkflowsThroughTheAdminAPI(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	serve()
	p.adminAPI("sesame-remote-1")
	if out := p.must("workflows", "trigger", "GREET", `{"name": "you"}`, "--id", "g1", "--wait"); !strings.Contains(out, "complete") {
		t.Errorf("trigger says\n%s", out)
	}
	if out := p.must("workflows", "list"); !strings.Contains(out, "GREET") {
		t.Errorf("list says\n%s", out)
	}
	if out := p.must("workflows", "describe", "GREET"); !strings.Contains(out, "complete") {
		t.Errorf("describe says\n%s", out)
	}
	if out := p.must("workflows", "instances", "describe", "GREET"); !strings.Contains(out, "hello you") || !strings.Contains(out, "make it up") {
		t.Errorf("instances describe says\n%s", out)
	}
	p.must("workflows", "trigger", "GREET", `{"name": "you", "wait": true}`, "--id", "g2")
	p.must("workflows", "instances", "pause", "GREET", "g2")
	p.must("workflows", "instances", "resume", "GREET", "latest")
	p.must("workflows", "instances", "send-event", "GREET", "g2", "--type", "answered", "--payload", `{"name": "me"}`)
	out := p.must("workflows", "instances", "watch", "GREET", "g2", "--json")
	var last struct{ Instance admin.Summary }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Instance.Status != "complete" {
		t.Errorf("watch says\n%s", out)
	}
	p.want(exitState, "possible now: restart", "workflows", "instances", "pause", "GREET", "g2")
	p.want(exitNotFound, "nobody", "workflows", "instances", "describe", "GREET", "nobody")
	p.want(exitFailed, "restart GREET g2`", "workflows", "trigger", "GREET", "--id", "g2")
	p.want(exitUsage, `id "latest" stands for`, "workflows", "trigger", "GREET", "--id", "latest")
	p.want(exitUsage, "allowed: 1 to 100 letters", "workflows", "trigger", "GREET", "--id", "-x")
	if listed := decode[[]admin.Summary](p, "workflows", "instances", "list", "GREET", "--per-page", "1", "--page", "2"); len(listed) != 1 || listed[0].ID != "g1" {
		t.Errorf("the second page is %+v", listed)
	}
	if listed := decode[[]admin.Summary](p, "workflows", "instances", "list", "--id-prefix", "g2"); len(listed) != 1 || listed[0].ID != "g2" {
		t.Errorf("those that begin with g2 are %+v", listed)
	}
	if out := p.must("logs", "--level", "info", "--query", "admin API"); !strings.Contains(out, "INFO  the admin API listens") {
		t.Errorf("logs says\n%s", out)
	}
}

func TestTheAdminAPIRefuses(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	p.want(exitFailed, "no admin API is named", "logs")
	p.want(exitNotFound, "job:`\ufffd[31mred\ufffd`", "jobs", "get", "job:`\x1b[31mred\u202e`")
	p.want(exitUsage, "--url: the admin API's URL", "workflows", "list", "--url", "127.0.0.1:9668")
	p.want(exitUnreachable, "check --url or SPKY_ADMIN_URL", "workflows", "list", "--url", "http://127.0.0.1:1")
	p.adminAPI("sesame-remote-2")
	p.set("SPKY_ADMIN_TOKEN", "")
	p.want(exitUnreachable, "hint: set SPKY_ADMIN_TOKEN", "workflows", "list")
	p.set("SPKY_ADMIN_TOKEN", "wrong")
	p.want(exitUnreachable, "the token is not valid", "workflows", "list")
}

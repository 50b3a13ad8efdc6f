//go:build unix

package typescript_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/integration/internal/durable"
)

const exampleDir = "../../examples/ingest-ts"

// A project is a directory with a sp00ky.yml in which spky dev runs.
type project struct {
	t   *testing.T
	dir string
	env []string
	log *logbook
	cmd *exec.Cmd
	db  string
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, listener.Close()) }()
	return listener.Addr().String()
}

// dev runs spky dev in a directory until the end of the test, and waits until everything is up.
func dev(t *testing.T, dir string, env ...string) *project {
	t.Helper()
	path, err := command()
	check(t, err)
	p := &project{t: t, dir: dir, log: &logbook{}, db: freeAddress(t), env: append(os.Environ(), append(env, "SPKY_ADMIN_PORT=0")...)}
	p.cmd = exec.Command(path, "dev", "--db-listen", p.db, "--listen", freeAddress(t), "--clean")
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, p.env, p.log, p.log
	p.cmd.WaitDelay = 10 * time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(t, p.cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := <-ended; err != nil {
			t.Errorf("spky dev: %v", err)
		}
		if t.Failed() {
			t.Logf("spky dev said:\n%s", p.log)
		}
	})
	(&durable.Base{T: t}).Poll("spky dev is ready", func() (bool, any) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("spky dev ended: %v", err)
		default:
		}
		text := p.log.String()
		return strings.Contains(text, "Ready.") && strings.Contains(text, "listening on"), text
	})
	return p
}

// spky runs a command of the project, and gives what it prints and whether it went well.
func (p *project) spky(args ...string) (out string, ok bool) {
	p.t.Helper()
	path, err := command()
	check(p.t, err)
	cmd := exec.CommandContext(p.t.Context(), path, append([]string{"--db-url", "ws://" + p.db}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	return text.String(), err == nil
}

func (p *project) must(args ...string) string {
	p.t.Helper()
	out, ok := p.spky(args...)
	if !ok {
		p.t.Fatalf("spky %s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

// TestExample runs the example by spky dev, from a job to the published material.
func TestExample(t *testing.T) {
	t.Parallel()
	build(t)
	check(t, install(exampleDir))
	dir, err := filepath.Abs(exampleDir)
	check(t, err)
	p := dev(t, dir, "INGEST_URL=http://"+freeAddress(t))
	p.must("doctor")
	words := strings.TrimSpace(strings.Repeat("one two three four five ", 50))
	body, err := json.Marshal(map[string]any{"title": "A Note", "text": words, "pageWords": 5, "failures": 1, "settleSeconds": 1})
	check(t, err)
	p.must("jobs", "create", "--path", "/materials", "--payload", string(body), "--wait")
	p.must("workflows", "instances", "send-event", "INGEST", "latest", "--type", "reviewed", "--payload", `{"ok":true,"note":"fine"}`)
	p.must("workflows", "instances", "watch", "INGEST", "latest")
	out := p.must("workflows", "instances", "describe", "INGEST", "latest", "--json")
	for _, want := range []string{`"material": "a-note"`, `"pages": 50`, `"note": "fine"`, "convert pages 41 to 50", "attempt 1 fails on purpose"} {
		if !strings.Contains(out, want) {
			t.Errorf("the instance lacks %s:\n%s", want, out)
		}
	}
	p.must("jobs", "create", "--path", "/materials", "--payload", `{"title":"x","text":" "}`, "--wait")
	if out, ok := p.spky("workflows", "instances", "watch", "INGEST", "latest"); ok || !strings.Contains(out, "a material needs") {
		t.Errorf("a material without words: %t\n%s", ok, out)
	}
}

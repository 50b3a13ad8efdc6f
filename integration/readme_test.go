//go:build unix

package integration_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A command is one line of a `sh` block of the README.
type command struct {
	line string
	// stays marks a command that goes on until it is interrupted.
	stays bool
}

var (
	block  = regexp.MustCompile("(?s)(<!-- keeps running -->\n)?```sh\n(.*?)```")
	goRun  = regexp.MustCompile(`\bgo run \./(?:\S+/)?(\w+)`)
	spaces = regexp.MustCompile(`\s+`)
)

// readme lists the commands that the README tells its reader to run, in order.
func readme(tb testing.TB) []command {
	tb.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		tb.Fatal(err)
	}
	var commands []command
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(found[2]) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				commands = append(commands, command{line: line, stays: found[1] != ""})
			}
		}
	}
	return commands
}

// TestReadme runs what the README tells its reader to run, in its order, in a copy of the example
// project on free ports, with programs that were built before.
func TestReadme(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	commands := readme(t)
	if len(commands) < 2 || !commands[0].stays || commands[1].stays {
		t.Fatalf("the README begins with %+v; want a command that goes on, then the first job", commands)
	}
	dev := p.start(commands[0].line + " --db-listen " + p.database)
	dev.says("Ready")
	printed := regexp.MustCompile(`\S+ .*jobs create .*--wait`).FindString(dev.log.String())
	if printed == "" {
		t.Fatal("spky dev does not say how to send the first job")
	}
	for _, line := range append([]string{printed}, lines(commands[1:])...) {
		out := p.run(line)
		if strings.Contains(line, "--wait") && !strings.Contains(out, "success") {
			t.Errorf("%s did not end as success:\n%s", line, out)
		}
	}
	first := spaces.ReplaceAllString(p.run(commands[1].line), "")
	for _, want := range []string{`"pages":2`, `"words":114`, `"distinct":83`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first job's answer has no %s as the README says: %s", want, first)
		}
	}
	dev.signal(syscall.SIGTERM)
	if code := dev.exit(); code != 0 {
		t.Errorf("spky dev ended with %d", code)
	}
}

func lines(commands []command) []string {
	var all []string
	for _, c := range commands {
		all = append(all, c.line)
	}
	return all
}

// A project is a copy of the example project.
type project struct {
	tb       testing.TB
	dir, bin string
	database string // where its database listens
	env      []string
}

func newProject(tb testing.TB) *project {
	tb.Helper()
	p := &project{tb: tb, dir: tb.TempDir(), bin: tb.TempDir(), database: freeAddress(tb)}
	build := exec.Command("go", "build", "-o", p.bin+"/", "./cmd/spky", "./examples/ingest")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(p.dir, "examples"), os.DirFS("../examples")); err != nil {
		tb.Fatal(err)
	}
	config, err := os.ReadFile("../sp00ky.yml")
	if err != nil {
		tb.Fatal(err)
	}
	_, port, err := net.SplitHostPort(freeAddress(tb))
	if err != nil {
		tb.Fatal(err)
	}
	text := p.built(strings.ReplaceAll(string(config), "3660", port))
	if err := os.WriteFile(filepath.Join(p.dir, "sp00ky.yml"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	p.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SPKY_") && !strings.HasPrefix(v, "SPKY_CACHE_DIR=")
	}), "SPKY_SSP_LISTEN_ADDR="+freeAddress(tb), "SPKY_ADMIN_PORT=0")
	return p
}

// built puts the built programs where `go run` would build them.
func (p *project) built(text string) string {
	return goRun.ReplaceAllString(text, filepath.Join(p.bin, "$1"))
}

// start starts a command that goes on.
func (p *project) start(line string) *child {
	p.tb.Helper()
	c := &child{tb: p.tb, log: newLogbook(p.tb, line), ended: make(chan struct{})}
	c.cmd = exec.Command("sh", "-c", "exec "+p.built(line))
	c.cmd.Dir, c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = p.dir, p.env, c.log, c.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		p.tb.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // ProcessState tells
	}()
	p.tb.Cleanup(c.cleanUp)
	return c
}

// says waits until a started command has said something.
func (c *child) says(text string) {
	c.tb.Helper()
	eventually(c.tb, fmt.Sprintf("it says %q", text), func() (bool, any) {
		select {
		case <-c.ended:
			c.tb.Fatalf("it ended: %v", c.cmd.ProcessState)
		default:
		}
		return strings.Contains(c.log.String(), text), c.log.String()
	})
}

// run runs a command beside `spky dev` and answers with what it said.
func (p *project) run(line string) string {
	p.tb.Helper()
	cmd := exec.Command("sh", "-c", p.built(line))
	cmd.Dir, cmd.Env = p.dir, slices.Concat(p.env, []string{"SPKY_DB_URL=ws://" + p.database})
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.tb.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

//go:build unix

package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// A child is a process that a test started: a node or a backend.
type child struct {
	tb     testing.TB
	cmd    *exec.Cmd
	log    *logbook
	stdin  io.Closer
	lines  chan string
	ended  chan struct{}
	killed bool
	// address is where it listens.
	address string
}

// spawn starts this binary in a role and waits for its first word: the address it listens on.
func spawn(tb testing.TB, role, name string, settings any) *child {
	tb.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		tb.Fatal(err)
	}
	c := &child{tb: tb, log: newLogbook(tb, name), lines: make(chan string, 16), ended: make(chan struct{})}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role, settingsVariable+"="+string(text))
	c.cmd.Stderr = c.log
	// A group of its own: should this process end while the child is frozen, the system hangs it up.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go c.watch(stdout)
	tb.Cleanup(c.cleanUp)
	c.address = c.word()
	return c
}

// watch hands on the child's words and notes its end.
func (c *child) watch(stdout io.Reader) {
	defer close(c.ended)
	words := bufio.NewScanner(stdout)
	for words.Scan() {
		c.lines <- words.Text()
	}
	_ = c.cmd.Wait() // ProcessState tells
}

// word is the child's next line on its standard output.
func (c *child) word() string {
	c.tb.Helper()
	word := ""
	eventually(c.tb, "the child speaks", func() (bool, any) {
		select {
		case word = <-c.lines:
			return true, nil
		case <-c.ended:
			c.tb.Fatalf("the child ended: %v", c.cmd.ProcessState)
		default:
		}
		return false, nil
	})
	return word
}

func (c *child) signal(s syscall.Signal) {
	c.tb.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.tb.Errorf("signal %v: %v", s, err)
	}
}

// kill ends the child with SIGKILL and waits.
func (c *child) kill() {
	c.tb.Helper()
	c.killed = true
	c.signal(syscall.SIGKILL)
	<-c.ended
}

// exit waits for the child's end and answers with its exit code.
func (c *child) exit() int {
	c.tb.Helper()
	eventually(c.tb, "the child ends", func() (bool, any) {
		select {
		case <-c.ended:
			return true, nil
		default:
			return false, nil
		}
	})
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) cleanUp() {
	select {
	case <-c.ended:
	default:
		c.kill()
	}
	_ = c.stdin.Close() // the process is gone
	if text := c.log.String(); strings.Contains(text, "WARNING: DATA RACE") || strings.Contains(text, "panic:") {
		c.tb.Errorf("the child broke down:\n%s", text)
	}
}

// get asks the child's HTTP server.
func (c *child) get(path string) (int, string) {
	resp, err := http.Get("http://" + c.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// logs waits until the child has logged a text.
func (c *child) logs(text string) {
	c.tb.Helper()
	eventually(c.tb, fmt.Sprintf("the child logs %q", text), func() (bool, any) {
		return strings.Contains(c.log.String(), text), nil
	})
}

// spawnNode starts a node as a child process and waits until it works.
func spawnNode(tb testing.TB, name string, db surreal.Config, b config.Backend, change ...func(*nodeSettings)) *child {
	tb.Helper()
	settings := nodeSettings{
		Endpoint: db.Endpoint, Namespace: db.Namespace, Database: db.Database, Username: db.Username, Password: db.Password,
		Name: name, BaseURL: b.BaseURL.String(), Concurrency: b.Concurrency, Timeout: b.Timeout, PartitionBy: b.PartitionBy,
	}
	for _, alter := range change {
		alter(&settings)
	}
	c := spawn(tb, roleNode, name, settings)
	if word := c.word(); word != "ready" {
		tb.Fatalf("node %s: said %q", name, word)
	}
	return c
}

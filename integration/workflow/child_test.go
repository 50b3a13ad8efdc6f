//go:build unix

package workflow_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"sp00ky.cloud/spky/integration/internal/durable"
)

// A child is a backend in a process of its own.
type child struct {
	rig     *rig
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string
	ended   chan struct{}
	log     *logbook
	address string
}

type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// spawn starts a child and waits until it listens.
func (r *rig) spawn(die bool) *child {
	r.t.Helper()
	settings := childSettings{
		Endpoint: r.Target.Endpoint, Namespace: r.Target.Namespace, Database: r.Target.Database,
		Username: r.Target.Username, Password: r.Target.Password, Table: r.Table, Die: die,
	}
	c := &child{rig: r, lines: make(chan string, 16), ended: make(chan struct{}), log: &logbook{}}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), roleVariable+"="+roleBackend, settingsVariable+"="+string(durable.Must(json.Marshal(settings))))
	c.cmd.Stderr = c.log
	// A group of its own: should this process end while the child is frozen, the system hangs it up.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout := durable.Must(c.cmd.StdoutPipe())
	c.stdin = durable.Must(c.cmd.StdinPipe())
	check(r.t, c.cmd.Start())
	go func() {
		defer close(c.ended)
		for words := bufio.NewScanner(stdout); words.Scan(); {
			c.lines <- words.Text()
		}
		_ = c.cmd.Wait() // it is killed in the end
	}()
	r.t.Cleanup(c.end)
	c.address = c.word()
	return c
}

func (c *child) end() {
	select {
	case <-c.ended:
	default:
		c.signal(syscall.SIGKILL)
		<-c.ended
	}
	_ = c.stdin.Close() // the process is gone
	if c.rig.t.Failed() {
		c.rig.t.Logf("the child's log:\n%s", c.log)
	}
	if text := c.log.String(); bytes.Contains([]byte(text), []byte("DATA RACE")) || bytes.Contains([]byte(text), []byte("panic:")) {
		c.rig.t.Errorf("the child broke down:\n%s", text)
	}
}

// word is the next that the child says.
func (c *child) word() (word string) {
	c.rig.t.Helper()
	c.rig.Poll("the child speaks", func() (bool, any) {
		select {
		case word = <-c.lines:
			return true, nil
		case <-c.ended:
			c.rig.t.Fatalf("the child ended: %s", c.log)
		default:
		}
		return false, nil
	})
	return word
}

func (c *child) say(word string) {
	c.rig.t.Helper()
	if _, err := fmt.Fprintln(c.stdin, word); err != nil {
		c.rig.t.Fatal(err)
	}
}

func (c *child) signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		c.rig.t.Errorf("signal %v: %v", s, err)
	}
}

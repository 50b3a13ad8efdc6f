//go:build unix

package typescript_test

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A backend is a Node.js process.
type backend struct {
	rig  *rig
	cmd  *exec.Cmd
	log  *logbook
	base string
	// ended is closed when the process is gone.
	ended chan struct{}
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

// environment is how a backend finds the rig's database.
func (r *rig) environment() map[string]string {
	return map[string]string{
		"SPKY_DB_URL": r.Target.Endpoint, "SPKY_DB_NS": r.Target.Namespace, "SPKY_DB_NAME": r.Target.Database,
		"SPKY_DB_USER": r.Target.Username, "SPKY_DB_PASS": r.Target.Password, "SPKY_OUTBOX_TABLE": r.Table, "SPKY_BACKEND": "ts",
	}
}

// spawn starts a program of this directory and waits until it says where it listens. It is killed at the end.
func (r *rig) spawn(script string, more map[string]string) *backend {
	r.t.Helper()
	return r.spawnWith(script, nil, more)
}

func (r *rig) spawnWith(script string, args []string, more map[string]string) *backend {
	r.t.Helper()
	b := &backend{rig: r, log: &logbook{}, ended: make(chan struct{})}
	b.cmd = exec.Command("node", append([]string{script}, args...)...)
	b.cmd.Env = os.Environ()
	env := r.environment()
	maps.Copy(env, more)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		b.cmd.Env = append(b.cmd.Env, key+"="+env[key])
	}
	b.cmd.Stderr = b.log
	stdout, err := b.cmd.StdoutPipe()
	check(r.t, err)
	check(r.t, b.cmd.Start())
	listening := make(chan string, 1)
	go b.follow(stdout, listening)
	r.t.Cleanup(b.end)
	select {
	case port := <-listening:
		b.base = "http://127.0.0.1:" + port
	case <-b.ended:
		r.t.Fatalf("%s ended: %s", script, b.log)
	}
	return b
}

// follow reads what the process says, until its end.
func (b *backend) follow(stdout io.Reader, listening chan<- string) {
	defer close(b.ended)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if port, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			listening <- port
			continue
		}
		_, _ = b.log.Write(append(lines.Bytes(), '\n')) // to memory
	}
	_ = b.cmd.Wait() // it is killed in the end
}

func (b *backend) kill() { b.signal(syscall.SIGKILL) }

// signal is lost on a process that is gone.
func (b *backend) signal(s syscall.Signal) { _ = b.cmd.Process.Signal(s) }

func (b *backend) end() {
	b.kill()
	<-b.ended
	if text := b.log.String(); b.rig.t.Failed() && text != "" {
		b.rig.t.Logf("the backend's log:\n%s", text)
	}
}

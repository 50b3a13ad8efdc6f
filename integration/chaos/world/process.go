package world

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A Process is one member of the installation through all its lives. Its methods are called by one goroutine at a time.
type Process struct {
	world *World
	name  string
	// command makes the command line of a life. Extra is what that life alone has in its environment.
	command func(life int, extra []string) *exec.Cmd

	mu     sync.Mutex
	life   int
	cmd    *exec.Cmd
	ended  chan struct{}
	wanted bool // its end
}

// endPatience is how long a process that is told to end may take.
const endPatience = 75 * time.Second

// Start begins the next life. A process that runs already goes on.
func (p *Process) Start(extra ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	p.life++
	cmd := p.command(p.life, extra)
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd.Stdout, cmd.Stderr = log, log
	leash(cmd)
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.ended, p.wanted = cmd, make(chan struct{}), false
	go p.watch(cmd, p.ended)
	return nil
}

func (p *Process) logFile() string { return filepath.Join(p.world.Dir, "log", p.name+".log") }

// watch notes the end of a life.
func (p *Process) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	wanted := p.wanted
	p.cmd = nil
	p.mu.Unlock()
	if !wanted {
		p.world.fault(fmt.Sprintf("%s (life %d) ended by itself: %v; its last words:\n%s", p.name, p.life, err, p.lastWords()))
	}
	close(ended)
}

func (p *Process) lastWords() []byte {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(text[max(0, len(text)-4000):])
}

// signal sends a signal to a process that lives; end says that its end is wanted.
func (p *Process) signal(s syscall.Signal, end bool) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		gone := make(chan struct{})
		close(gone)
		return gone, nil
	}
	p.wanted = p.wanted || end
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("signal %s: %w", p.name, err)
	}
	return p.ended, nil
}

// Kill ends the process with SIGKILL and waits.
func (p *Process) Kill() error {
	ended, err := p.signal(syscall.SIGKILL, true)
	if err != nil {
		return err
	}
	<-ended
	return nil
}

// Freeze stops the process until Thaw.
func (p *Process) Freeze() error {
	_, err := p.signal(syscall.SIGSTOP, false)
	return err
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error {
	_, err := p.signal(syscall.SIGCONT, false)
	return err
}

// Terminate tells the process to end and waits. One that does not is killed, which is a fault.
func (p *Process) Terminate() error {
	ended, err := p.signal(syscall.SIGTERM, true)
	if err != nil {
		return err
	}
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
	}
	p.world.fault(fmt.Sprintf("%s did not end within %s of SIGTERM; its last words:\n%s", p.name, endPatience, p.lastWords()))
	return p.Kill()
}

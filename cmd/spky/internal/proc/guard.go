package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// guardGrace is how long orphans may take to end by themselves.
const guardGrace = 3 * time.Second

// groupPoll is how often a group that was asked to end is looked at.
const groupPoll = 20 * time.Millisecond

// A Guard is a process that ends what this process leaves behind.
type Guard struct {
	mu    sync.Mutex
	stdin io.WriteCloser
	cmd   *exec.Cmd
}

// StartGuard starts the guard: a program that calls [RunGuard] with its standard
// input.
func StartGuard(name string, args ...string) (*Guard, error) {
	cmd := exec.Command(name, args...) //nolint:noctx,gosec // it outlives everything here, and is this program itself
	cmd.Stderr = os.Stderr
	separate(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &Guard{stdin: stdin, cmd: cmd}, nil
}

// watch puts a process group under guard. A nil guard guards nothing.
func (g *Guard) watch(group int) { g.say("watch", group) }

// forget takes a group that has ended from under guard.
func (g *Guard) forget(group int) { g.say("forget", group) }

func (g *Guard) say(verb string, group int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// A guard that died cannot be told anything; the children end as they do without one.
	_, _ = fmt.Fprintf(g.stdin, "%s %d\n", verb, group)
}

// PID is the guard's process id.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// Close ends the guard, which ends what it still guards.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	return errors.Join(g.stdin.Close(), g.cmd.Wait())
}

// RunGuard is the guard's whole life: it reads which groups there are, and ends
// them when there is nobody left to tell.
func RunGuard(in io.Reader) {
	groups := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, number, _ := strings.Cut(lines.Text(), " ")
		group, err := strconv.Atoi(number)
		if err != nil || group <= 1 {
			continue
		}
		switch verb {
		case "watch":
			groups[group] = true
		case "forget":
			delete(groups, group)
		}
	}
	var all sync.WaitGroup
	for group := range groups {
		all.Go(func() { endGroup(group, guardGrace) })
	}
	all.Wait()
}

// endGroup ends a process group and returns when it is gone.
func endGroup(group int, grace time.Duration) {
	ask(group)
	ticker := time.NewTicker(groupPoll)
	defer ticker.Stop()
	over := time.NewTimer(grace)
	defer over.Stop()
	for there(group) {
		select {
		case <-ticker.C:
		case <-over.C:
			kill(group)
			return
		}
	}
}

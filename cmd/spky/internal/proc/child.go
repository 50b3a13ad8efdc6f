package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A Child is a program to run.
type Child struct {
	// Name is what it is called.
	Name string
	// Args are the program and its arguments.
	Args []string
	// Dir is where it runs.
	Dir string
	// Env is its whole environment, NAME=value; of a name that is there twice the last counts.
	Env []string
	// Out gets what it writes, to standard output and to standard error.
	Out io.Writer
	// Grace is how long it may take to end once asked to. Defaults to 5 s.
	Grace time.Duration
	// Guard watches over it. Defaults to nobody.
	Guard *Guard
}

// defaultGrace is Child.Grace where it is zero.
const defaultGrace = 5 * time.Second

// outputDelay is how long output is read after the program itself has ended.
const outputDelay = 500 * time.Millisecond

// Run runs the program until it ends, or until ctx does, and then ends what it
// left behind in its process group. An end that ctx asked for is no error.
func (c Child) Run(ctx context.Context) error {
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
	if ctx.Err() != nil {
		return nil
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // it gets a chance to end well
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Out, c.Out
	cmd.WaitDelay = outputDelay
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	group := cmd.Process.Pid
	c.Guard.watch(group)
	defer c.Guard.forget(group)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		endGroup(group, c.Grace)
		return c.explain(err)
	case <-ctx.Done():
	}
	ask(group)
	over := time.AfterFunc(c.Grace, func() { kill(group) })
	defer over.Stop()
	<-ended
	endGroup(group, c.Grace)
	return nil
}

// explain says how the program ended; nil where it ended well.
func (c Child) explain(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exit):
		return fmt.Errorf("%s ended: %s", c.Name, exit.ProcessState)
	case errors.Is(err, os.ErrProcessDone):
		return nil
	}
	return fmt.Errorf("%s ended: %w", c.Name, err)
}

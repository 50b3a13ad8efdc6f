package devdb_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sp00ky.cloud/spky/devdb"
)

// The database ends with the process that started it, whatever ends that, and takes its temporary data along.
func TestEndsWithItsParent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"killed":     func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() },
		"terminated": func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"ended":      func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), helperEnv+"=start", "TMPDIR="+tmp)
			cmd.Stderr = os.Stderr
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()
			var pid int
			var endpoint string
			if _, err := fmt.Fscan(bufio.NewReader(stdout), &pid, &endpoint); err != nil {
				t.Fatalf("the helper did not start: %v", err)
			}
			host, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(host)
			c := dial(t, endpoint)
			c.must("ping")

			if err := end(cmd, stdin); err != nil {
				t.Fatal(err)
			}
			<-c.ended
			waitForEnd(t, host)
			left, err := os.ReadDir(tmp)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range left {
				t.Errorf("%s is left behind", entry.Name())
			}
		})
	}
}

// waitForEnd waits for a process that is not this one's child.
func waitForEnd(t *testing.T, pidfd int) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			t.Fatal(err)
		case n == 0:
			t.Fatal("the database outlives its parent")
		}
		return
	}
}

// Ctrl-C in a terminal goes to the whole foreground process group. The database has to stay until its users are done.
func TestHasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	db := start(t, devdb.Config{})
	group, err := unix.Getpgid(db.PID())
	if err != nil {
		t.Fatal(err)
	}
	if group == unix.Getpgrp() {
		t.Error("it is in this process's group")
	}
}

// The password must not be where every user of the machine can read it.
func TestPasswordIsNotOnTheCommandLine(t *testing.T) {
	t.Parallel()
	const password = "very-secret-password"
	db := start(t, devdb.Config{Password: password})
	signedIn(t, targetOf(db)).query(nil, "RETURN 1")
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", db.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), password) {
		t.Errorf("it is in %q", line)
	}
}

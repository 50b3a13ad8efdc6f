//go:build unix

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

// separate gives a command a session of its own: no terminal signals it.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// ask asks a process group to end.
func ask(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) } // one that is gone needs no asking

// kill ends a process group.
func kill(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// there says whether a process group has a process left.
func there(group int) bool { return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }

//go:build !linux

package world

import (
	"os/exec"
	"syscall"
)

// leash puts a process into a group of its own: should this one end while it is frozen, the system hangs it up.
func leash(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

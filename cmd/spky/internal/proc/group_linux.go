package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, and has the kernel tell
// it when this process dies.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

//go:build unix

package devdb

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's Ctrl-C from the host: it goes to the whole foreground group, and the database has to
// outlive what still writes to it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

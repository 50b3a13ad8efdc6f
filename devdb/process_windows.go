package devdb

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's Ctrl-C from the host: the database has to outlive what still writes to it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

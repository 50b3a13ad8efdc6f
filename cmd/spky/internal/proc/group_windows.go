package proc

import (
	"os"
	"os/exec"
	"syscall"
)

func separate(cmd *exec.Cmd) { ownGroup(cmd) }

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// ask is kill: there is no signal to ask with.
func ask(group int) { kill(group) }

func kill(group int) {
	if p, err := os.FindProcess(group); err == nil {
		_ = p.Kill() // it may be gone
	}
}

func there(group int) bool {
	p, err := os.FindProcess(group)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

package world

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// leash ties a process to this one: it dies with it, however that happens.
func leash(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawner is a thread that never ends: the system takes the death of the thread that started a process for its
// parent's.
var spawner = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

func spawn(cmd *exec.Cmd) error {
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}

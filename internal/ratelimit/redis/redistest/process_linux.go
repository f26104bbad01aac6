package redistest

import (
	"runtime"
	"syscall"
)

// endWithParent has the kernel kill the child when the thread that started it ends, so that no server outlives a
// test binary that was itself killed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

func lockThread() { runtime.LockOSThread() }

//go:build !linux

package redistest

import "syscall"

// endWithParent has no counterpart here: a server outlives a test binary that was killed.
func endWithParent() *syscall.SysProcAttr { return nil }

func lockThread() {}

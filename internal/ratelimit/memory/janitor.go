package memory

import (
	"sync"
	"sync/atomic"
	"time"
)

// sweepEvery is how long expired keys may stay: short beside the windows that make many keys, long beside a sweep.
const sweepEvery = 10 * time.Second

// A janitor sweeps at intervals while there are keys. It is a timer, not a goroutine: an idle store has nothing
// running at all.
type janitor struct {
	sweep func() (left int) // Sweeps, and says how many keys are left.
	armed atomic.Bool

	mu     sync.Mutex // Held while sweeping, so that close waits for it.
	timer  *time.Timer
	closed bool
}

// arm makes sure that a sweep will come.
func (j *janitor) arm() {
	if j.armed.Load() || !j.armed.CompareAndSwap(false, true) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.timer = time.AfterFunc(sweepEvery, j.run)
	}
}

func (j *janitor) run() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	// Disarmed first: a key that comes while the sweep runs arms the next one by itself.
	j.armed.Store(false)
	if j.sweep() > 0 && j.armed.CompareAndSwap(false, true) {
		j.timer = time.AfterFunc(sweepEvery, j.run)
	}
}

func (j *janitor) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.timer != nil {
		j.timer.Stop()
	}
}

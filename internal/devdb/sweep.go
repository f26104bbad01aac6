//go:build unix

package devdb

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// sweepAfter spares a folder whose owner is between making it and locking it.
const sweepAfter = time.Hour

// Sweep removes the folders of clusters that nobody runs any more: ephemeral ones whose supervisor was killed too, as by
// a power cut. The pattern is filepath.Glob's. Folders that are in use, or somebody else's, are left alone.
func Sweep(ctx context.Context, pattern string) {
	dirs, _ := filepath.Glob(pattern) // The only error is a malformed pattern, which finds nothing.
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, "lock")); err == nil && time.Since(info.ModTime()) > sweepAfter {
			sweep(ctx, dir)
		}
	}
}

func sweep(ctx context.Context, dir string) {
	lock, err := takeLock(dir)
	if err != nil {
		return
	}
	defer lock.Close()
	c := &Cluster{dir: dir, log: slog.Default()}
	if err := c.endLeftover(ctx); err != nil {
		return
	}
	os.RemoveAll(dir) //nolint:errcheck // The next sweep tries again.
}

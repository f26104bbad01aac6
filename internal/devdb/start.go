//go:build unix

package devdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startTimeout bounds a start. It is long because a server that was killed first replays its log.
const startTimeout = time.Minute

// Start runs the cluster of a folder and returns when it takes connections. It recovers what a killed process left.
// The error is ErrNotInstalled or ErrInUse, which say what to do, or a fault of the server with the end of its log.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	runAs, err := serverAccount()
	if err != nil {
		return nil, err
	}
	c := &Cluster{account: runAs, log: cmp.Or(cfg.Log, slog.Default()), remove: cfg.Ephemeral}
	if c.dir, err = c.place(ctx, cfg.DataDir); err != nil {
		return nil, err
	}
	if c.lock, err = takeLock(c.dir); err != nil {
		return nil, err
	}
	if err := c.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, cfg Config) error {
	var err error
	if c.binaries, err = choose(installed(), majorIn(c.data())); err != nil {
		return err
	}
	if c.sockets, err = c.socketDir(); err != nil {
		return err
	}
	if err := c.endLeftover(ctx); err != nil {
		return err
	}
	if err := c.clearSocket(); err != nil {
		return err
	}
	if err := c.ensureData(ctx, cfg); err != nil {
		return err
	}
	return c.launch(ctx, settings(c.sockets, cfg.FastUnsafe))
}

// data is the folder that PostgreSQL itself calls its data directory.
func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// majorIn is the version that made the data, which is the only one that can read it; 0 if there is none.
func majorIn(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _ := strconv.Atoi(strings.TrimSpace(string(text))) // Anything else is PostgreSQL's to report.
	return major
}

// ensureData makes the data beside its place and moves it there when it is whole, so that a process that is killed
// meanwhile leaves nothing that looks like a cluster.
func (c *Cluster) ensureData(ctx context.Context, cfg Config) error {
	if _, err := os.Stat(c.data()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unfinished := c.data() + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove unfinished data: %w", err)
	}
	if err := c.makeData(ctx, unfinished, cfg); err != nil {
		return err
	}
	return os.Rename(unfinished, c.data())
}

func (c *Cluster) makeData(ctx context.Context, data string, cfg Config) error {
	if cfg.Template != "" {
		if err := c.account.copyTree(filepath.Join(cfg.Template, "data"), data); err != nil {
			return fmt.Errorf("copy template: %w", err)
		}
		return nil
	}
	args := []string{
		"-D", data, "--username=postgres", "--encoding=UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=reject",
	}
	if cfg.FastUnsafe {
		args = append(args, "--no-sync", "--wal-segsize=1") // Segments of 1 MB keep the folder small to copy.
	}
	out, err := c.account.command(ctx, filepath.Join(c.binaries.Dir, "initdb"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make database with initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// settings go before those of postgresql.conf, so that a folder made by an older build gets them too.
func settings(sockets string, fastUnsafe bool) []string {
	all := []string{
		"listen_addresses=", "unix_socket_directories=" + sockets, "unix_socket_permissions=0700", "port=" + port,
		"timezone=UTC", "log_timezone=UTC", "log_checkpoints=off", "max_connections=200",
	}
	if fastUnsafe {
		all = append(all, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal",
			"max_wal_senders=0", "autovacuum=off", "max_wal_size=1GB")
	}
	return all
}

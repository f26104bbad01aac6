package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"example.com/gatehouse/db"
	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/store"
)

const (
	// folders begins the names of the servers' folders.
	folders = "storetest-"
	// layout changes when a template made by older code does not fit any more.
	layout = 2
	// keepFor is how long a template that no test used is kept.
	keepFor = 7 * 24 * time.Hour
)

func startCluster() (*devdb.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for _, dir := range []string{os.TempDir(), fastDir()} {
		devdb.Sweep(ctx, filepath.Join(dir, folders+"*"))
	}
	name, err := templateName()
	if err != nil {
		return nil, err
	}
	cache, forget, err := cacheDir()
	if err != nil {
		return nil, fmt.Errorf("make cache of database templates: %w", err)
	}
	defer forget()
	cached := filepath.Join(cache, name)
	if err := ensureTemplate(ctx, cached); err != nil {
		return nil, fmt.Errorf("make template of the tests' database: %w", err)
	}
	return start(ctx, devdb.Config{Template: cached, Ephemeral: true})
}

// start runs a server in a folder of its own.
func start(ctx context.Context, cfg devdb.Config) (*devdb.Cluster, error) {
	dir, err := os.MkdirTemp(fastDir(), folders)
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	cfg.DataDir, cfg.FastUnsafe, cfg.Log = dir, true, slog.New(slog.DiscardHandler)
	server, err := devdb.Start(ctx, cfg)
	if err != nil {
		os.RemoveAll(dir) //nolint:errcheck // A later sweep tries again.
		return nil, err
	}
	return server, nil
}

// templateName is different for each PostgreSQL and each set of migrations.
func templateName() (string, error) {
	binaries, err := devdb.Find()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintln(hash, layout, binaries.Version)
	if err := hashMigrations(hash); err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	return fmt.Sprintf("%.12x", hash.Sum(nil)), nil
}

func hashMigrations(hash io.Writer) error {
	return fs.WalkDir(db.Migrations, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(db.Migrations, path)
		fmt.Fprintf(hash, "%s %d %s", path, len(text), text)
		return err
	})
}

// cacheDir is in the user's cache. Where there is none it is a temporary folder, which forget removes.
func cacheDir() (dir string, forget func(), err error) {
	if dir, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(dir, "storetest")
		if err := os.MkdirAll(dir, 0o700); err == nil {
			return dir, func() {}, nil
		}
	}
	dir, err = os.MkdirTemp("", folders)
	return dir, func() { os.RemoveAll(dir) }, err //nolint:errcheck // The system clears its temporary folder.
}

// ensureTemplate makes a server with the migrated database, unless there is one, and moves its stopped folder to its place
// in one step. Where several test binaries do so at once, the first to finish wins and the others use that one.
func ensureTemplate(ctx context.Context, cached string) error {
	if _, err := os.Stat(cached); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	server, err := start(ctx, devdb.Config{})
	if err != nil {
		return err
	}
	defer os.RemoveAll(server.Dir()) //nolint:errcheck // A later sweep tries again.
	if err := errors.Join(migrate(ctx, server), server.Stop()); err != nil {
		return err
	}
	removeOld(filepath.Dir(cached))
	return publish(filepath.Join(server.Dir(), "data"), cached)
}

func migrate(ctx context.Context, server *devdb.Cluster) error {
	s, err := store.Open(ctx, store.Config{URL: server.URL(template)})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrate(ctx)
}

// publish copies data into the cache: the temporary folder may be another file system, from which nothing can be moved.
func publish(data, cached string) error {
	unfinished, err := os.MkdirTemp(filepath.Dir(cached), "unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished) //nolint:errcheck // removeOld removes what stays.
	if err := os.CopyFS(filepath.Join(unfinished, "data"), os.DirFS(data)); err != nil {
		return err
	}
	err = os.Rename(unfinished, cached)
	if _, missing := os.Stat(cached); missing == nil {
		return nil // Ours, or another binary's: they are equal.
	}
	return err
}

// removeOld forgets templates that were made long ago: one that is still in use is made again.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir) // What cannot be listed stays.
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
			os.RemoveAll(filepath.Join(dir, entry.Name())) //nolint:errcheck // The next one tries again.
		}
	}
}

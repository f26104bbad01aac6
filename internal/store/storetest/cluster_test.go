package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/store"
)

// Several test binaries start at once on a machine that has no template yet.
func TestTemplatesMadeAtOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	cached := filepath.Join(cache, "template")
	made := make(chan error)
	for range 2 {
		go func() { made <- ensureTemplate(t.Context(), cached) }()
	}
	if err := errors.Join(<-made, <-made); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("the cache holds %v (%v), want one template", entries, err)
	}
	server, err := start(t.Context(), devdb.Config{Template: cached, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(server.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the stopped server's folder is still there: %v", err)
		}
	})
	s := Open(t, store.Config{URL: server.URL(template)})
	if schema, err := s.Schema(t.Context()); schema.Behind || err != nil {
		t.Errorf("the template lacks migrations: %+v, %v", schema, err)
	}
}

func TestWithoutACache(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	dir, forget, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	forget()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func TestTestsHaveTheirOwnDatabase(t *testing.T) {
	t.Parallel()
	one, two := New(t), New(t)
	id := store.Identity{Issuer: "https://issuer.example", Subject: "alice", OrgClaim: "acme"}
	member, err := one.EnsureUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	other, err := two.EnsureUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if member.UserID == other.UserID {
		t.Error("two tests share a database")
	}
}

func TestOldTemplatesAreRemoved(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for name, age := range map[string]time.Duration{"old": keepFor + time.Hour, "new": time.Hour} {
		dir := filepath.Join(cache, name)
		at := time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chtimes(dir, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	removeOld(cache)
	for name, want := range map[string]bool{"old": false, "new": true} {
		if _, err := os.Stat(filepath.Join(cache, name)); (err == nil) != want {
			t.Errorf("template %s is kept: %v, want %t", name, err, want)
		}
	}
}

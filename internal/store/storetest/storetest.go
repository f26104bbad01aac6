// Package storetest gives each test a database of its own on a real PostgreSQL.
//
// A test binary starts one server at its first use of this package; the server and its files go with the binary, however
// it ends. Each test's database is a copy of one in which all migrations have run. That server's folder is kept in the
// user's cache, so only the first run after a change of the migrations makes it anew.
package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/store"
)

const (
	// template is the database that new ones are copied from; here all migrations have run in it.
	template = "template1"
	// empty is the template in which nothing has run.
	empty = "template0"
	// timeout bounds each step: it is only reached where something hangs.
	timeout = time.Minute
)

// cluster is the test binary's server, started by the first test that asks. It is a package's variable because tests of
// one binary share nothing else, and it is never written after that.
var cluster = sync.OnceValues(startCluster) //nolint:gochecknoglobals // See above.

// databases numbers the databases of this binary.
var databases atomic.Int64 //nolint:gochecknoglobals // As cluster.

// New returns a store on a database of the test's own, with all migrations done and no rows.
func New(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, store.Config{URL: URL(tb), MaxConns: 8})
}

// Open returns a store that is closed when the test ends.
func Open(tb testing.TB, cfg store.Config) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// URL returns the address of a database of the test's own, with all migrations done and no rows.
func URL(tb testing.TB) string {
	tb.Helper()
	return create(tb, template)
}

// EmptyURL returns the address of a database of the test's own in which no migration has run.
func EmptyURL(tb testing.TB) string {
	tb.Helper()
	return create(tb, empty)
}

func create(tb testing.TB, from string) string {
	tb.Helper()
	server, err := cluster()
	if err != nil {
		tb.Fatalf("start the tests' PostgreSQL: %v", err)
	}
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := command(server, "CREATE DATABASE "+name+" TEMPLATE "+from+strategy(server)); err != nil {
		tb.Fatalf("make a database for the test: %v", err)
	}
	tb.Cleanup(func() {
		if err := command(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return server.URL(name)
}

// strategy copies files instead of logging their pages, which takes half the time. Before version 15 there was no choice.
func strategy(server *devdb.Cluster) string {
	if server.Binaries().Major < 15 {
		return ""
	}
	return " STRATEGY file_copy"
}

// command runs a statement on the server's own database. A test's context ends before its clean-up, so it has its own.
func command(server *devdb.Cluster, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // The statement's outcome is known.
	if _, err := conn.Exec(ctx, sql); err != nil {
		word, _, _ := strings.Cut(sql, " ")
		return fmt.Errorf("%s: %w", strings.ToLower(word), err)
	}
	return nil
}

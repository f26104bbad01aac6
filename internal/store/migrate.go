package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"example.com/gatehouse/db"
)

// A process that finds another one migrating asks again each second and gives up after five minutes.
const lockEvery, lockTries = 1, 300

// Migrate brings the schema up to this build. Processes that start at once take turns, and the first does the work.
// It may be interrupted: each migration is a transaction of its own.
func (s *Store) Migrate(ctx context.Context) error {
	pool := stdlib.OpenDB(*s.direct)
	defer pool.Close() //nolint:errcheck // Nothing is written any more.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockEvery, lockTries))
	if err != nil {
		return fmt.Errorf("make migration lock: %w", err)
	}
	migrations, err := fs.Sub(db.Migrations, "migrations")
	if err != nil {
		return fmt.Errorf("open migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	_, err = provider.Up(ctx)
	return fault("migrate database", err)
}

// A Schema is how the database's schema stands to this build.
type Schema struct {
	// Behind: it lacks a migration that this build has, which therefore cannot serve.
	Behind bool
	// Ahead: it has one that this build does not know. A newer build is being rolled out, and migrations suit the build
	// before them.
	Ahead bool
}

// Schema compares the migrations of the database with those of this build.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	known, err := versions()
	if err != nil {
		return Schema{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var is Schema
	err = s.pool.QueryRow(ctx, `WITH applied AS (SELECT version_id FROM goose_db_version WHERE is_applied)
		SELECT EXISTS (SELECT unnest($1::bigint[]) EXCEPT SELECT version_id FROM applied),
		EXISTS (SELECT version_id FROM applied WHERE version_id > 0 EXCEPT SELECT unnest($1::bigint[]))`, known).Scan(&is.Behind, &is.Ahead)
	if missing, ok := errors.AsType[*pgconn.PgError](err); ok && missing.Code == undefinedTable {
		return Schema{Behind: true}, nil
	}
	return is, fault("read schema version", err)
}

// undefinedTable is the SQLSTATE of a database that was never migrated.
const undefinedTable = "42P01"

// versions are the numbers at the beginning of the migrations' file names.
func versions() ([]int64, error) {
	files, err := fs.ReadDir(db.Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var all []int64
	for _, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, fmt.Errorf("read version of migration %s: %w", file.Name(), err)
		}
		all = append(all, version)
	}
	return all, nil
}

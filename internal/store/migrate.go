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

// SchemaBehind is true while the database lacks a migration that this build has. A database that has more is fine:
// a newer build is being rolled out, and migrations suit the build before them.
func (s *Store) SchemaBehind(ctx context.Context) (bool, error) {
	want, err := versions()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var lacking int
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM unnest($1::bigint[]) AS want(id)
		WHERE NOT EXISTS (SELECT FROM goose_db_version v WHERE v.version_id = want.id AND v.is_applied)`, want).Scan(&lacking)
	if missing, ok := errors.AsType[*pgconn.PgError](err); ok && missing.Code == undefinedTable {
		return true, nil
	}
	return lacking > 0, fault("read schema version", err)
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

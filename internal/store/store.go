// Package store is the project's only way to its database: exported methods in, plain structs and a few errors out.
//
// Each exported method is one transaction. What may be retried, refused or answered is told by the errors below; all
// else is a fault of the program or of the schema. Times that decide whether something has expired are the
// database's own; all times come back in UTC, to the millisecond.
package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/gatehouse/internal/dbgen"
)

const (
	// callTimeout bounds a method, waiting for a connection included. A healthy call takes a few milliseconds, so a
	// call that takes this long belongs to a database that is down or drowning.
	callTimeout = 5 * time.Second
	// connectTimeout bounds one attempt to connect, so that a call can make a second one.
	connectTimeout = 2 * time.Second
	// connLifetime lets connections follow a failover or a changed address; the jitter keeps them from doing so at once.
	connLifetime, connJitter = 30 * time.Minute, 5 * time.Minute
	connIdle                 = 5 * time.Minute
)

// Config says which database and how much of it.
type Config struct {
	// URL is a libpq connection string or postgres:// URL. It may lead to a pooler in transaction mode if DirectURL is set.
	URL string
	// DirectURL leads past the pooler to the database itself, for what needs a session: migrations lock one. Empty: URL does.
	DirectURL string
	// MaxConns is the most connections that this process holds; 0 is pgx's default, the larger of 4 and the number of CPUs.
	MaxConns int32
	// PollEvery is how often Follow looks for changes that no notification told of, half a second if 0. Only tests have another.
	PollEvery time.Duration
	// KeepAudit is how long the audit is kept; 0 is for ever.
	KeepAudit time.Duration
	// Trace, if not nil, is called before each statement with its name in db/queries ("statement" for others); what it
	// returns is called with the outcome when the statement has ended.
	Trace func(ctx context.Context, statement string) (context.Context, func(error))
}

// Store reads and writes the database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	queries *dbgen.Queries
	direct  *pgx.ConnConfig
	feed    feed
	// pollEvery is above 0; keepAudit is 0 for ever.
	pollEvery, keepAudit time.Duration
}

// CheckURL says what Open would refuse of a URL. It connects to nothing.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return fmt.Errorf("read database URL: %w", err)
	}
	return nil
}

// Open makes a Store. It does not connect: the database may come up later. The error is that of an unusable URL.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pooled, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	direct := pooled.ConnConfig.Copy()
	if cfg.DirectURL != "" {
		if direct, err = pgx.ParseConfig(cfg.DirectURL); err != nil {
			return nil, fmt.Errorf("read direct database URL: %w", err)
		}
	}
	direct.ConnectTimeout = min(direct.ConnectTimeout, connectTimeout)
	tune(pooled, cfg)
	pool, err := pgxpool.NewWithConfig(ctx, pooled)
	if err != nil {
		return nil, fmt.Errorf("make connection pool: %w", err)
	}
	return &Store{pool: pool, queries: dbgen.New(pool), direct: direct, pollEvery: cmp.Or(cfg.PollEvery, defaultPoll), keepAudit: cfg.KeepAudit}, nil
}

func tune(pool *pgxpool.Config, cfg Config) {
	if cfg.MaxConns > 0 {
		pool.MaxConns = cfg.MaxConns
	}
	pool.MaxConnLifetime, pool.MaxConnLifetimeJitter, pool.MaxConnIdleTime = connLifetime, connJitter, connIdle
	pool.ConnConfig.ConnectTimeout = min(pool.ConnConfig.ConnectTimeout, connectTimeout)
	if cfg.Trace != nil {
		pool.ConnConfig.Tracer = tracer{cfg.Trace}
	}
	if cfg.DirectURL != "" {
		suitPooler(pool.ConnConfig)
		return
	}
	limitStatements(pool.ConnConfig)
}

// suitPooler avoids named prepared statements, which a pooler in transaction mode may look for on another connection.
// It sends no session settings either, since poolers refuse them at start-up: set statement_timeout on the role there.
func suitPooler(conn *pgx.ConnConfig) {
	if conn.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		conn.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// limitStatements has the database itself stop what this process has given up on. What the URL says goes first.
func limitStatements(conn *pgx.ConnConfig) {
	limit := strconv.FormatInt(callTimeout.Milliseconds(), 10)
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if _, ok := conn.RuntimeParams[name]; !ok {
			conn.RuntimeParams[name] = limit
		}
	}
}

// Close waits for running calls and closes all connections.
func (s *Store) Close() { s.pool.Close() }

// Stats are the pool's connections.
type Stats struct {
	InUse, Idle, Max int
	// Waits are the calls for which no connection was free at once, Waited how long they waited all together, and
	// GivenUp how many of them got none in time.
	Waits, GivenUp int64
	Waited         time.Duration
}

// Stats says how the pool is.
func (s *Store) Stats() Stats {
	p := s.pool.Stat()
	return Stats{
		InUse: int(p.AcquiredConns()), Idle: int(p.IdleConns()), Max: int(p.MaxConns()),
		Waits: p.EmptyAcquireCount(), GivenUp: p.CanceledAcquireCount(), Waited: p.EmptyAcquireWaitTime(),
	}
}

// Ping tells whether the database answers; the error is ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return fault("ping database", s.pool.Ping(ctx))
}

// one runs a single statement, which is its own transaction.
func one[T any](ctx context.Context, s *Store, doing string, run func(context.Context, *dbgen.Queries) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := run(ctx, s.queries)
	return out, fault(doing, err)
}

// do is one for a statement without a result.
func do(ctx context.Context, s *Store, doing string, run func(context.Context, *dbgen.Queries) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return fault(doing, run(ctx, s.queries))
}

// all runs several statements in one transaction, which an error of run rolls back.
func all(ctx context.Context, s *Store, doing string, run func(context.Context, *dbgen.Queries) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return fault(doing, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return run(ctx, s.queries.WithTx(tx)) }))
}

// found turns the number of rows that a statement changed into ErrNotFound when there was none.
func found(rows int64, err error) error {
	if err == nil && rows == 0 {
		return ErrNotFound
	}
	return err
}

// newID is an id that sorts by its time. It fails only where the system has no randomness, when nothing is safe any more.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// utc is a time as it leaves the store.
func utc(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func utcOrNil(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := utc(*t)
	return &at
}

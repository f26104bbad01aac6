package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/dbgen"
)

const (
	// defaultPoll is how often changes are looked for; a notification makes it sooner. Two looks fit into the second within
	// which every process is promised to know of a change.
	defaultPoll = 500 * time.Millisecond
	// keepChanges is how long changes are kept. A reader that was away for half of it begins anew.
	keepChanges = time.Hour
	// The first and the longest wait before a lost connection is made again.
	reconnectFirst, reconnectMost = 100 * time.Millisecond, 2 * time.Second
)

// The kinds of changes.
const (
	// ChangedAnything is no row: a reader is told so at its beginning and whenever it may have missed something. What it
	// holds in memory must be read anew.
	ChangedAnything = "anything"
	// ChangedRevocations says that something was revoked; its subject is for ReadRevocation.
	ChangedRevocations = "revocations"
	// ChangedAllowances says that an override was set or ended; its subject is for ReadOverridden.
	ChangedAllowances = "allowances"
	// ChangedCounters says that a counter was reset, which processes may hold in memory; its subject is for ReadCounter.
	ChangedCounters = "counters"
)

// A Change is something that every process must hear of.
type Change struct {
	Kind string
	// Subject says what has changed, in the kind's own form.
	Subject string
}

// A feed is what this process knows of the changes.
type feed struct {
	mu sync.Mutex
	// fresh is when the last look that succeeded was begun.
	fresh time.Time
	// following says that a connection stands.
	following bool
	// looked is closed at the next look's end, whatever its outcome.
	looked chan struct{}
}

// Follow tells apply of every change that is committed, each once and in no particular order, until ctx ends: first of
// ChangedAnything, which also follows each lost connection. It holds a connection of its own past any pooler. Call it
// once for a Store.
//
// An error of apply means that the change was not taken in: it is told again, as ChangedAnything. failed is told why the
// feed is interrupted, once an attempt.
func (s *Store) Follow(ctx context.Context, apply func(context.Context, []Change) error, failed func(error)) {
	wait := reconnectFirst
	for {
		r := &reader{store: s, apply: apply}
		err := r.follow(ctx)
		s.feed.lost()
		if ctx.Err() != nil {
			return
		}
		failed(fault("follow changes", err))
		if r.looks > 0 {
			wait = reconnectFirst
		}
		if !sleep(ctx, wait/2+rand.N(wait/2)) { //nolint:gosec // Jitter need not be unpredictable.
			return
		}
		wait = min(2*wait, reconnectMost)
	}
}

// PollEvery is how often changes are looked for where no notification comes.
func (s *Store) PollEvery() time.Duration { return s.pollEvery }

// UpToDate says whether this process knows of every change that was committed up to within ago. Where the feed is late
// though its connection stands, it waits for the next look, which takes no longer than a call.
func (s *Store) UpToDate(ctx context.Context, within time.Duration) bool {
	return s.feed.await(ctx, time.Now().Add(-within))
}

// tell is all for a transaction that announces something: when it returns, this process has taken it in.
func (s *Store) tell(ctx context.Context, doing string, run func(context.Context, *dbgen.Queries) error) error {
	if err := all(ctx, s, doing, run); err != nil {
		return err
	}
	s.settle(ctx)
	return nil
}

// settle waits until this process has taken in what was committed just now, so that who made a change finds it made.
// Where the feed is interrupted there is nothing to wait for: the change is durable, and is taken in with the rest.
func (s *Store) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s.feed.await(ctx, time.Now())
}

// await waits for a look that began at that time or later. It is false when ctx ends first, or while no connection stands.
func (f *feed) await(ctx context.Context, at time.Time) bool {
	for {
		fresh, looked := f.state()
		if looked == nil || !fresh.Before(at) {
			return looked != nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-looked:
		}
	}
}

// state is how fresh the knowledge is, and the end of the next look; nil while no connection stands.
func (f *feed) state() (time.Time, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.following {
		return time.Time{}, nil
	}
	return f.fresh, f.looked
}

// connected lets who asks wait for the first look, so that whoever was told in it is never too early. What was known before
// the connection counts no more.
func (f *feed) connected() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fresh, f.following = time.Time{}, true
	f.next()
}

func (f *feed) succeeded(began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fresh = began
	f.next()
}

func (f *feed) lost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.following = false
	f.next()
}

// next wakes who waits for a look.
func (f *feed) next() {
	if f.looked != nil {
		close(f.looked)
	}
	f.looked = make(chan struct{})
}

// A reader follows the changes on one connection.
type reader struct {
	store *Store
	apply func(context.Context, []Change) error
	conn  *pgx.Conn
	// seen is the database's snapshot at the last look: which transactions were over. at is its time then.
	seen string
	at   time.Time
	// looks counts those that succeeded.
	looks int
}

// follow looks until something fails.
func (r *reader) follow(ctx context.Context) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	defer r.close(ctx)
	r.store.feed.connected()
	for {
		began := time.Now()
		if err := r.look(ctx); err != nil {
			return err
		}
		r.looks++
		r.store.feed.succeeded(began)
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}

func (r *reader) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, r.store.direct)
	if err != nil {
		return err
	}
	r.conn = conn
	// A pooler may refuse to listen. That costs the hint and not the feed; a broken connection is noticed at the first look.
	_, _ = conn.Exec(ctx, "LISTEN changes")
	return nil
}

func (r *reader) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.conn.Close(ctx) // It may be what has just failed.
}

// look takes in what was committed since the last look.
func (r *reader) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	seen, at, changes, err := r.read(ctx)
	if err != nil {
		return err
	}
	if away := at.Sub(r.at); r.looks > 0 && (away > keepChanges/2 || away < -keepChanges/2) {
		return fmt.Errorf("away for %v, so changes may have been pruned unseen", away)
	}
	if r.looks == 0 {
		changes = []Change{{Kind: ChangedAnything}}
	}
	if len(changes) > 0 {
		if err := r.apply(ctx, changes); err != nil {
			return err
		}
	}
	r.seen, r.at = seen, at
	return nil
}

// readChanges finds what is visible now and was not in the snapshot before. All that is older than that snapshot's xmin
// was over then, so the index leaves out everything that was seen long ago.
const readChanges = `-- name: ReadChanges
SELECT n.snapshot::text, clock_timestamp(), c.kind, c.subject
FROM (SELECT pg_current_snapshot() AS snapshot) n LEFT JOIN changes c
    ON c.transaction >= pg_snapshot_xmin($1::text::pg_snapshot) AND NOT pg_visible_in_snapshot(c.transaction, $1::text::pg_snapshot)`

// read returns the snapshot that it read in, the database's time, and the changes since the last snapshot. The first
// time it is the snapshot alone.
func (r *reader) read(ctx context.Context) (seen string, at time.Time, changes []Change, err error) {
	if r.looks == 0 {
		err = r.conn.QueryRow(ctx, "SELECT pg_current_snapshot()::text, clock_timestamp()").Scan(&seen, &at)
		return seen, at, nil, err
	}
	rows, err := r.conn.Query(ctx, readChanges, r.seen)
	if err != nil {
		return "", time.Time{}, nil, err
	}
	var kind, subject *string
	_, err = pgx.ForEachRow(rows, []any{&seen, &at, &kind, &subject}, func() error {
		if kind != nil {
			changes = append(changes, Change{Kind: *kind, Subject: *subject})
		}
		return nil
	})
	return seen, at, changes, err
}

// pause waits for a notification, or until it is time to look anyway.
func (r *reader) pause(ctx context.Context) error {
	until, cancel := context.WithTimeout(ctx, r.store.pollEvery)
	defer cancel()
	_, err := r.conn.WaitForNotification(until)
	if err != nil && until.Err() != nil {
		return ctx.Err()
	}
	return err
}

// announce tells every process of a change, when the transaction of q is committed: see tell.
func announce(ctx context.Context, q *dbgen.Queries, c Change) error {
	return q.Announce(ctx, dbgen.AnnounceParams{Kind: c.Kind, Subject: c.Subject})
}

// sleep waits; false when ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

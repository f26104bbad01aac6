// Package allowance finds which numbers of a budget apply to whom: a plan's, an organisation's or a user's, in place of
// the deployment's own.
//
// The rows are in the database and are looked up when a request is decided, never taken from a token, which would be
// stale for as long as it is valid. What was read is held for a while, so a request rarely waits for it, and dropped when
// the database tells of a change.
package allowance

import (
	"context"
	"sync"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

const (
	// defaultHold is the longest that a change can go unnoticed where the news of it does not come through.
	defaultHold = 30 * time.Second
	// defaultSubjects bounds what is held, to some twenty megabytes.
	defaultSubjects = 1 << 16
	// retryAfter is how long what was last known is used after a read failed, before the next is tried.
	retryAfter = time.Second
	// loadTimeout bounds a read. A request waits for it, and authentication has just reached the same database.
	loadTimeout = time.Second
)

// The scopes, as the database and the contract spell them.
const (
	Plan         = "plan"
	Organisation = "organisation"
	User         = "user"
)

// Config is what a Book depends on.
type Config struct {
	// Load reads what one plan, organisation or user changes, as (*store.Store).Allowances does.
	Load func(ctx context.Context, scope, subject string) ([]store.Allowance, error)
	// Failed is told of the first read that failed after one that did not. It must not call the Book.
	Failed func(error)
	// PassedOver is told, once for each, of a row that makes no valid limit, so that the weaker source decides. It may be nil
	// and must not call the Book.
	PassedOver func(scope, subject, budget string, err error)
	// Hold is how long what was read is used, 30 s if 0; Subjects how many are held, 65 536 if 0.
	Hold     time.Duration
	Subjects int
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// A Book knows what applies. It is safe for concurrent use.
type Book struct {
	cfg Config

	mu sync.RWMutex
	// recent and older hold what was read; when recent is full it becomes older, and what was older is dropped.
	recent, older map[subject]*entry
	flights       map[subject]*flight
	// epoch grows with each change that was told of; what was read in an epoch below floor is stale.
	epoch, floor uint64
	failing      bool
	// passed are the rows of which PassedOver was told.
	passed map[passedRow]bool
}

type subject struct{ scope, id string }

// A passedRow is a row that does not apply.
type passedRow struct {
	subject
	budget string
}

// maxPassed bounds how many rows are told of: more of them would be one fault that was told of before.
const maxPassed = 1_000

// An entry is what was read of one subject. It is never changed.
type entry struct {
	// rows are by budget, in the order in which they apply; nil for nearly everybody.
	rows  map[string][]row
	until time.Time
	epoch uint64
}

// A row is one change of a budget.
type row struct {
	store.Allowance
	// until is when it expires; zero for never.
	until time.Time
}

// A flight is one read under way, which others wait for who came before the next change was told of.
type flight struct {
	epoch uint64
	// rows is what it found, once landed is closed.
	landed chan struct{}
	rows   map[string][]row
}

// New makes a Book that knows nothing yet.
func New(cfg Config) *Book {
	if cfg.Hold == 0 {
		cfg.Hold = defaultHold
	}
	if cfg.Subjects == 0 {
		cfg.Subjects = defaultSubjects
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Book{cfg: cfg, recent: map[subject]*entry{}, older: map[subject]*entry{}, flights: map[subject]*flight{}, passed: map[passedRow]bool{}}
}

// Resolve finds what applies to a subject: the user's row beats the organisation's, that the plan's, and that the
// budget's own. A subject of which nothing is known has the budget's own numbers, and costs nothing.
func (b *Book) Resolve(ctx context.Context, budget *ratelimit.Budget, s ratelimit.Subject) ratelimit.Setting {
	setting := budget.Setting()
	if s == (ratelimit.Subject{}) {
		return setting
	}
	now := b.cfg.Now()
	for _, part := range [...]subject{{Plan, s.Plan}, {Organisation, s.Organisation}, {User, s.User}} {
		if part.id == "" {
			continue
		}
		for _, r := range b.rows(ctx, now, part)[budget.Name] {
			if !r.until.IsZero() && !now.Before(r.until) {
				continue
			}
			if err := r.apply(&setting, part.scope); err != nil {
				b.passOver(passedRow{part, budget.Name}, err)
			}
		}
	}
	return setting
}

// apply changes what the row says. One that would make no valid limit of it is passed over: numbers are checked when they
// are written, but a plan's own come by a migration, and what an override is combined with may have changed since.
func (r *row) apply(setting *ratelimit.Setting, source string) error {
	changed := *setting
	changed.Source = source
	if changed.Unlimited = r.Unlimited; !r.Unlimited {
		changed.Limit.N = r.Limit
	}
	if r.Refill != nil && changed.Limit.Algorithm == ratelimit.TokenBucket {
		changed.Limit.Refill = *r.Refill
	}
	if r.Enforce != nil {
		changed.Enforce = *r.Enforce
	}
	if err := changed.Limit.Check(); err != nil {
		return err
	}
	*setting = changed
	return nil
}

// passOver tells once of a row that does not apply.
func (b *Book) passOver(r passedRow, err error) {
	b.mu.RLock()
	told := b.told(r)
	b.mu.RUnlock()
	if told {
		return // As at each request that it would apply to, which must not wait for others.
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told(r) {
		return
	}
	b.passed[r] = true
	b.cfg.PassedOver(r.scope, r.id, r.budget, err)
}

// told says that nothing more is to be told of a row. It wants the lock.
func (b *Book) told(r passedRow) bool {
	return b.cfg.PassedOver == nil || b.passed[r] || len(b.passed) >= maxPassed
}

// Forget has a subject read anew at its next request.
func (b *Book) Forget(scope, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
	key := subject{scope, id}
	for _, held := range []map[subject]*entry{b.recent, b.older} {
		if e := held[key]; e != nil {
			held[key] = &entry{rows: e.rows} // Of no time: the last known, if the database does not answer.
		}
	}
}

// ForgetAll has every subject read anew, for when news may have been missed.
func (b *Book) ForgetAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
	b.floor = b.epoch
}

// Len is how many subjects are held.
func (b *Book) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.recent) + len(b.older)
}

// rows are what is known of a subject, read anew if that is stale.
func (b *Book) rows(ctx context.Context, now time.Time, key subject) map[string][]row {
	b.mu.RLock()
	e := b.recent[key]
	fresh := b.fresh(e, now)
	b.mu.RUnlock()
	if fresh {
		return e.rows
	}
	return b.read(ctx, now, key)
}

func (b *Book) fresh(e *entry, now time.Time) bool {
	return e != nil && e.epoch >= b.floor && now.Before(e.until)
}

// read reads a subject, or waits for who does already. Whoever waits in vain goes on with what was last known.
func (b *Book) read(ctx context.Context, now time.Time, key subject) map[string][]row {
	b.mu.Lock()
	e := b.held(key)
	if b.fresh(e, now) {
		b.mu.Unlock()
		return e.rows
	}
	if f := b.flights[key]; f != nil && f.epoch == b.epoch {
		b.mu.Unlock()
		return b.await(ctx, f, key)
	}
	f := &flight{epoch: b.epoch, landed: make(chan struct{})}
	b.flights[key] = f
	b.mu.Unlock()
	return b.fly(ctx, f, key)
}

// fly makes the read.
func (b *Book) fly(ctx context.Context, f *flight, key subject) map[string][]row {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	began := b.cfg.Now()
	allowances, err := b.cfg.Load(ctx, key.scope, key.id)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report(err)
	if err != nil {
		b.keepLast(f, key, began.Add(retryAfter))
	} else {
		f.rows = rowsOf(allowances, began)
		b.keepRead(f, key, began)
	}
	if b.flights[key] == f {
		delete(b.flights, key)
	}
	close(f.landed)
	return f.rows
}

// keepLast goes on with what was last known. Whatever changed since is not to be had for now.
func (b *Book) keepLast(f *flight, key subject, until time.Time) {
	if last := b.held(key); last != nil {
		f.rows = last.rows
	}
	b.keep(key, &entry{rows: f.rows, until: until, epoch: b.epoch})
}

// keepRead holds what was read. What was told to change meanwhile may or may not be in it, so such a read is stale at once,
// and nothing beside a later one.
func (b *Book) keepRead(f *flight, key subject, began time.Time) {
	switch {
	case b.epoch == f.epoch:
		b.keep(key, &entry{rows: f.rows, until: began.Add(b.cfg.Hold), epoch: f.epoch})
	case !b.fresh(b.held(key), began):
		b.keep(key, &entry{rows: f.rows, epoch: f.epoch})
	}
}

// report tells once of each time in which reads fail.
func (b *Book) report(err error) {
	if err != nil && !b.failing && b.cfg.Failed != nil {
		b.cfg.Failed(err)
	}
	b.failing = err != nil
}

func (b *Book) await(ctx context.Context, f *flight, key subject) map[string][]row {
	select {
	case <-f.landed:
		return f.rows
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.held(key); e != nil {
		return e.rows
	}
	return nil
}

// held finds an entry, and keeps it from being dropped as long as it is used.
func (b *Book) held(key subject) *entry {
	if e := b.recent[key]; e != nil {
		return e
	}
	e := b.older[key]
	if e != nil {
		b.keep(key, e)
	}
	return e
}

func (b *Book) keep(key subject, e *entry) {
	if len(b.recent) >= b.cfg.Subjects/2 && b.recent[key] == nil {
		b.recent, b.older = make(map[subject]*entry, b.cfg.Subjects/2), b.recent
	}
	b.recent[key] = e
}

func rowsOf(allowances []store.Allowance, at time.Time) map[string][]row {
	if len(allowances) == 0 {
		return nil
	}
	rows := make(map[string][]row, len(allowances))
	for _, a := range allowances {
		r := row{Allowance: a}
		if a.ExpiresIn != nil {
			r.until = at.Add(*a.ExpiresIn)
		}
		rows[a.Budget] = append(rows[a.Budget], r)
	}
	return rows
}

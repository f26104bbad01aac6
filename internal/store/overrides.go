package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// A Target is what an override changes.
type Target struct {
	// Scope is plan, organisation or user; Subject a plan's name, or the id of an organisation or a user.
	Scope, Subject string
	Budget         string
}

// An Override changes a budget of a plan, an organisation or a user.
type Override struct {
	Target
	// Limit is nil where the budget is unlimited. Refill and Enforce are nil where weaker sources decide, ExpiresAt is nil
	// for never.
	Limit     *int64
	Refill    *int64
	Enforce   *bool
	ExpiresAt *time.Time
	Reason    string
}

// A SetOverride is an override as it was set.
type SetOverride struct {
	Override
	// ID is new at each change.
	ID        uuid.UUID
	CreatedAt time.Time
	// Expired says that it no longer counts.
	Expired bool
	Author  Person
	// Name is that of the plan, organisation or user; empty once whom it names is gone.
	Name string
}

// A Person is a user for people to read. Name and Email are empty once that person's data was removed.
type Person struct {
	ID          uuid.UUID
	Name, Email string
}

// PutOverride sets an override, in place of one that is there, and writes that into the audit.
func (s *Store) PutOverride(ctx context.Context, act Act, o Override) (SetOverride, error) {
	set := SetOverride{Author: Person{ID: act.Actor}}
	err := s.tell(ctx, "set override", func(ctx context.Context, q *dbgen.Queries) error {
		before, err := lockOverride(ctx, q, o.Target)
		if err != nil {
			return err
		}
		row, err := q.PutOverride(ctx, dbgen.PutOverrideParams{
			ID: newID(), Scope: o.Scope, Subject: o.Subject, Budget: o.Budget,
			Allowance: o.Limit, Refill: o.Refill, Enforce: o.Enforce, ExpiresAt: utcOrNil(o.ExpiresAt), Reason: o.Reason, Author: act.Actor,
		})
		if err != nil {
			return err
		}
		set.Override, set.ID, set.CreatedAt = overrideOf(row), row.ID, utc(row.CreatedAt)
		if err := announce(ctx, q, o.change()); err != nil {
			return err
		}
		return act.write(ctx, q, before, recordOf(row))
	})
	return set, err
}

// DeleteOverride ends an override, and writes that into the audit. The error is ErrNotFound where there is none.
func (s *Store) DeleteOverride(ctx context.Context, act Act, t Target) error {
	return s.tell(ctx, "delete override", func(ctx context.Context, q *dbgen.Queries) error {
		before, err := lockOverride(ctx, q, t)
		if err != nil {
			return err
		}
		if before == nil {
			return ErrNotFound
		}
		if err := q.DeleteOverride(ctx, dbgen.DeleteOverrideParams(t)); err != nil {
			return err
		}
		if err := announce(ctx, q, t.change()); err != nil {
			return err
		}
		return act.write(ctx, q, before, nil)
	})
}

// ListOverrides returns a page of overrides, newest first. An empty scope or subject of the target stands for all, and its
// budget is not looked at.
func (s *Store) ListOverrides(ctx context.Context, t Target, p Page) ([]SetOverride, error) {
	before, size := p.params()
	rows, err := one(ctx, s, "list overrides", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.ListOverridesRow, error) {
		return q.ListOverrides(ctx, dbgen.ListOverridesParams{
			Scope: t.Scope, Subject: t.Subject, BeforeAt: before.CreatedAt, BeforeID: before.ID, PageSize: size,
		})
	})
	overrides := make([]SetOverride, len(rows))
	for i, row := range rows {
		overrides[i] = SetOverride{
			Override: overrideOf(row.Override), ID: row.Override.ID, CreatedAt: utc(row.Override.CreatedAt), Expired: row.Expired,
			Author: Person{ID: row.Override.Author, Name: row.AuthorName, Email: row.AuthorEmail}, Name: row.SubjectName,
		}
	}
	return overrides, err
}

// An Allowance is what one plan, organisation or user changes of a budget.
type Allowance struct {
	Budget string
	// Limit counts if Unlimited is false.
	Limit     int64
	Unlimited bool
	// Refill and Enforce are nil where weaker sources decide.
	Refill  *int64
	Enforce *bool
	// ExpiresIn is how long it still counts, a century for more than that; nil is for ever.
	ExpiresIn *time.Duration
}

// Allowances returns what changes the budgets of one plan, organisation or user now. Of two for one budget the later
// goes first: a plan's own number stands before an override of the plan.
func (s *Store) Allowances(ctx context.Context, scope, subject string) ([]Allowance, error) {
	rows, err := one(ctx, s, "read allowances", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.AllowancesOfRow, error) {
		return q.AllowancesOf(ctx, dbgen.AllowancesOfParams{Scope: scope, Subject: subject})
	})
	allowances := make([]Allowance, len(rows))
	for i, row := range rows {
		allowances[i] = Allowance{
			Budget: row.Budget, Limit: row.Allowance, Unlimited: row.Unlimited, Refill: row.Refill, Enforce: row.Enforce,
		}
		if row.SecondsLeft != nil {
			left := spanOf(*row.SecondsLeft)
			allowances[i].ExpiresIn = &left
		}
	}
	return allowances, err
}

// longest stands for every longer span: an override may expire in the year 9999, and a Duration ends after 292 years.
const longest = 100 * 365 * 24 * time.Hour

func spanOf(seconds float64) time.Duration {
	return time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
}

// change tells every process whose allowances are others now.
func (t Target) change() Change {
	return Change{Kind: ChangedAllowances, Subject: t.Scope + "/" + t.Subject}
}

// ReadOverridden reads from a change of kind ChangedAllowances whose allowances are others now.
func ReadOverridden(change string) (scope, subject string) {
	scope, subject, _ = strings.Cut(change, "/")
	return scope, subject
}

// lockOverride returns what is there, for the audit; nil where there is nothing. Whoever sets the same one waits, also
// where there is no row yet that could be locked.
func lockOverride(ctx context.Context, q *dbgen.Queries, t Target) (any, error) {
	if err := q.LockInTransaction(ctx, "override "+t.Scope+"/"+t.Subject+"/"+t.Budget); err != nil {
		return nil, err
	}
	row, err := q.LockOverride(ctx, dbgen.LockOverrideParams(t))
	if none, err := absent(err); none || err != nil {
		return nil, err
	}
	return recordOf(row), nil
}

// An overrideRecord is an override as the audit keeps it, in the contract's words.
type overrideRecord struct {
	Limit           *int64     `json:"limit"`
	Unlimited       bool       `json:"unlimited"`
	RefillPerSecond *int64     `json:"refillPerSecond,omitempty"`
	Enforce         *bool      `json:"enforce,omitempty"`
	ExpiresAt       *time.Time `json:"expiresAt,omitempty"`
	Reason          string     `json:"reason"`
}

func recordOf(row dbgen.Override) overrideRecord {
	return overrideRecord{
		Limit: row.Allowance, Unlimited: row.Allowance == nil, RefillPerSecond: row.Refill, Enforce: row.Enforce,
		ExpiresAt: utcOrNil(row.ExpiresAt), Reason: row.Reason,
	}
}

func overrideOf(row dbgen.Override) Override {
	return Override{
		Target: Target{Scope: row.Scope, Subject: row.Subject, Budget: row.Budget},
		Limit:  row.Allowance, Refill: row.Refill, Enforce: row.Enforce, ExpiresAt: utcOrNil(row.ExpiresAt), Reason: row.Reason,
	}
}

package ratelimit

import (
	"cmp"
	"fmt"
)

// A Mode says what a budget does while its store cannot say.
type Mode uint8

const (
	// Open lets the request proceed, uncounted.
	Open Mode = iota + 1
	// Local counts the whole limit in this process until the store is back.
	Local
	// Closed refuses as unavailable; it never makes up a denial.
	Closed
)

// String names the mode as settings spell it.
func (m Mode) String() string {
	switch m {
	case Open:
		return "open"
	case Local:
		return "local"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// A Budget is one row of the table: a named allowance for each key.
type Budget struct {
	// Name is the budget's own, `class` or `module.action`; it never holds a key.
	Name  string
	Limit Limit
	// Store names the store that counts it, a key of Config.Stores.
	Store     string
	OnFailure Mode
	// Enforce false makes it a shadow: counted and reported, never refusing.
	Enforce bool
	// Unlimited lets everything through and counts nothing.
	Unlimited bool
	// Source says where the row's numbers came from, SourceTable if empty.
	Source string
	// MaxCost is the largest fixed cost that a route charges, for the check at start; 0 where costs are computed.
	MaxCost int64
}

// TooSmall says that a request may cost more than the budget ever holds, so that no wait would make it fit. A limit of 0 is
// there to deny everything.
func (b *Budget) TooSmall() bool { return b.TooSmallAt(b.Setting()) }

// TooSmallAt is TooSmall with other numbers than the budget's own.
func (b *Budget) TooSmallAt(s Setting) bool {
	return s.Enforce && !s.Unlimited && s.Limit.N > 0 && b.MaxCost > s.Limit.N
}

// A Subject is who pays, for the look-up of overrides. Empty parts are not known.
type Subject struct {
	User, Organisation, Plan string
}

// A Setting is what applies to one subject: the budget's own numbers or an override's.
type Setting struct {
	Limit     Limit
	Enforce   bool
	Unlimited bool
	// Source says where the numbers came from: table, file, plan, organisation or user.
	Source string
}

// SourceTable is the Source of numbers that nothing overrides.
const SourceTable = "table"

// Setting is what the budget's own row says.
func (b *Budget) Setting() Setting {
	return Setting{Limit: b.Limit, Enforce: b.Enforce, Unlimited: b.Unlimited, Source: cmp.Or(b.Source, SourceTable)}
}

// An Ask is one charge of a decision, before its numbers are known.
type Ask struct {
	// Budget is the name of a row.
	Budget string
	// Group and ID are the parts of the Key.
	Group, ID string
	// Cost is the units asked for; 0 only looks.
	Cost    int64
	Subject Subject
}

package ratelimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Table is what the limiter decides by, in words: each budget by its name.
func (l *Limiter) Table() map[string]string {
	rows := l.table.Load().order
	table := make(map[string]string, len(rows))
	for _, r := range rows {
		table[r.budget.Name] = r.budget.words()
	}
	return table
}

// words are all of the row that decisions depend on.
func (b *Budget) words() string {
	limit := fmt.Sprintf("%d per %v by %v", b.Limit.N, b.Limit.Window, b.Limit.Algorithm)
	switch {
	case b.Unlimited:
		limit = "unlimited"
	case b.Limit.Algorithm == TokenBucket:
		limit = fmt.Sprintf("%d refilled %d a second by %v", b.Limit.N, b.Limit.Refill, b.Limit.Algorithm)
	}
	if !b.Enforce {
		limit += ", as a shadow"
	}
	return fmt.Sprintf("%s in %s, %v when that fails", limit, b.Store, b.OnFailure)
}

// TableHash is a short hash of the table and of whatever else processes that share counters must agree on, such as
// trusted proxies. Two processes with different hashes decide differently.
func (l *Limiter) TableHash(more ...string) string {
	h := sha256.New()
	for _, r := range l.table.Load().order {
		fmt.Fprintf(h, "%q %q\n", r.budget.Name, r.budget.words())
	}
	for _, s := range more {
		fmt.Fprintf(h, "%q\n", s)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

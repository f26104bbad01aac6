package ratelimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// TableHash is a short hash of the table and of whatever else processes that share counters must agree on, such as
// trusted proxies. Two processes with different hashes decide differently.
func (l *Limiter) TableHash(more ...string) string {
	h := sha256.New()
	for _, r := range l.table.Load().order {
		b := &r.budget
		fmt.Fprintf(h, "%q %v %d %d %d %q %v %t %t\n", b.Name, b.Limit.Algorithm, b.Limit.N, b.Limit.Window, b.Limit.Refill,
			b.Store, b.OnFailure, b.Enforce, b.Unlimited)
	}
	for _, s := range more {
		fmt.Fprintf(h, "%q\n", s)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

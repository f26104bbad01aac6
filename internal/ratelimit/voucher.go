package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A voucher is one charge of a decision, in a form that outlives it and its process.
type voucher struct {
	Budget    string        `json:"budget"`
	Group     string        `json:"group"`
	ID        string        `json:"id"`
	Algorithm Algorithm     `json:"algorithm"`
	N         int64         `json:"n"`
	Window    time.Duration `json:"window,omitempty"`
	Refill    int64         `json:"refill,omitempty"`
	Receipt   uint64        `json:"receipt"`
	Cost      int64         `json:"cost"`
	// Process names the limiter whose memory counted the charge; empty where the store is shared.
	Process string `json:"process,omitempty"`
}

func newVoucher(r *Result) voucher {
	return voucher{
		Budget: r.key.Budget, Group: r.key.Group, ID: r.key.ID,
		Algorithm: r.Limit.Algorithm, N: r.Limit.N, Window: r.Limit.Window, Refill: r.Limit.Refill,
		Receipt: r.Verdict.Receipt.ID, Cost: r.Verdict.Receipt.Cost,
	}
}

// result is what settle needs of the decision that was.
func (v voucher) result(r *row, g *guard) *Result {
	return &Result{
		key:     Key{Budget: v.Budget, Group: v.Group, ID: v.ID},
		Limit:   Limit{Algorithm: v.Algorithm, N: v.N, Window: v.Window, Refill: v.Refill},
		Verdict: Verdict{Receipt: Receipt{ID: v.Receipt, Cost: v.Cost}}, row: r, guard: g,
	}
}

// Vouchers puts what a decision recorded into a form in which whichever process ends the work may give it back, with
// Redeem. The vouchers name keys in the clear. They are empty when nothing was recorded.
func (l *Limiter) Vouchers(d Decision) ([]byte, error) {
	var all []voucher
	for i := range d.Results {
		r := &d.Results[i]
		if r.Verdict.Receipt.ID == 0 || r.guard == nil || r.guard.returner == nil {
			continue
		}
		v := newVoucher(r)
		if r.guard.inside != nil {
			v.Process = l.process
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode vouchers: %w", err)
	}
	return data, nil
}

// Redeem gives back what the vouchers stand for, as GiveBack does. Whoever keeps them hands them out once; those of
// another process's memory are worth nothing here.
func (l *Limiter) Redeem(ctx context.Context, vouchers []byte) error {
	if len(vouchers) == 0 {
		return nil
	}
	var all []voucher
	if err := json.Unmarshal(vouchers, &all); err != nil {
		return fmt.Errorf("decode vouchers: %w", err)
	}
	for _, v := range all {
		if r, g := l.issuer(v); g != nil && g.returner != nil {
			l.settle(ctx, v.result(r, g), 0)
		}
	}
	return nil
}

// issuer finds the store that counted a voucher's charge, or nil.
func (l *Limiter) issuer(v voucher) (*row, *guard) {
	r := l.row(v.Budget)
	switch {
	case r == nil:
		return nil, nil
	case v.Process == "":
		if r.guard.inside != nil {
			return r, nil
		}
		return r, r.guard
	case v.Process != l.process:
		return r, nil
	case r.guard.inside != nil:
		return r, r.guard
	}
	return r, l.local
}

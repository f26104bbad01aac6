package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
)

// A voucher is one charge of a decision, in a form that outlives it and its process.
type voucher struct {
	Key     Key
	Limit   Limit
	Receipt Receipt
	// Process names the limiter whose memory counted the charge; empty where the store is shared.
	Process string `json:",omitempty"`
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
		v := voucher{Key: r.key, Limit: r.Limit, Receipt: r.Verdict.Receipt}
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
			l.settle(ctx, &Result{Limit: v.Limit, Verdict: Verdict{Receipt: v.Receipt}, key: v.Key, row: r, guard: g}, 0)
		}
	}
	return nil
}

// issuer finds the store that counted a voucher's charge, or nil.
func (l *Limiter) issuer(v voucher) (*row, *guard) {
	r := l.row(v.Key.Budget)
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

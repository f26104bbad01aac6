package ratelimit

import (
	"context"
	"slices"
	"sync/atomic"
)

// GiveBack gives back what the decision recorded for the named budgets, or for all if none is named. It works once:
// each receipt is sent at most once, and when the store cannot say, its units stay spent. What is left by then stands in
// the decision's results.
func (l *Limiter) GiveBack(ctx context.Context, d Decision, budgets ...string) {
	for i := range d.Results {
		r := &d.Results[i]
		if len(budgets) == 0 || slices.Contains(budgets, r.Budget.Name) {
			l.settle(ctx, r, 0)
		}
	}
}

// Settle gives back what the decision reserved for the budget beyond the units used. It works once, in place of
// GiveBack. More used than reserved is not charged: reserve the most that a call can use.
func (l *Limiter) Settle(ctx context.Context, d Decision, budget string, used int64) {
	if r := d.Result(budget); r != nil {
		l.settle(ctx, r, max(used, 0))
	}
}

// undo gives back what a decision recorded that is refused after all.
func (l *Limiter) undo(ctx context.Context, d *Decision) {
	for i := range d.Results {
		r := &d.Results[i]
		l.settle(ctx, r, 0)
		r.Verdict.Receipt = Receipt{}
	}
}

func (l *Limiter) settle(ctx context.Context, r *Result, used int64) {
	receipt := r.Verdict.Receipt
	if receipt.ID == 0 || r.guard.returner == nil || atomic.SwapUint32(&r.settle, 1) != 0 || used >= receipt.Cost {
		return
	}
	units, err := r.guard.giveBack(ctx, []Return{{Key: r.key, Limit: r.Limit, Receipt: receipt, Units: receipt.Cost - used}})
	if err != nil || units[0] <= 0 {
		return
	}
	r.Verdict.Remaining = min(r.Verdict.Remaining+units[0], r.Limit.N)
	if r.row.hooks.GivenBack != nil {
		r.row.hooks.GivenBack(units[0])
	}
}

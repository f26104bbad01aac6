package ratelimit

import "context"

// fallBack decides by the modes what the store could not say. err is the reason. A look decides nothing, so it is not
// counted among what the modes decided.
func (l *Limiter) fallBack(ctx context.Context, d *Decision, s *scratch, err error, look bool) {
	now := l.now()
	for _, i := range s.results {
		r := &d.Results[i]
		r.degrade()
		if !look {
			r.row.noteOutage(now, err)
		}
	}
	l.decideByMode(ctx, d, s, look)
}

// repair decides by the modes the charges whose stored values are of a wrong shape; the others are decided and stay so,
// unless the repair refuses: then they are given back, since a refusal spends none.
func (l *Limiter) repair(ctx context.Context, d *Decision, s *scratch, look bool) {
	denied, now := d.Outcome == Denied, l.now()
	for i := range d.Results {
		r := &d.Results[i]
		if err := r.Verdict.Err; err != nil {
			r.degrade()
			r.row.noteFault(now, r.key, err)
		}
	}
	if denied {
		l.countModes(d)
		return
	}
	l.decideByMode(ctx, d, s, look)
	if d.Outcome != Allowed {
		l.undo(ctx, d)
	}
}

// degrade makes the result one that its budget's mode decides.
func (r *Result) degrade() {
	r.Degraded, r.Counted = true, false
	r.Verdict = Verdict{OK: true, Remaining: r.Limit.N, Err: r.Verdict.Err}
}

// decideByMode decides the degraded results: an enforced closed one refuses all, local ones are counted here, open
// ones pass.
func (l *Limiter) decideByMode(ctx context.Context, d *Decision, s *scratch, look bool) {
	if !look {
		defer l.countModes(d)
	}
	for i := range d.Results {
		r := &d.Results[i]
		if r.Degraded && r.Enforced && r.Budget.OnFailure == Closed {
			d.Outcome = Unavailable
		}
	}
	if d.Outcome == Allowed {
		l.countLocally(ctx, d, s)
	}
}

// countLocally counts the degraded results of mode Local in this process. The local store is told nothing of a
// decision that is refused anyway.
func (l *Limiter) countLocally(ctx context.Context, d *Decision, s *scratch) {
	s.reset()
	for i := range d.Results {
		r := &d.Results[i]
		if r.Degraded && r.Budget.OnFailure == Local {
			s.add(i, r)
		}
	}
	if len(s.charges) == 0 {
		return
	}
	verdicts, err := l.local.take(ctx, s.verdicts, s.charges)
	s.verdicts = verdicts[:0]
	if err != nil {
		d.Outcome = Unavailable
		return
	}
	for i, v := range verdicts {
		if v.Err != nil {
			continue // No room to count it: it is let through, uncounted.
		}
		r := &d.Results[s.results[i]]
		r.Verdict, r.Counted, r.Store, r.guard = v, true, LocalStore, l.local
	}
	d.judge()
}

func (l *Limiter) countModes(d *Decision) {
	for i := range d.Results {
		r := &d.Results[i]
		if !r.Degraded {
			continue
		}
		h := &r.row.hooks
		switch {
		case r.Counted:
			count(h.CountedLocally)
		case r.Budget.OnFailure == Closed:
			count(h.FailedClosed)
		case r.Budget.OnFailure == Open || d.Outcome == Allowed: // A local one that found no room is let through too.
			count(h.FailedOpen)
		}
	}
}

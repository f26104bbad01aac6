package ratelimit_test

import (
	"testing"

	"example.com/gatehouse/internal/ratelimit"
)

// TestVouchers: what one process charged to a shared store, another gives back; what lies in a process's memory, that
// process alone.
func TestVouchers(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := setup(t, func(c *ratelimit.Config) { c.Stores["shared"] = one.store })
	left := func(l *testBundle, budget string) int64 {
		return l.Look(t.Context(), ask(budget, 0)).Results[0].Verdict.Remaining
	}
	spend := func(budget string) []byte {
		t.Helper()
		vouchers, err := one.Vouchers(one.Decide(t.Context(), ask(budget, 2)))
		if err != nil || len(vouchers) == 0 {
			t.Fatalf("vouchers of %s: %q, %v", budget, vouchers, err)
		}
		return vouchers
	}
	redeem := func(l *testBundle, vouchers []byte) {
		t.Helper()
		if err := l.Redeem(t.Context(), vouchers); err != nil {
			t.Fatal(err)
		}
	}
	shared, inside := spend("closed"), spend("edge")
	redeem(two, inside)
	if left(one, "edge") != 98 || left(two, "edge") != 100 {
		t.Errorf("one has %d, two has %d: another process gave back what it never counted", left(one, "edge"), left(two, "edge"))
	}
	redeem(two, shared)
	redeem(one, inside)
	if left(one, "closed") != 10 || left(one, "edge") != 100 {
		t.Errorf("left are %d and %d, want all", left(one, "closed"), left(one, "edge"))
	}
	spend("closed")
	redeem(two, shared)
	if n := left(one, "closed"); n != 8 {
		t.Errorf("%d left after a voucher was redeemed twice, want 8", n)
	}
	if n := two.journal.count("closed given back"); n != 2 {
		t.Errorf("%d given back by the count", n)
	}
}

// TestVouchersOfALocalCount: what was counted in this process for want of the store is no debt of the store.
func TestVouchersOfALocalCount(t *testing.T) {
	t.Parallel()
	one := setup(t)
	two := setup(t, func(c *ratelimit.Config) { c.Stores["shared"] = one.store })
	one.store.set(func(s *faultyStore) { s.err = errDown })
	vouchers, err := one.Vouchers(one.Decide(t.Context(), ask("local", 1)))
	if err != nil || len(vouchers) == 0 {
		t.Fatalf("vouchers: %q, %v", vouchers, err)
	}
	returns := one.store.returns
	for _, l := range []*testBundle{two, one} {
		if err := l.Redeem(t.Context(), vouchers); err != nil {
			t.Fatal(err)
		}
	}
	if one.store.returns != returns {
		t.Error("the store was asked for what it never counted")
	}
	if n := one.Look(t.Context(), ask("local", 0)).Results[0].Verdict.Remaining; n != 3 {
		t.Errorf("%d left in this process, want all 3", n)
	}
}

func TestVouchersOfNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.Decide(t.Context(), ask("closed", 10))
	for name, d := range map[string]ratelimit.Decision{
		"a denial": l.Decide(t.Context(), ask("closed", 1)), "a look": l.Look(t.Context(), ask("open", 0)), "nothing": {},
	} {
		if vouchers, err := l.Vouchers(d); vouchers != nil || err != nil {
			t.Errorf("%s: vouchers %q, %v", name, vouchers, err)
		}
	}
	if err := l.Redeem(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := l.Redeem(t.Context(), []byte("nonsense")); err == nil {
		t.Error("nonsense was redeemed")
	}
	if err := l.Redeem(t.Context(), []byte(`[{"budget":"gone","receipt":1,"cost":1}]`)); err != nil {
		t.Errorf("a budget that is no longer in the table: %v", err)
	}
}

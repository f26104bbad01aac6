package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// The plans' numbers, as the migration seeds them.
func TestSeededPlans(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	want := map[string]map[string]store.PlanBudget{
		"free": {},
		"team": {
			"user": {Limit: 300}, "org": {Limit: 3000, Refill: 50},
			// example:begin
			"tasks.write": {Limit: 90}, "tasks.parse": {Limit: 30},
			"tasks.parse.burst": {Limit: 5}, "ai.tokens": {Limit: 200_000}, "tasks.export": {Limit: 15}, "reports.create": {Limit: 30},
			// example:end
		},
		"enterprise": {
			"user": {Limit: 1000}, "org": {Limit: 12_000, Refill: 200},
			// example:begin
			"tasks.write": {Limit: 300}, "tasks.parse": {Limit: 120},
			"tasks.parse.burst": {Limit: 10}, "ai.tokens": {Limit: 2_000_000}, "tasks.export": {Limit: 60}, "reports.create": {Limit: 60},
			// example:end
		},
	}
	plans := must(s.ListPlans(t.Context(), -1, 10))(t)
	var names []string
	for _, p := range plans {
		names = append(names, p.Name)
		if len(p.Budgets) != len(want[p.Name]) {
			t.Errorf("%s has the budgets %+v", p.Name, p.Budgets)
		}
		for _, b := range p.Budgets {
			w := want[p.Name][b.Budget]
			w.Budget = b.Budget
			if b != w {
				t.Errorf("%s has %+v, want %+v", p.Name, b, w)
			}
		}
		if on := map[string]int{"free": 1}[p.Name]; p.Organisations != on {
			t.Errorf("%d organisations are on %s, want %d", p.Organisations, p.Name, on)
		}
	}
	if order := []string{"free", "team", "enterprise"}; !slices.Equal(names, order) || !slices.Equal(must(s.PlanNames(t.Context()))(t), order) {
		t.Errorf("the plans are %v", names)
	}
	if rest := must(s.ListPlans(t.Context(), plans[0].Rank, 1))(t); len(rest) != 1 || rest[0].Name != "team" {
		t.Errorf("the page after %s is %+v", member.Plan, rest)
	}
}

func TestListOrganisations(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, claim := range []string{"one", "two", "three"} {
		id := alice()
		id.Subject, id.OrgClaim, id.OrgName = claim, claim, claim
		ensure(t, s, id)
	}
	var names []string
	page := store.Page{Limit: 2}
	for {
		orgs := must(s.ListOrganisations(t.Context(), page))(t)
		for _, o := range orgs {
			names = append(names, o.Name)
			if o.MemberCount != 1 || o.Plan != "free" {
				t.Errorf("%+v", o)
			}
		}
		if len(orgs) < page.Limit {
			break
		}
		last := orgs[len(orgs)-1]
		page.After = &store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	if want := []string{"three", "two", "one"}; !slices.Equal(names, want) {
		t.Errorf("the pages hold %v, want %v", names, want)
	}
}

func act(by uuid.UUID) store.Act {
	return store.Act{Actor: by, Action: "admin.overrides.put", Target: "user/x/user", Reason: "asked for it", RequestID: "r1"}
}

// An override is set, replaced and ended; each of that is in the audit with what was before and after, and only once it
// is set does it count.
func TestOverrides(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	target := store.Target{Scope: "user", Subject: member.UserID.String(), Budget: "user"}
	of := func() []store.Allowance { return must(s.Allowances(t.Context(), "user", target.Subject))(t) }
	wantErr(t, s.DeleteOverride(t.Context(), act(member.UserID), target), store.ErrNotFound)
	if a := of(); len(a) != 0 {
		t.Errorf("nothing was set, and there is %+v", a)
	}
	first := must(s.PutOverride(t.Context(), act(member.UserID), store.Override{Target: target, Limit: new(int64(7)), Reason: "less"}))(t)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	second := must(s.PutOverride(t.Context(), act(member.UserID), store.Override{
		Target: target, Refill: new(int64(3)), Enforce: new(false), ExpiresAt: &expires, Reason: "more",
	}))(t)
	if first.ID == second.ID || second.Limit != nil || !second.ExpiresAt.Equal(expires) {
		t.Errorf("set were %+v and %+v", first, second)
	}
	a := of()
	if len(a) != 1 || !a[0].Unlimited || *a[0].Refill != 3 || *a[0].Enforce || *a[0].ExpiresIn > time.Hour || *a[0].ExpiresIn < 50*time.Minute {
		t.Errorf("the allowances are %+v", a)
	}
	list := must(s.ListOverrides(t.Context(), store.Target{}, store.Page{Limit: 5}))(t)
	if len(list) != 1 || list[0].Name != member.Name || list[0].Author.Name != member.Name || list[0].Expired || list[0].Reason != "more" {
		t.Errorf("the list is %+v", list)
	}
	if err := s.DeleteOverride(t.Context(), act(member.UserID), target); err != nil {
		t.Fatal(err)
	}
	if a := of(); len(a) != 0 {
		t.Errorf("after its end there is %+v", a)
	}
	checkAudit(t, s, `{"limit":7,"unlimited":false,"reason":"less"}`)
}

// Of administrators who set the same override at once each finds what the one before has set: nothing is replaced that
// the audit does not name.
func TestOverridesAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	const writers = 8
	_, errs := together(writers, func(i int) (store.SetOverride, error) {
		return s.PutOverride(t.Context(), act(member.UserID), store.Override{
			Target: store.Target{Scope: "plan", Subject: "team", Budget: "user"}, Limit: new(int64(i)), Reason: "asked for it",
		})
	})
	if succeeded(errs) != writers {
		t.Fatal(errs)
	}
	seen := map[string]bool{}
	for _, e := range must(s.ListAudit(t.Context(), store.Page{Limit: 2 * writers}))(t) {
		seen[string(e.Before)] = true
	}
	if len(seen) != writers {
		t.Errorf("%d of %d entries of the audit have a before of their own: %v", len(seen), writers, seen)
	}
}

// checkAudit looks at what TestOverrides has done: set, replaced, ended.
func checkAudit(t *testing.T, s *store.Store, first string) {
	t.Helper()
	audit := must(s.ListAudit(t.Context(), store.Page{Limit: 10}))(t)
	if len(audit) != 3 {
		t.Fatalf("the audit has %d entries, want one a change: %+v", len(audit), audit)
	}
	ended, replaced, set := audit[0], audit[1], audit[2]
	if set.Before != nil || !sameJSON(t, set.After, []byte(first)) || !sameJSON(t, replaced.Before, []byte(first)) {
		t.Errorf("set: %s to %s, replaced from %s", set.Before, set.After, replaced.Before)
	}
	if !sameJSON(t, ended.Before, replaced.After) || ended.After != nil {
		t.Errorf("ended: %s to %s", ended.Before, ended.After)
	}
	if a := set.Act; a.Reason != "asked for it" || a.RequestID != "r1" || a.Action == "" || set.Actor.Name == "" {
		t.Errorf("who and why: %+v", set)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	normal := func(data []byte) string {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%q is no JSON: %v", data, err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return normal(a) == normal(b)
}

// An override that has expired no longer counts, and the list says so. A plan's own number stands before the plan's override.
func TestAllowances(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	past, far := time.Now().Add(-time.Minute), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for subject, expires := range map[string]*time.Time{"team": nil, "enterprise": &past, "free": &far} {
		must(s.PutOverride(t.Context(), act(member.UserID), store.Override{
			Target: store.Target{Scope: "plan", Subject: subject, Budget: "user"}, Limit: new(int64(99)), ExpiresAt: expires,
		}))(t)
	}
	limits := func(plan string) (of []int64) {
		for _, a := range must(s.Allowances(t.Context(), "plan", plan))(t) {
			if a.Budget == "user" {
				of = append(of, a.Limit)
			}
		}
		return of
	}
	if got := limits("team"); !slices.Equal(got, []int64{300, 99}) {
		t.Errorf("team has %v, want its own number and then the override's", got)
	}
	if got := limits("enterprise"); !slices.Equal(got, []int64{1000}) {
		t.Errorf("enterprise has %v, want its own number alone", got)
	}
	if a := must(s.Allowances(t.Context(), "plan", "free"))(t); len(a) != 1 || *a[0].ExpiresIn < 99*365*24*time.Hour {
		t.Errorf("what ends in the year 9999 is %+v", a)
	}
	list := must(s.ListOverrides(t.Context(), store.Target{Scope: "plan", Subject: "enterprise"}, store.Page{Limit: 5}))(t)
	if len(list) != 1 || !list[0].Expired || list[0].Name != "enterprise" {
		t.Errorf("the list is %+v", list)
	}
}

// Who removes themselves keeps what was set for them, and administrators stay in the audit by their id.
func TestOverridesOutliveTheirUser(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	target := store.Target{Scope: "user", Subject: member.UserID.String(), Budget: "user"}
	must(s.PutOverride(t.Context(), act(member.UserID), store.Override{Target: target, Limit: new(int64(1)), Reason: "spam"}))(t)
	if err := s.DeleteUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	list := must(s.ListOverrides(t.Context(), store.Target{}, store.Page{Limit: 5}))(t)
	if len(list) != 1 || list[0].Name != "" || list[0].Author != (store.Person{ID: member.UserID}) {
		t.Errorf("the list is %+v", list)
	}
	if again := ensure(t, s, alice()); again.UserID != member.UserID {
		t.Fatalf("who came back is %v, was %v", again.UserID, member.UserID)
	}
	if a := must(s.Allowances(t.Context(), "user", target.Subject))(t); len(a) != 1 || a[0].Limit != 1 {
		t.Errorf("who came back has shaken off their override: %+v", a)
	}
	if audit := must(s.ListAudit(t.Context(), store.Page{Limit: 5}))(t); audit[0].Actor.ID != member.UserID {
		t.Errorf("the audit is %+v", audit)
	}
}

// Names are found for users and organisations alike; who is gone has none.
func TestNames(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	names := must(s.Names(t.Context(), []uuid.UUID{member.UserID, member.OrgID, uuid.New()}))(t)
	if len(names) != 2 || names[member.UserID] != member.Name || names[member.OrgID] != member.OrgName {
		t.Errorf("the names are %v", names)
	}
	if none := must(s.Names(t.Context(), nil))(t); len(none) != 0 {
		t.Errorf("nobody is called %v", none)
	}
	if got := must(s.Member(t.Context(), member.UserID))(t); got != member {
		t.Errorf("the member is %+v, want %+v", got, member)
	}
	_, err := s.Member(t.Context(), uuid.New())
	wantErr(t, err, store.ErrNotFound)
}

// Revoking for an administrator is written down with the revocation, or not at all.
func TestRevokeUserFor(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	wantErr(t, s.RevokeUserFor(t.Context(), act(member.UserID), uuid.New()), store.ErrNotFound)
	if audit := must(s.ListAudit(t.Context(), store.Page{Limit: 5}))(t); len(audit) != 0 {
		t.Errorf("what failed is in the audit: %+v", audit)
	}
	if err := s.RevokeUserFor(t.Context(), act(member.UserID), member.UserID); err != nil {
		t.Fatal(err)
	}
	if revoked := must(s.Revocations(t.Context()))(t); len(revoked) != 1 || revoked[0].UserID != member.UserID {
		t.Errorf("revoked: %+v", revoked)
	}
	if audit := must(s.ListAudit(t.Context(), store.Page{Limit: 5}))(t); len(audit) != 1 {
		t.Errorf("the audit is %+v", audit)
	}
}

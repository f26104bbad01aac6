package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func TestEnsureUserMakesUserAndOrganisation(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	got := ensure(t, s, alice())
	want := store.Member{
		UserID: got.UserID, OrgID: got.OrgID, CreatedAt: got.CreatedAt,
		Issuer: issuer, Subject: "alice", Email: "alice@acme.example", Name: "Alice", OrgName: "Acme", Plan: "free",
	}
	if got != want {
		t.Errorf("member is %+v, want %+v", got, want)
	}
	if got.UserID.Version() != 7 || got.OrgID.Version() != 7 {
		t.Errorf("ids %s and %s are not of version 7", got.UserID, got.OrgID)
	}
	if got.CreatedAt.Location() != time.UTC || !got.CreatedAt.Equal(got.CreatedAt.Truncate(time.Millisecond)) {
		t.Errorf("time %s is not in UTC to the millisecond", got.CreatedAt)
	}
	if again := ensure(t, s, alice()); again != got {
		t.Errorf("at the second sight the member is %+v, was %+v", again, got)
	}
}

func TestEnsureUserReadsOnceWhatIsKnown(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	ensure(t, s, alice())
	version := func() string {
		return scalar[string](t, url, "SELECT u.xmin || ' ' || o.xmin FROM users u JOIN organisations o ON o.id = u.organisation_id")
	}
	before := version()
	silent := alice()
	silent.Email, silent.Name, silent.OrgName = "", "", "" // As an access token may be.
	for _, id := range []store.Identity{alice(), silent} {
		if m := ensure(t, s, id); m.Email != "alice@acme.example" || m.Name != "Alice" || m.OrgName != "Acme" {
			t.Errorf("member is %+v", m)
		}
	}
	if after := version(); after != before {
		t.Error("an unchanged identity wrote its rows anew")
	}
}

func TestEnsureUserFollowsTheIssuer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(*store.Identity)
		want    func(*store.Member)
		sameOrg bool
	}{
		{"a new name", func(id *store.Identity) { id.Name = "Alice B." }, func(m *store.Member) { m.Name = "Alice B." }, true},
		{"a new address", func(id *store.Identity) { id.Email = "a@b.example" }, func(m *store.Member) { m.Email = "a@b.example" }, true},
		{"a renamed organisation", func(id *store.Identity) { id.OrgName = "Acme Ltd" }, func(m *store.Member) { m.OrgName = "Acme Ltd" }, true},
		{
			"another organisation", func(id *store.Identity) { id.OrgClaim, id.OrgName = "globex", "Globex" },
			func(m *store.Member) { m.OrgName = "Globex" }, false,
		},
		{
			"one without a name", func(id *store.Identity) { id.OrgClaim, id.OrgName = "org_1", "" },
			func(m *store.Member) { m.OrgName = "org_1" }, false,
		},
		{
			"one of their own", func(id *store.Identity) { id.Personal, id.OrgClaim, id.OrgName = true, "", "" },
			func(m *store.Member) { m.OrgName = "Alice" }, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			want := ensure(t, s, alice())
			changed := alice()
			tt.change(&changed)
			tt.want(&want)
			got := ensure(t, s, changed)
			if (got.OrgID == want.OrgID) != tt.sameOrg {
				t.Errorf("organisation is %s, was %s, want the same: %t", got.OrgID, want.OrgID, tt.sameOrg)
			}
			want.OrgID = got.OrgID
			if got != want {
				t.Errorf("member is %+v, want %+v", got, want)
			}
		})
	}
}

// Who is who is told by issuer and subject together, and a claim that equals somebody's subject opens nothing.
func TestEnsureUserKeepsIdentitiesApart(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	foreign, namesake := alice(), dave()
	foreign.Issuer = "https://other.example"
	namesake.Subject, namesake.Personal, namesake.OrgClaim = "mallory", false, "dave"
	users, orgs := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, id := range []store.Identity{alice(), foreign, dave(), namesake} {
		m := ensure(t, s, id)
		users[m.UserID], orgs[m.OrgID] = true, true
	}
	if len(users) != 4 || len(orgs) != 4 {
		t.Errorf("four identities became %d users of %d organisations", len(users), len(orgs))
	}
}

func TestEnsureUserAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	members, errs := together(8, func(int) (store.Member, error) { return s.EnsureUser(t.Context(), alice()) })
	for i, m := range members {
		if errs[i] != nil || m != members[0] {
			t.Errorf("one identity became %+v (%v) and %+v", members[0], errs[i], m)
		}
	}
	org := must(s.Organisation(t.Context(), members[0].OrgID))(t)
	if org.MemberCount != 1 {
		t.Errorf("the organisation has %d members, want 1", org.MemberCount)
	}
}

func TestTextThatTheDatabaseCannotHold(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice()) // example:line
	for name, text := range map[string]string{"NUL": "a\x00b", "not UTF-8": "a\xffb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := alice()
			id.Name = text
			_, err := s.EnsureUser(t.Context(), id)
			wantErr(t, err, store.ErrInvalidText)
			// example:begin
			task := newTask(member)
			task.Title = text
			_, err = s.CreateTask(t.Context(), task)
			wantErr(t, err, store.ErrInvalidText)
			// example:end
		})
	}
}

func TestOrganisation(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	bob := alice()
	bob.Subject = "bob"
	ensure(t, s, bob)
	got := must(s.Organisation(t.Context(), member.OrgID))(t)
	want := store.Organisation{ID: member.OrgID, Name: "Acme", Plan: "free", MemberCount: 2, CreatedAt: got.CreatedAt}
	if got != want || got.CreatedAt.IsZero() {
		t.Errorf("organisation is %+v, want %+v", got, want)
	}
	_, err := s.Organisation(t.Context(), uuid.New())
	wantErr(t, err, store.ErrNotFound)
}

func TestSetPlan(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	act := store.Act{Actor: member.UserID, Action: "admin.orgs.plan", Target: "organisation/x", Reason: "paid", RequestID: "r1"}
	if err := s.SetPlan(t.Context(), act, member.OrgID, "team"); err != nil {
		t.Fatal(err)
	}
	if m := ensure(t, s, alice()); m.Plan != "team" {
		t.Errorf("plan is %q, want team", m.Plan)
	}
	wantErr(t, s.SetPlan(t.Context(), act, member.OrgID, "gold"), store.ErrUnknownPlan)
	wantErr(t, s.SetPlan(t.Context(), act, uuid.New(), "team"), store.ErrNotFound)
	audit := must(s.ListAudit(t.Context(), store.Page{Limit: 10}))(t)
	if len(audit) != 1 || audit[0].Act != act || string(audit[0].Before) != `{"plan": "free"}` || string(audit[0].After) != `{"plan": "team"}` {
		t.Errorf("the audit holds %+v, want the one change that was made", audit)
	}
}

func TestDeleteUser(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	// example:begin
	task := must(s.CreateTask(t.Context(), newTask(member)))(t)
	must(s.CreateReport(t.Context(), store.NewReport{OrgID: member.OrgID, TaskID: task.ID, UserID: member.UserID, Reason: "spam"}))(t)
	// example:end
	must(s.CreateSession(t.Context(), newSession(member, "token")))(t)

	if err := s.DeleteUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Session(t.Context(), []byte("token"), time.Hour)
	wantErr(t, err, store.ErrNotFound)
	// example:begin
	if kept := must(s.Task(t.Context(), member.OrgID, task.ID))(t); kept.CreatedBy != nil {
		t.Errorf("the task still names %s", kept.CreatedBy)
	}
	// example:end
	if org := must(s.Organisation(t.Context(), member.OrgID))(t); org.MemberCount != 0 {
		t.Errorf("the organisation has %d members, want none", org.MemberCount)
	}
	wantErr(t, s.DeleteUser(t.Context(), member.UserID), store.ErrNotFound)
	// Who comes back at once is counted as the same person, but nothing of theirs is left.
	if back := ensure(t, s, alice()); back.UserID != member.UserID || back.OrgID != member.OrgID {
		t.Errorf("after a new sign-in the user is %+v, was %+v", back, member)
	}
}

func TestDeleteUserTakesThePersonalOrganisationAlong(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, dave())
	task := must(s.CreateTask(t.Context(), newTask(member)))(t) // example:line
	if err := s.DeleteUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Organisation(t.Context(), member.OrgID)
	wantErr(t, err, store.ErrNotFound)
	// example:begin
	_, err = s.Task(t.Context(), member.OrgID, task.ID)
	wantErr(t, err, store.ErrNotFound)
	_, err = s.CreateTask(t.Context(), newTask(member))
	wantErr(t, err, store.ErrNotFound)
	// example:end
}

// A personal organisation from before somebody joined a company goes with them too.
func TestDeleteUserWhoMoved(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	own := ensure(t, s, dave())
	hired := dave()
	hired.Personal, hired.OrgClaim = false, "acme"
	member := ensure(t, s, hired)
	if err := s.DeleteUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Organisation(t.Context(), own.OrgID)
	wantErr(t, err, store.ErrNotFound)
	must(s.Organisation(t.Context(), member.OrgID))(t)
}

func TestDeleteUserWhileSigningIn(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, dave())
	renamed := dave()
	renamed.Name = "David"
	_, errs := together(8, func(i int) (store.Member, error) {
		if i%2 == 0 {
			return member, s.DeleteUser(t.Context(), member.UserID)
		}
		return s.EnsureUser(t.Context(), renamed)
	})
	for i, err := range errs {
		if err != nil && (i%2 == 1 || i == 0 && succeeded(errs[:1]) == 1) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if m := ensure(t, s, renamed); m.Name != "David" || m.UserID != member.UserID || m.OrgID != member.OrgID {
		t.Errorf("the user is %+v, was %+v", m, member)
	}
}

func TestSeed(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	_, errs := together(3, func(int) (struct{}, error) { return struct{}{}, s.Seed(t.Context(), issuer) })
	if succeeded(errs) != 3 {
		t.Fatalf("seeding ended with %v", errs)
	}
	want := map[string]struct {
		name, plan string
	}{"acme": {"Acme", "team"}, "globex": {"Globex", "free"}, "staff": {"Staff", "free"}}
	for claim, organisation := range want {
		m := ensure(t, s, store.Identity{Issuer: issuer, Subject: "of " + claim, OrgClaim: claim})
		if m.OrgName != organisation.name || m.Plan != organisation.plan {
			t.Errorf("organisation %s is %+v, want %+v", claim, m, organisation)
		}
		// example:begin
		tasks := must(s.ListTasks(t.Context(), m.OrgID, store.TaskFilter{Limit: 10}))(t)
		if seeded := map[string]int{"acme": 3, "globex": 2}[claim]; len(tasks) != seeded {
			t.Errorf("organisation %s has %d tasks, want %d", claim, len(tasks), seeded)
		}
		// example:end
	}
}

func TestSeedLeavesWhatExists(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	if err := s.Seed(t.Context(), issuer); err != nil {
		t.Fatal(err)
	}
	if m := ensure(t, s, alice()); m != member {
		t.Errorf("after seeding the member is %+v, was %+v", m, member)
	}
}

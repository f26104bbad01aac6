package store_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func newSession(m store.Member, token string) store.NewSession {
	return store.NewSession{
		TokenHash: []byte(token), UserID: m.UserID, Roles: []string{"admin"},
		RolesAt: time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC), SID: "sid", IDToken: "a.b.c",
		IdleFor: time.Hour, MaxFor: 24 * time.Hour,
	}
}

func TestTakeLogin(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	want := store.Login{
		StateHash: []byte("state"), Verifier: "verifier", Nonce: "nonce", ReturnTo: "/tasks?done=false", Charge: []byte("charge"),
		KeepFor: time.Minute,
	}
	if err := s.CreateLogin(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.CreateLogin(t.Context(), want), store.ErrConflict)
	_, err := s.TakeLogin(t.Context(), []byte("another"))
	wantErr(t, err, store.ErrNotFound)
	got := must(s.TakeLogin(t.Context(), []byte("state")))(t)
	if want.CreatedAt, want.KeepFor = got.CreatedAt, 0; got.CreatedAt.IsZero() || !reflect.DeepEqual(got, want) {
		t.Errorf("login is %+v, want %+v", got, want)
	}
	_, err = s.TakeLogin(t.Context(), []byte("state"))
	wantErr(t, err, store.ErrNotFound)
}

func TestTakeLoginAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	if err := s.CreateLogin(t.Context(), store.Login{StateHash: []byte("state"), KeepFor: time.Minute}); err != nil {
		t.Fatal(err)
	}
	_, errs := together(8, func(int) (store.Login, error) { return s.TakeLogin(t.Context(), []byte("state")) })
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d callers took one login", n)
	}
}

func TestExpiredLogins(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	create := func(state string, until time.Duration) {
		if err := s.CreateLogin(t.Context(), store.Login{StateHash: []byte(state), KeepFor: until}); err != nil {
			t.Fatal(err)
		}
	}
	create("old", -time.Second)
	_, err := s.TakeLogin(t.Context(), []byte("old"))
	wantErr(t, err, store.ErrNotFound)
	create("new", time.Minute)
	if n := scalar[int](t, url, "SELECT count(*) FROM logins"); n != 1 {
		t.Errorf("%d logins are kept, want the live one alone", n)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	in := newSession(member, "token")
	made := must(s.CreateSession(t.Context(), in))(t)
	want := store.Session{
		ID: made.ID, Member: member, Roles: in.Roles, RolesAt: in.RolesAt, SID: "sid", IDToken: "a.b.c",
		CreatedAt: made.CreatedAt, ExpiresAt: made.CreatedAt.Add(in.MaxFor), IdleExpiresAt: made.CreatedAt.Add(in.IdleFor),
	}
	if !reflect.DeepEqual(made, want) {
		t.Errorf("new session is %+v, want %+v", made, want)
	}
	if got := must(s.Session(t.Context(), in.TokenHash, in.IdleFor))(t); !reflect.DeepEqual(got, want) {
		t.Errorf("session is %+v, want %+v", got, want)
	}
	_, err := s.Session(t.Context(), []byte("another"), in.IdleFor)
	wantErr(t, err, store.ErrNotFound)
}

func TestCreateSessionFaults(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	must(s.CreateSession(t.Context(), newSession(member, "token")))(t)
	_, err := s.CreateSession(t.Context(), newSession(member, "token"))
	wantErr(t, err, store.ErrConflict)
	_, err = s.CreateSession(t.Context(), newSession(store.Member{UserID: uuid.New()}, "other"))
	wantErr(t, err, store.ErrNotFound)
}

// Whether a session lives is decided by the database's clock, so the tests move the row's times and not the clock.
func TestSessionExpiry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, alter string
		idleFor     time.Duration
		alive       bool
	}{
		{"used an hour ago, idle time two hours", "seen_at = now() - interval '1 hour'", 2 * time.Hour, true},
		{"used three hours ago, idle time two hours", "seen_at = now() - interval '3 hours'", 2 * time.Hour, false},
		{"idle time lowered since", "seen_at = now() - interval '1 hour'", time.Minute, false},
		{"a second before its end", "expires_at = now() + interval '1 second'", time.Hour, true},
		{"at its end", "expires_at = now()", time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := storetest.URL(t)
			s := storetest.Open(t, store.Config{URL: url})
			must(s.CreateSession(t.Context(), newSession(ensure(t, s, alice()), "token")))(t)
			execute(t, url, "UPDATE sessions SET "+tt.alter)
			session, err := s.Session(t.Context(), []byte("token"), tt.idleFor)
			if alive := err == nil; alive != tt.alive {
				t.Errorf("session alive: %t (%v), want %t", alive, err, tt.alive)
			}
			if tt.alive && session.IdleExpiresAt.After(session.ExpiresAt) {
				t.Errorf("idle expiry %s is after the session's end %s", session.IdleExpiresAt, session.ExpiresAt)
			}
		})
	}
}

func TestSessionNotesItsUseOnceAMinute(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, seen string
		idleFor    time.Duration
		written    bool
	}{
		{"used just now", "0 seconds", time.Hour, false},
		{"used 50 seconds ago", "50 seconds", time.Hour, false},
		{"used 70 seconds ago", "70 seconds", time.Hour, true},
		{"used 50 seconds ago, idle time 90", "50 seconds", 90 * time.Second, true},
		{"used 40 seconds ago, idle time 90", "40 seconds", 90 * time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := storetest.URL(t)
			s := storetest.Open(t, store.Config{URL: url})
			must(s.CreateSession(t.Context(), newSession(ensure(t, s, alice()), "token")))(t)
			execute(t, url, "UPDATE sessions SET seen_at = now() - $1::text::interval", tt.seen)
			before := scalar[time.Time](t, url, "SELECT seen_at FROM sessions")
			session := must(s.Session(t.Context(), []byte("token"), tt.idleFor))(t)
			after := scalar[time.Time](t, url, "SELECT seen_at FROM sessions")
			if written := after.After(before); written != tt.written {
				t.Errorf("use noted: %t, want %t", written, tt.written)
			}
			if want := after.Add(tt.idleFor); !session.IdleExpiresAt.Equal(want) {
				t.Errorf("idle expiry is %s, want %s", session.IdleExpiresAt, want)
			}
		})
	}
}

func TestRotateSession(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	made := must(s.CreateSession(t.Context(), newSession(ensure(t, s, alice()), "one")))(t)
	rotate := func(from, to string) error {
		return s.RotateSession(t.Context(), made.ID, []byte(from), []byte(to), 30*time.Second)
	}
	finds := func(token string) bool {
		session, err := s.Session(t.Context(), []byte(token), time.Hour)
		return err == nil && session.ID == made.ID
	}
	if err := rotate("one", "two"); err != nil {
		t.Fatal(err)
	}
	if !finds("one") || !finds("two") {
		t.Error("within the grace both tokens must find the session")
	}
	wantErr(t, rotate("one", "three"), store.ErrConflict)
	execute(t, url, "UPDATE sessions SET previous_until = now() - interval '1 second'")
	if finds("one") || !finds("two") {
		t.Error("after the grace only the new token must find the session")
	}
	wantErr(t, rotate("one", "three"), store.ErrNotFound)
	if err := rotate("two", "three"); err != nil {
		t.Fatal(err)
	}
	if finds("one") || !finds("two") || !finds("three") {
		t.Error("after a second rotation the first token must be forgotten")
	}
	execute(t, url, "UPDATE sessions SET expires_at = now()")
	wantErr(t, rotate("three", "four"), store.ErrNotFound)
}

func TestRotateSessionAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	made := must(s.CreateSession(t.Context(), newSession(ensure(t, s, alice()), "old")))(t)
	_, errs := together(4, func(i int) (struct{}, error) {
		return struct{}{}, s.RotateSession(t.Context(), made.ID, []byte("old"), []byte{byte(i)}, time.Minute)
	})
	for i, err := range errs {
		_, lost := s.Session(t.Context(), []byte{byte(i)}, time.Hour)
		if (err == nil) != (lost == nil) {
			t.Errorf("rotation %d ended with %v, its token with %v", i, err, lost)
		}
		if err != nil {
			wantErr(t, err, store.ErrConflict)
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d tabs rotated one token", n)
	}
}

func TestDeleteSessions(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member, other := ensure(t, s, alice()), ensure(t, s, dave())
	one := must(s.CreateSession(t.Context(), newSession(member, "one")))(t)
	must(s.CreateSession(t.Context(), newSession(member, "two")))(t)
	must(s.CreateSession(t.Context(), newSession(member, "three")))(t)
	must(s.CreateSession(t.Context(), newSession(other, "other")))(t)
	live := func() string {
		var tokens bytes.Buffer
		for _, token := range []string{"one", "two", "three", "other"} {
			if _, err := s.Session(t.Context(), []byte(token), time.Hour); err == nil {
				tokens.WriteString(token + " ")
			}
		}
		return tokens.String()
	}
	if err := s.DeleteSession(t.Context(), one.ID); err != nil {
		t.Fatal(err)
	}
	if got := live(); got != "two three other " {
		t.Errorf("live sessions: %s", got)
	}
	wantErr(t, s.DeleteSession(t.Context(), one.ID), store.ErrNotFound)
	for range 2 {
		if err := s.DeleteSessionsOf(t.Context(), member.UserID); err != nil {
			t.Fatal(err)
		}
	}
	if got := live(); got != "other " {
		t.Errorf("live sessions: %s", got)
	}
}

func TestExpiredSessionsArePruned(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	must(s.CreateSession(t.Context(), newSession(member, "old")))(t)
	execute(t, url, "UPDATE sessions SET expires_at = now()")
	must(s.CreateSession(t.Context(), newSession(member, "new")))(t)
	if n := scalar[int](t, url, "SELECT count(*) FROM sessions"); n != 1 {
		t.Errorf("%d sessions are kept, want the live one alone", n)
	}
}

package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

const issuer = "https://issuer.example"

// alice is the identity that most tests sign in.
func alice() store.Identity {
	return store.Identity{
		Issuer: issuer, Subject: "alice", OrgClaim: "acme", OrgName: "Acme", Email: "alice@acme.example", Name: "Alice",
	}
}

// dave belongs to no organisation of others.
func dave() store.Identity {
	return store.Identity{Issuer: issuer, Subject: "dave", Personal: true, Name: "Dave"}
}

func ensure(t *testing.T, s *store.Store, id store.Identity) store.Member {
	t.Helper()
	return must(s.EnsureUser(t.Context(), id))(t)
}

// must is a value whose error ends the test: must(call())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

// together runs n calls at once and returns what each returned.
func together[T any](n int, call func(i int) (T, error)) ([]T, []error) {
	values, errs := make([]T, n), make([]error, n)
	var begin, done sync.WaitGroup
	begin.Add(1)
	for i := range n {
		done.Go(func() {
			begin.Wait()
			values[i], errs[i] = call(i)
		})
	}
	begin.Done()
	done.Wait()
	return values, errs
}

func succeeded(errs []error) int {
	return len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil }))
}

func TestPing(t *testing.T) {
	t.Parallel()
	if err := storetest.New(t).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAnUnusableURL(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]store.Config{
		"URL":        {URL: "postgres://user:hunter2@host:nonsense/db"},
		"direct URL": {URL: "postgres://host/db", DirectURL: "postgres://user:hunter2@host:nonsense/db"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.Open(t.Context(), cfg)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error is %v, want one without the password", err)
			}
		})
	}
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Config{URL: "postgres://postgres@" + address + "/postgres"})
	calls := map[string]func() error{
		"Ping":    func() error { return s.Ping(t.Context()) },
		"Migrate": func() error { return s.Migrate(t.Context()) },
		"Schema": func() error {
			_, err := s.Schema(t.Context())
			return err
		},
		"EnsureUser": func() error {
			_, err := s.EnsureUser(t.Context(), alice())
			return err
		},
		"DeleteUser": func() error { return s.DeleteUser(t.Context(), uuid.New()) },
		"Session": func() error {
			_, err := s.Session(t.Context(), []byte("x"), time.Hour)
			return err
		},
		"TakeCharges": func() error {
			_, err := s.TakeCharges(t.Context(), nil, []store.Charge{{Key: make([]byte, 16), Kind: store.SlidingWindow, Limit: 1, Cost: 1, Span: time.Hour}})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantErr(t, call(), store.ErrUnavailable)
		})
	}
}

// A server that takes the connection and then says nothing must not hold a caller beyond its own patience.
func TestSilentDatabase(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	s := storetest.Open(t, store.Config{URL: "postgres://postgres@" + listener.Addr().String() + "/postgres?sslmode=disable"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Organisation(ctx, uuid.New())
	wantErr(t, err, store.ErrUnavailable)
	wantErr(t, err, context.DeadlineExceeded)
}

func TestCallerWhoHangsUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := storetest.New(t).Organisation(ctx, uuid.New())
	wantErr(t, err, context.Canceled)
	if errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error is %v: a caller who hung up does not make the database unavailable", err)
	}
}

func TestMissingDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{URL: strings.Replace(storetest.EmptyURL(t), "/test_", "/missing_", 1)})
	wantErr(t, s.Ping(t.Context()), store.ErrUnavailable)
}

// Through a pooler in transaction mode each statement may meet another connection.
func TestDirectURL(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyURL(t)
	s := storetest.Open(t, store.Config{URL: url, DirectURL: url})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"one", "two"} {
		member := ensure(t, s, alice())
		must(s.CreateSession(t.Context(), newSession(member, token)))(t)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ended []string
	trace := func(ctx context.Context, statement string) (context.Context, func(error)) {
		return ctx, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				statement += " failed"
			}
			ended = append(ended, statement)
		}
	}
	s := storetest.Open(t, store.Config{URL: storetest.URL(t), Trace: trace})
	ensure(t, s, alice())
	bad := alice()
	bad.Subject, bad.Name = "bob", "a\x00b"
	if _, err := s.EnsureUser(t.Context(), bad); err == nil {
		t.Fatal("a name was kept that the database cannot hold")
	}
	// A transaction begins and ends with statements that have no name of their own.
	want := []string{
		"FindMember", "statement", "LockIdentity", "ForgottenPerson", "UpsertMember", "statement",
		"FindMember", "statement", "LockIdentity", "ForgottenPerson", "UpsertMember failed", "statement",
	}
	if !slices.Equal(ended, want) {
		t.Errorf("statements traced: %q, want %q", ended, want)
	}
}

// What is wrong with a login is told from a database that does not answer.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"28P01": "password", "28000": "may not log in", "3D000": "no such database", "57P03": "", "23505": "",
	} {
		why := store.Refusal(fmt.Errorf("ping database: %w", &pgconn.PgError{Code: code}))
		if want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%s is %q, want %q", code, why, want)
		}
	}
	if why := store.Refusal(store.ErrUnavailable); why != "" {
		t.Errorf("no answer is %q", why)
	}
}

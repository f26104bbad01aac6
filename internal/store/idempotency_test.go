package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func keyOf(m store.Member, text string) store.Key {
	return store.Key{UserID: m.UserID, Route: "tasks.create", Text: text, Fingerprint: []byte("one"), KeepFor: time.Hour}
}

func claim(t *testing.T, s *store.Store, key store.Key) *store.Claim {
	t.Helper()
	c, kept, err := s.ClaimKey(t.Context(), key)
	if c == nil || kept != nil || err != nil {
		t.Fatalf("claimed %v, kept %v, %v", c, kept, err)
	}
	return c
}

func answerOf(task store.Task) (store.Answer, error) {
	return store.Answer{Status: 201, Location: "/" + task.ID.String(), ContentType: "application/json", Body: []byte(task.Title)}, nil
}

func TestClaimKey(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	key := keyOf(member, "k")
	c := claim(t, s, key)
	_, _, err := s.ClaimKey(t.Context(), key)
	wantErr(t, err, store.ErrKeyAtWork)
	other := key
	other.Fingerprint = []byte("two")
	_, _, err = s.ClaimKey(t.Context(), other)
	wantErr(t, err, store.ErrKeyReused)

	answer := store.Answer{Status: 200, ContentType: "application/json", Body: []byte{0, 255, '"'}}
	if err := s.KeepAnswer(t.Context(), c, answer); err != nil {
		t.Fatal(err)
	}
	// What has been kept stays, whatever its claim is told.
	if err := errors.Join(s.ReleaseKey(t.Context(), c), s.KeepAnswer(t.Context(), c, store.Answer{Status: 500})); err != nil {
		t.Error(err)
	}
	again, kept, err := s.ClaimKey(t.Context(), key)
	if again != nil || err != nil || kept.Status != 200 || kept.Location != "" || !bytes.Equal(kept.Body, answer.Body) {
		t.Errorf("claimed %v, kept %+v, %v", again, kept, err)
	}
	_, _, err = s.ClaimKey(t.Context(), other)
	wantErr(t, err, store.ErrKeyReused)

	// Another route, another person and another key are other keys.
	other.Route = "reports.create"
	claim(t, s, other)
	claim(t, s, keyOf(ensure(t, s, dave()), "k"))
	claim(t, s, keyOf(member, "K"))
	_, _, err = s.ClaimKey(t.Context(), store.Key{UserID: uuid.New(), Route: "r", Text: "k", Fingerprint: []byte("x")})
	wantErr(t, err, store.ErrNotFound)
}

func TestAReleasedKeyIsNew(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	key := keyOf(ensure(t, s, alice()), "k")
	if err := s.ReleaseKey(t.Context(), claim(t, s, key)); err != nil {
		t.Fatal(err)
	}
	key.Fingerprint = []byte("another")
	claim(t, s, key)
}

func TestAWriteKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	key := keyOf(member, "k")
	in := newTask(member)
	in.Keep = &store.Keep[store.Task]{Claim: claim(t, s, key), Answer: answerOf}
	task := must(s.CreateTask(t.Context(), in))(t)
	_, kept, err := s.ClaimKey(t.Context(), key)
	if err != nil || kept == nil || kept.Location != "/"+task.ID.String() || kept.Status != 201 || string(kept.Body) != task.Title {
		t.Errorf("kept %+v, %v", kept, err)
	}
	report := store.NewReport{OrgID: member.OrgID, TaskID: task.ID, UserID: member.UserID, Reason: "spam"}
	key.Route = "reports.create"
	report.Keep = &store.Keep[store.Report]{Claim: claim(t, s, key), Answer: func(r store.Report) (store.Answer, error) {
		return store.Answer{Status: 201, Body: []byte(r.Reason)}, nil
	}}
	must(s.CreateReport(t.Context(), report))(t)
	if _, kept, err := s.ClaimKey(t.Context(), key); err != nil || kept == nil || string(kept.Body) != "spam" {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// A request that was given up on and comes back late finds its key with another, and writes nothing.
func TestALateWriteIsUndone(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	key := keyOf(member, "k")
	late := claim(t, s, key)
	execute(t, url, "UPDATE idempotency_keys SET expires_at = clock_timestamp()")
	in := newTask(member)
	in.Keep = &store.Keep[store.Task]{Claim: claim(t, s, key), Answer: answerOf}
	must(s.CreateTask(t.Context(), in))(t)

	in.Keep = &store.Keep[store.Task]{Claim: late, Answer: answerOf}
	_, err := s.CreateTask(t.Context(), in)
	wantErr(t, err, store.ErrKeyAtWork)
	wantErr(t, s.KeepAnswer(t.Context(), late, store.Answer{Status: 200}), store.ErrKeyAtWork)
	if err := s.ReleaseKey(t.Context(), late); err != nil {
		t.Error(err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM tasks"); n != 1 {
		t.Errorf("there are %d tasks, want 1", n)
	}
	if _, kept, err := s.ClaimKey(t.Context(), key); kept == nil || err != nil {
		t.Errorf("the answer in time is gone: %v", err)
	}
}

// A write that fails keeps nothing, nor does one whose answer cannot be made.
func TestAFailedWriteKeepsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	broken := errors.New("cannot be encoded")
	in := newTask(member)
	in.Keep = &store.Keep[store.Task]{Claim: claim(t, s, keyOf(member, "k")), Answer: func(store.Task) (store.Answer, error) {
		return store.Answer{}, broken
	}}
	_, err := s.CreateTask(t.Context(), in)
	wantErr(t, err, broken)
	in.Title, in.Keep.Answer = "\x00", answerOf
	_, err = s.CreateTask(t.Context(), in)
	wantErr(t, err, store.ErrInvalidText)
	if n := scalar[int](t, url, "SELECT count(*) FROM tasks"); n != 0 {
		t.Errorf("there are %d tasks", n)
	}
	if err := s.ReleaseKey(t.Context(), in.Keep.Claim); err != nil {
		t.Error(err)
	}
	claim(t, s, keyOf(member, "k"))
}

// What has expired is cleared away by those who come after, a few at a time, and with its owner.
func TestKeysArePruned(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	for _, text := range []string{"a", "b", "c"} {
		if err := s.KeepAnswer(t.Context(), claim(t, s, keyOf(member, text)), store.Answer{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, url, "UPDATE idempotency_keys SET expires_at = clock_timestamp() WHERE key <> 'c'")
	claim(t, s, keyOf(member, "d"))
	if keys := scalar[string](t, url, "SELECT string_agg(key, '' ORDER BY key) FROM idempotency_keys"); keys != "cd" {
		t.Errorf("the keys %q are left, want c and d", keys)
	}
	if err := s.DeleteUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM idempotency_keys"); n != 0 {
		t.Errorf("%d keys of somebody who was forgotten are left", n)
	}
}

// Of many who claim at once one gets the claim.
func TestOneOfManyClaims(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	key := keyOf(ensure(t, s, alice()), "k")
	claims, errs := together(10, func(int) (*store.Claim, error) {
		c, _, err := s.ClaimKey(t.Context(), key)
		return c, err
	})
	if succeeded(errs) != 1 {
		t.Errorf("%d claims: %v, %v", succeeded(errs), claims, errs)
	}
}

package auth

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func aRevocation(kind store.RevocationKind, id string, at time.Time) store.Revocation {
	return store.Revocation{Kind: kind, Key: store.KeyOf(testIssuerURL, id), UserID: uuid.New(), At: at, ExpiresAt: at.Add(25 * time.Hour)}
}

func TestRevokedTokens(t *testing.T) {
	t.Parallel()
	issued := start()
	tests := []struct {
		name    string
		revoked store.Revocation
		want    bool
	}{
		{"the token", aRevocation(store.RevokedToken, "token-1", issued), true},
		{"another token", aRevocation(store.RevokedToken, "token-2", issued), false},
		{"its session at the issuer", aRevocation(store.RevokedSession, "sid-1", issued), true},
		{"another session", aRevocation(store.RevokedSession, "sid-2", issued), false},
		{"its user later", aRevocation(store.RevokedUser, "alice", issued.Add(time.Hour)), true},
		{"its user in the same second", aRevocation(store.RevokedUser, "alice", issued.Add(999*time.Millisecond)), true},
		{"its user in the second before", aRevocation(store.RevokedUser, "alice", issued.Add(-time.Millisecond)), false},
		{"another user", aRevocation(store.RevokedUser, "bob", issued.Add(time.Hour)), false},
		{"a token named as its user", aRevocation(store.RevokedToken, "alice", issued), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAuth(t, goodConfig(newIssuer(t), newClock().Now))
			a.revocations.add(test.revoked, start())
			token := accessToken{id: "token-1", sid: "sid-1", identity: store.Identity{Subject: "alice"}, issued: issued}
			if err := a.checkRevoked(token); errors.Is(err, ErrInvalid) != test.want {
				t.Errorf("got %v, want it refused %v", err, test.want)
			}
		})
	}
}

// TestNoTokenBeforeRevocationsAreRead: a process that does not know what is revoked says neither yes nor no.
func TestNoTokenBeforeRevocationsAreRead(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	a := newAuth(t, goodConfig(i, newClock().Now))
	a.revocations = revocations{}
	a.revocations.add(aRevocation(store.RevokedToken, "other", start()), start())
	if err := present(t, a, i.sign(t, "at+jwt", goodClaims())); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrUnavailable alone", err)
	}
}

// TestRevocationsTellWhoseTheyAre: each process forgets what it remembered of the user's credentials, once.
func TestRevocationsTellWhoseTheyAre(t *testing.T) {
	t.Parallel()
	var r revocations
	one, two := aRevocation(store.RevokedUser, "alice", start()), aRevocation(store.RevokedToken, "t", start())
	if got := r.replace([]store.Revocation{one}); !slices.Equal(got, []uuid.UUID{one.UserID}) {
		t.Errorf("the first reading tells of %v", got)
	}
	if got := r.replace([]store.Revocation{one, two}); !slices.Equal(got, []uuid.UUID{two.UserID}) {
		t.Errorf("a later reading tells of %v, want what is new in it", got)
	}
	one.At = one.At.Add(time.Minute)
	if got := r.replace([]store.Revocation{one, two}); !slices.Equal(got, []uuid.UUID{one.UserID}) {
		t.Errorf("a reading with a later one tells of %v", got)
	}
	if got := r.add(two, start()); !slices.Equal(got, []uuid.UUID{two.UserID}) {
		t.Errorf("a change tells of %v", got)
	}
}

func TestRevocationsAreForgotten(t *testing.T) {
	t.Parallel()
	var r revocations
	r.replace(nil)
	old, later := aRevocation(store.RevokedToken, "old", start()), aRevocation(store.RevokedToken, "later", start().Add(26*time.Hour))
	r.add(old, start())
	r.add(later, start().Add(26*time.Hour))
	if _, there := r.all[revocationID{old.Kind, old.Key}]; there || len(r.all) != 1 {
		t.Errorf("%d are kept, want the later one alone", len(r.all))
	}
}

// TestRevocationSurvivesARestart: what one process revoked, another that starts later refuses.
func TestRevocationSurvivesARestart(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	token := b.bearer(t, "alice")
	if _, err := b.auth.Logout(t.Context(), token, false); err != nil {
		t.Fatal(err)
	}
	b.start(t, b.auth.cfg)
	b.wantRefused(t, map[string]Credential{"the token after a restart": token}, true)
	if !b.auth.Current(t.Context()) {
		t.Error("not current while following")
	}
}

func TestCurrentWithoutTheFeed(t *testing.T) {
	t.Parallel()
	a, err := New(goodConfig(newIssuer(t), nil), storetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	if a.Current(t.Context()) {
		t.Error("current though nothing is followed")
	}
}

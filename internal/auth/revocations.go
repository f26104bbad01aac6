package auth

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// currentWithin is how old the knowledge of what is revoked may be where that matters most: on admin routes.
const currentWithin = time.Second

// Current says whether this process knows of every revocation of more than a second ago. While it does not, admin routes
// answer 503; the others go on with what is known. It may wait for as long as one call of the database.
func (a *Auth) Current(ctx context.Context) bool { return a.store.UpToDate(ctx, currentWithin) }

// Apply takes in what store.Follow tells: revocations, and at its beginning all of them.
func (a *Auth) Apply(ctx context.Context, changes []store.Change) error {
	for _, c := range changes {
		switch c.Kind {
		case store.ChangedAnything:
			all, err := a.store.Revocations(ctx)
			if err != nil {
				return err
			}
			a.tellRevoked(a.revocations.replace(all))
		case store.ChangedRevocations:
			one, err := store.ReadRevocation(c.Subject)
			if err != nil {
				return err
			}
			a.tellRevoked(a.revocations.add(one, a.cfg.Now()))
		}
	}
	return nil
}

func (a *Auth) tellRevoked(users []uuid.UUID) {
	for _, user := range users {
		if a.cfg.Hooks.Revoked != nil && user != uuid.Nil {
			a.cfg.Hooks.Revoked(user)
		}
	}
}

// checkRevoked refuses a token that was revoked by its jti, with its session at the issuer, or with all of its user's.
func (a *Auth) checkRevoked(t accessToken) error {
	now, ok := a.revocations.find(
		revocationID{store.RevokedToken, store.KeyOf(a.cfg.Issuer, t.id)},
		revocationID{store.RevokedSession, store.KeyOf(a.cfg.Issuer, t.sid)},
		revocationID{store.RevokedUser, store.KeyOf(a.cfg.Issuer, t.identity.Subject)},
	)
	if !ok {
		return unavailable("check revocations", errUnread)
	}
	token, session, user := now[0], now[1], now[2]
	switch {
	case token != nil, session != nil && t.sid != "":
		return invalid("the token was revoked")
	case user != nil && !t.issued.After(user.At.Truncate(time.Second)):
		return invalid("the user's tokens were revoked after it was issued")
	}
	return nil
}

// revocations are those that this process knows of, for a look at each token without asking anybody.
type revocations struct {
	mu sync.RWMutex
	// all is nil until they were read for the first time.
	all   map[revocationID]store.Revocation
	swept time.Time
}

type revocationID struct {
	kind store.RevocationKind
	key  store.RevocationKey
}

// sweepEvery is how often what has expired is forgotten; each costs about 150 bytes until then.
const sweepEvery = time.Hour

// find looks several up at one moment, nil for one that is not there; false while nothing was read yet.
func (r *revocations) find(ids ...revocationID) ([]*store.Revocation, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := make([]*store.Revocation, len(ids))
	for i, id := range ids {
		if one, ok := r.all[id]; ok {
			found[i] = &one
		}
	}
	return found, r.all != nil
}

// add takes in one more, and returns whose it is.
func (r *revocations) add(one store.Revocation, now time.Time) []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		return nil // All are to be read first, this one among them.
	}
	id := revocationID{one.Kind, one.Key}
	if known, ok := r.all[id]; !ok || known.At.Before(one.At) {
		r.all[id] = one
	}
	if now.Sub(r.swept) > sweepEvery {
		r.swept = now
		maps.DeleteFunc(r.all, func(_ revocationID, one store.Revocation) bool { return one.ExpiresAt.Before(now) })
	}
	return []uuid.UUID{one.UserID}
}

// replace takes in all there are, and returns whose those are that were not known.
func (r *revocations) replace(all []store.Revocation) []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.all
	r.all = make(map[revocationID]store.Revocation, len(all))
	var users []uuid.UUID
	for _, one := range all {
		id := revocationID{one.Kind, one.Key}
		r.all[id] = one
		if known, ok := before[id]; !ok || known.At.Before(one.At) {
			users = append(users, one.UserID)
		}
	}
	return users
}

package auth

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// KnownConfig is how a Known is set up. Zero fields take the defaults.
type KnownConfig struct {
	// Secret keys the hash of credentials. Empty: random, which is best, since the table does not outlive the process.
	Secret []byte
	// Cap is the most credentials that are remembered (0: 65 536, about 20 MB); the least recently used are forgotten first.
	Cap int
	// PerUser is the most credentials of one user (0: 16); their own least recently used are forgotten first, so that
	// nobody crowds others out.
	PerUser int
	// Idle is how long an unused credential is remembered (0: 1 h).
	Idle time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// A Known remembers which credentials authenticated in this process and whose they are: returning callers. It does no
// I/O and decides nothing but which budget a request is charged to; authentication still runs. It keeps keyed hashes,
// so that nobody can make up a credential that collides with another's. It is safe for concurrent use.
type Known struct {
	cfg    KnownConfig
	hashes sync.Pool

	mu     sync.Mutex
	byHash map[credentialHash]*knownEntry
	byUser map[uuid.UUID][]*knownEntry
	// recent is the ring of entries by last use: its next is the latest, its previous the one that is idle longest.
	recent knownEntry
}

// A credentialHash is HMAC-SHA-256 cut to 128 bits.
type credentialHash [16]byte

type knownEntry struct {
	hash       credentialHash
	user       uuid.UUID
	used       time.Time
	expires    time.Time
	next, prev *knownEntry
}

// NewKnown makes an empty table.
func NewKnown(cfg KnownConfig) *Known {
	cfg.Cap, cfg.PerUser = cmp.Or(cfg.Cap, 1<<16), cmp.Or(cfg.PerUser, 16)
	cfg.Idle = cmp.Or(cfg.Idle, time.Hour)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Secret) == 0 {
		cfg.Secret = make([]byte, 32)
		rand.Read(cfg.Secret) // never fails: it ends the process instead
	}
	k := &Known{cfg: cfg, byHash: map[credentialHash]*knownEntry{}, byUser: map[uuid.UUID][]*knownEntry{}}
	k.recent.next, k.recent.prev = &k.recent, &k.recent
	k.hashes.New = func() any { return &hasher{mac: hmac.New(sha256.New, cfg.Secret)} }
	return k
}

// User says whose credential it is, if it is known, and counts as a use.
func (k *Known) User(c Credential) (uuid.UUID, bool) {
	key, ok := k.hash(c)
	if !ok {
		return uuid.UUID{}, false
	}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byHash[key]
	if !ok {
		return uuid.UUID{}, false
	}
	if k.over(e, now) {
		k.forget(e)
		return uuid.UUID{}, false
	}
	k.touch(e, now)
	return e.user, true
}

// Add remembers a credential that has just authenticated as user, until expires. A known one is counted as used and
// takes the new expiry. A credential that cannot authenticate is not remembered.
func (k *Known) Add(c Credential, user uuid.UUID, expires time.Time) {
	key, ok := k.hash(c)
	now := k.cfg.Now()
	if !ok || !expires.After(now) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.byHash[key]; ok {
		if e.user == user {
			e.expires = expires
			k.touch(e, now)
			return
		}
		k.forget(e)
	}
	k.makeRoom(user, now)
	k.insert(&knownEntry{hash: key, user: user, used: now, expires: expires})
}

// Remove forgets a credential: it was refused, or its session ended.
func (k *Known) Remove(c Credential) {
	key, ok := k.hash(c)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.byHash[key]; ok {
		k.forget(e)
	}
}

// RemoveUser forgets all credentials of a user.
func (k *Known) RemoveUser(user uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range slices.Clone(k.byUser[user]) {
		k.forget(e)
	}
}

// Len is how many credentials are remembered, those that are over but not yet noticed included.
func (k *Known) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byHash)
}

// makeRoom forgets what is idle, then what is over the user's share, then what is over the cap.
func (k *Known) makeRoom(user uuid.UUID, now time.Time) {
	for k.recent.prev != &k.recent && k.over(k.recent.prev, now) {
		k.forget(k.recent.prev)
	}
	if own := k.byUser[user]; len(own) >= k.cfg.PerUser {
		k.forget(slices.MinFunc(own, func(a, b *knownEntry) int { return a.used.Compare(b.used) }))
	}
	if len(k.byHash) >= k.cfg.Cap {
		k.forget(k.recent.prev)
	}
}

func (k *Known) over(e *knownEntry, now time.Time) bool {
	return now.Sub(e.used) >= k.cfg.Idle || !now.Before(e.expires)
}

func (k *Known) insert(e *knownEntry) {
	k.byHash[e.hash] = e
	k.byUser[e.user] = append(k.byUser[e.user], e)
	k.link(e)
}

func (k *Known) touch(e *knownEntry, now time.Time) {
	e.used = now
	e.unlink()
	k.link(e)
}

func (k *Known) forget(e *knownEntry) {
	e.unlink()
	delete(k.byHash, e.hash)
	own := slices.DeleteFunc(k.byUser[e.user], func(other *knownEntry) bool { return other == e })
	if len(own) == 0 {
		delete(k.byUser, e.user)
		return
	}
	k.byUser[e.user] = own
}

// link puts an entry at the latest end of the ring.
func (k *Known) link(e *knownEntry) {
	e.prev, e.next = &k.recent, k.recent.next
	e.prev.next, e.next.prev = e, e
}

func (e *knownEntry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}

// A hasher is an HMAC with room for its input and result, pooled because each request needs one.
type hasher struct {
	mac hash.Hash
	buf [1 + maxToken]byte
	sum [sha256.Size]byte
}

// hash keys a credential; false if it cannot authenticate. The kind is part of what is hashed.
func (k *Known) hash(c Credential) (credentialHash, bool) {
	if c.Kind != Session && c.Kind != Bearer {
		return credentialHash{}, false
	}
	h := k.hashes.Get().(*hasher) //nolint:forcetypeassert // the pool's New makes nothing else
	defer k.hashes.Put(h)
	h.mac.Reset()
	h.mac.Write(append(append(h.buf[:0], byte(c.Kind)), c.token...))
	return credentialHash(h.mac.Sum(h.sum[:0])[:16]), true
}

package auth

import (
	"cmp"
	"container/list"
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
	byHash map[credentialHash]*list.Element
	byUser map[uuid.UUID][]*list.Element
	// recent orders the entries by last use, latest in front, so that what is idle is at the back.
	recent list.List
}

// A credentialHash is HMAC-SHA-256 cut to 128 bits.
type credentialHash [16]byte

type knownEntry struct {
	hash    credentialHash
	user    uuid.UUID
	used    time.Time
	expires time.Time
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
	k := &Known{cfg: cfg, byHash: map[credentialHash]*list.Element{}, byUser: map[uuid.UUID][]*list.Element{}}
	k.hashes.New = func() any { return &hasher{mac: hmac.New(sha256.New, cfg.Secret)} }
	return k
}

// User says whose credential it is, if it is known, and counts as a use.
func (k *Known) User(c Credential) (uuid.UUID, bool) {
	hash, ok := k.hash(c)
	if !ok {
		return uuid.UUID{}, false
	}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	element, ok := k.byHash[hash]
	if !ok {
		return uuid.UUID{}, false
	}
	entry := element.Value.(*knownEntry)
	if k.over(entry, now) {
		k.forget(element)
		return uuid.UUID{}, false
	}
	k.touch(element, now)
	return entry.user, true
}

// Add remembers a credential that has just authenticated as user, until expires. A known one is counted as used and
// takes the new expiry. A credential that cannot authenticate is not remembered.
func (k *Known) Add(c Credential, user uuid.UUID, expires time.Time) {
	hash, ok := k.hash(c)
	now := k.cfg.Now()
	if !ok || !expires.After(now) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, ok := k.byHash[hash]; ok {
		if entry := element.Value.(*knownEntry); entry.user == user {
			entry.expires = expires
			k.touch(element, now)
			return
		}
		k.forget(element)
	}
	k.makeRoom(user, now)
	element := k.recent.PushFront(&knownEntry{hash: hash, user: user, used: now, expires: expires})
	k.byHash[hash] = element
	k.byUser[user] = append(k.byUser[user], element)
}

// Remove forgets a credential: it was refused, or its session ended.
func (k *Known) Remove(c Credential) {
	hash, ok := k.hash(c)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, ok := k.byHash[hash]; ok {
		k.forget(element)
	}
}

// RemoveUser forgets all credentials of a user.
func (k *Known) RemoveUser(user uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, element := range slices.Clone(k.byUser[user]) {
		k.forget(element)
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
	for back := k.recent.Back(); back != nil && k.over(back.Value.(*knownEntry), now); back = k.recent.Back() {
		k.forget(back)
	}
	if own := k.byUser[user]; len(own) >= k.cfg.PerUser {
		k.forget(slices.MinFunc(own, func(a, b *list.Element) int {
			return a.Value.(*knownEntry).used.Compare(b.Value.(*knownEntry).used)
		}))
	}
	if len(k.byHash) >= k.cfg.Cap {
		k.forget(k.recent.Back())
	}
}

func (k *Known) over(e *knownEntry, now time.Time) bool {
	return now.Sub(e.used) >= k.cfg.Idle || !now.Before(e.expires)
}

func (k *Known) touch(element *list.Element, now time.Time) {
	element.Value.(*knownEntry).used = now
	k.recent.MoveToFront(element)
}

func (k *Known) forget(element *list.Element) {
	entry := k.recent.Remove(element).(*knownEntry)
	delete(k.byHash, entry.hash)
	own := slices.DeleteFunc(k.byUser[entry.user], func(e *list.Element) bool { return e == element })
	if len(own) == 0 {
		delete(k.byUser, entry.user)
		return
	}
	k.byUser[entry.user] = own
}

// A hasher is an HMAC with room for its result, pooled because each request needs one.
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
	h := k.hashes.Get().(*hasher)
	defer k.hashes.Put(h)
	h.mac.Reset()
	h.mac.Write(append(append(h.buf[:0], byte(c.Kind)), c.token...))
	return credentialHash(h.mac.Sum(h.sum[:0])[:16]), true
}

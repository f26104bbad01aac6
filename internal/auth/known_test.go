package auth

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func credentialNumber(n int) Credential {
	return Credential{Kind: Bearer, token: fmt.Sprintf("aa.bb.%d", n)}
}

func userNumber(n byte) uuid.UUID { return uuid.UUID{15: n} }

// inOrder counts the ring of entries, both ways.
func inOrder(k *Known) int {
	forward, back := 0, 0
	for e := k.recent.next; e != &k.recent; e = e.next {
		forward++
	}
	for e := k.recent.prev; e != &k.recent; e = e.prev {
		back++
	}
	if forward != back {
		return -1
	}
	return forward
}

func TestKnownForgets(t *testing.T) {
	t.Parallel()
	one, user := credentialNumber(1), userNumber(1)
	tests := []struct {
		name string
		then func(*Known, *clock)
		want bool
	}{
		{"nothing happened", func(*Known, *clock) {}, true},
		{"just under an hour unused", func(_ *Known, c *clock) { c.Advance(time.Hour - 1) }, true},
		{"an hour unused", func(_ *Known, c *clock) { c.Advance(time.Hour) }, false},
		{"used each half hour", func(k *Known, c *clock) {
			for range 5 {
				c.Advance(30 * time.Minute)
				k.User(one)
			}
		}, true},
		{"expired", func(k *Known, c *clock) {
			for range 12 {
				c.Advance(30 * time.Minute)
				k.User(one)
			}
		}, false},
		{"refused", func(k *Known, _ *clock) { k.Remove(one) }, false},
		{"another was refused", func(k *Known, _ *clock) { k.Remove(credentialNumber(2)) }, true},
		{"user revoked", func(k *Known, _ *clock) { k.RemoveUser(user) }, false},
		{"another user revoked", func(k *Known, _ *clock) { k.RemoveUser(userNumber(2)) }, true},
		{"expiry moved on", func(k *Known, c *clock) {
			for range 12 {
				c.Advance(30 * time.Minute)
				k.Add(one, user, c.Now().Add(6*time.Hour))
			}
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			k := NewKnown(KnownConfig{Now: c.Now})
			k.Add(one, user, c.Now().Add(6*time.Hour))
			test.then(k, c)
			got, ok := k.User(one)
			if ok != test.want || (ok && got != user) {
				t.Errorf("known: %v (%v), want %v", ok, got, test.want)
			}
			if want := map[bool]int{true: 1}[test.want]; k.Len() != want || len(k.byUser) != want || inOrder(k) != want {
				t.Errorf("the table holds %d credentials, %d users, %d in order", k.Len(), len(k.byUser), inOrder(k))
			}
		})
	}
}

func TestKnownTakesOnlyWhatCanAuthenticate(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := NewKnown(KnownConfig{Now: c.Now})
	k.Add(Credential{}, userNumber(1), c.Now().Add(time.Hour))
	k.Add(Credential{Kind: Malformed, token: "x"}, userNumber(1), c.Now().Add(time.Hour))
	k.Add(credentialNumber(1), userNumber(1), c.Now())
	if k.Len() != 0 {
		t.Errorf("%d credentials remembered, want none", k.Len())
	}
	if _, ok := k.User(Credential{}); ok {
		t.Error("no credential is known")
	}
}

// TestKnownTellsKindsApart: a cookie's token is not known as a bearer token.
func TestKnownTellsKindsApart(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := NewKnown(KnownConfig{Now: c.Now})
	k.Add(Credential{Kind: Session, token: "x"}, userNumber(1), c.Now().Add(time.Hour))
	if _, ok := k.User(Credential{Kind: Bearer, token: "x"}); ok {
		t.Error("known under another kind")
	}
}

// TestKnownHashIsKeyed: two tables hash alike only with one secret.
func TestKnownHashIsKeyed(t *testing.T) {
	t.Parallel()
	hash := func(secret string) credentialHash {
		h, _ := NewKnown(KnownConfig{Secret: []byte(secret)}).hash(credentialNumber(1))
		return h
	}
	same, again, other := hash("a"), hash("a"), hash("b")
	random, another := hash(""), hash("")
	if same != again || same == other || random == another {
		t.Error("the hash does not depend on the secret alone")
	}
}

func TestKnownCrowdsNobodyOut(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := NewKnown(KnownConfig{Now: c.Now})
	expires := c.Now().Add(24 * time.Hour)
	k.Add(credentialNumber(0), userNumber(1), expires)
	for n := range 50 {
		c.Advance(time.Second)
		k.Add(credentialNumber(100+n), userNumber(2), expires)
	}
	if _, ok := k.User(credentialNumber(0)); !ok {
		t.Error("one user's 50 credentials pushed another's out")
	}
	for n := range 50 {
		if _, ok := k.User(credentialNumber(100 + n)); ok != (n >= 34) {
			t.Errorf("credential %d of 50 known: %v; want the last 16", n, ok)
		}
	}
}

func TestKnownIsBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := NewKnown(KnownConfig{Now: c.Now, Cap: 100})
	for n := range 1000 {
		c.Advance(time.Millisecond)
		k.Add(credentialNumber(n), userNumber(byte(n%200)), c.Now().Add(time.Hour))
		k.User(credentialNumber(0))
	}
	if k.Len() != 100 {
		t.Errorf("%d credentials, want 100", k.Len())
	}
	if _, ok := k.User(credentialNumber(0)); !ok {
		t.Error("the one in use was forgotten before those that are not")
	}
}

// A knownModel says the same as Known, as plainly as it can: what is known is what was added, not removed, not over,
// and neither crowded out.
type knownModel struct {
	entries []modelEntry // least recently used first
	perUser int
	cap     int
}

type modelEntry struct {
	credential int
	user       byte
	used       time.Time
	expires    time.Time
}

func (m *knownModel) drop(keep func(int, modelEntry) bool) {
	var kept []modelEntry
	for i, e := range m.entries {
		if keep(i, e) {
			kept = append(kept, e)
		}
	}
	m.entries = kept
}

func (m *knownModel) add(e modelEntry) {
	m.drop(func(_ int, old modelEntry) bool {
		return old.credential != e.credential && e.used.Before(old.used.Add(time.Hour)) && e.used.Before(old.expires)
	})
	own, first := 0, -1
	for i, old := range m.entries {
		if old.user == e.user {
			if own++; first < 0 {
				first = i
			}
		}
	}
	if own >= m.perUser {
		m.drop(func(i int, _ modelEntry) bool { return i != first })
	}
	if len(m.entries) >= m.cap {
		m.entries = m.entries[1:]
	}
	m.entries = append(m.entries, e)
}

func (m *knownModel) user(credential int, now time.Time) (byte, bool) {
	for i, e := range m.entries {
		if e.credential != credential {
			continue
		}
		m.drop(func(at int, _ modelEntry) bool { return at != i })
		if !now.Before(e.used.Add(time.Hour)) || !now.Before(e.expires) {
			return 0, false
		}
		e.used = now
		m.entries = append(m.entries, e)
		return e.user, true
	}
	return 0, false
}

// TestKnownModel runs Known beside the model. The cap is out of reach: expired entries that were not noticed yet count
// against it in Known alone.
func TestKnownModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		k := NewKnown(KnownConfig{Now: c.Now, PerUser: 3})
		m := &knownModel{perUser: 3, cap: 1 << 16}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n, user := rapid.IntRange(0, 9).Draw(t, "credential"), rapid.ByteRange(0, 2).Draw(t, "user")
				c.Advance(1) // which of two uses at one instant came last is nobody's business
				expires := c.Now().Add(2 * time.Hour)
				k.Add(credentialNumber(n), userNumber(user), expires)
				m.add(modelEntry{n, user, c.Now(), expires})
			},
			"remove": func(t *rapid.T) {
				n := rapid.IntRange(0, 9).Draw(t, "credential")
				k.Remove(credentialNumber(n))
				m.drop(func(_ int, e modelEntry) bool { return e.credential != n })
			},
			"removeUser": func(t *rapid.T) {
				user := rapid.ByteRange(0, 2).Draw(t, "user")
				k.RemoveUser(userNumber(user))
				m.drop(func(_ int, e modelEntry) bool { return e.user != user })
			},
			"wait": func(t *rapid.T) { c.Advance(time.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * time.Minute) },
			"look": func(t *rapid.T) {
				n := rapid.IntRange(0, 9).Draw(t, "credential")
				c.Advance(1)
				got, ok := k.User(credentialNumber(n))
				if want, known := m.user(n, c.Now()); ok != known || (ok && got != userNumber(want)) {
					t.Fatalf("credential %d: %v of %v, want %v of %d", n, ok, got, known, want)
				}
			},
		})
	})
}

func TestKnownConcurrently(t *testing.T) {
	t.Parallel()
	k := NewKnown(KnownConfig{Cap: 64})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for n := range 500 {
				k.Add(credentialNumber(n%100), userNumber(byte(g)), time.Now().Add(time.Hour))
				k.User(credentialNumber(n % 50))
				k.Remove(credentialNumber(n % 7))
			}
			k.RemoveUser(userNumber(byte(g)))
		})
	}
	all.Wait()
	if n := k.Len(); n != inOrder(k) || n > 64 {
		t.Errorf("%d credentials by hash, %d in order", n, inOrder(k))
	}
}

// BenchmarkKnown is on every request's path: a look-up of a credential that is known, from all processors.
func BenchmarkKnown(b *testing.B) {
	k := NewKnown(KnownConfig{})
	var credentials [1024]Credential
	for n := range credentials {
		credentials[n] = Credential{Kind: Bearer, token: fmt.Sprintf("%0900d", n)}
		k.Add(credentials[n], userNumber(byte(n%250)), time.Now().Add(time.Hour))
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			k.User(credentials[n%len(credentials)])
		}
	})
}

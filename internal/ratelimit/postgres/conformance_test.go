package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// TestConformance runs the suite that every store passes: four processes' handles on one database, whose clock is the
// test's.
func TestConformance(t *testing.T) {
	t.Parallel()
	pools := openPools(t, storetest.URL(t), 4)
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		t.Helper()
		var offset atomic.Int64
		began := time.Now()
		stores := newStores(t, pools)
		for _, s := range stores {
			s.clock = func() time.Time { return began.Add(time.Duration(offset.Load())) }
		}
		return ratelimittest.Harness{
			Store: stores[0], Others: others(stores), Advance: func(d time.Duration) { offset.Add(int64(d)) },
		}
	})
}

// TestConformanceInEarnest runs it on the database's own clock.
func TestConformanceInEarnest(t *testing.T) {
	t.Parallel()
	pools := openPools(t, storetest.URL(t), 4)
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		t.Helper()
		stores := newStores(t, pools)
		return ratelimittest.Harness{Store: stores[0], Others: others(stores)}
	})
}

func others(stores []*Store) (rest []ratelimit.Store) {
	for _, s := range stores[1:] {
		rest = append(rest, s)
	}
	return rest
}

func openPools(t testing.TB, url string, processes int) (pools []*store.Store) {
	t.Helper()
	for range processes {
		pools = append(pools, storetest.Open(t, store.Config{URL: url, MaxConns: 4}))
	}
	return pools
}

func newStores(t testing.TB, pools []*store.Store) (stores []*Store) {
	t.Helper()
	for _, db := range pools {
		stores = append(stores, newStore(t, db))
	}
	return stores
}

// newStore is a store that waits long enough for a machine that is busy with other tests.
func newStore(t testing.TB, db *store.Store) *Store {
	t.Helper()
	s, err := New(db, Config{Secret: []byte("a secret of enough bytes"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A setup is a store on a database of the test's own, and a connection of the test's to it.
type setup struct {
	*Store

	t      *testing.T
	url    string
	direct *pgx.Conn
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	url := storetest.URL(t)
	return &setup{Store: newStore(t, openPools(t, url, 1)[0]), t: t, url: url, direct: connect(t, url)}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (s *setup) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.direct.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func scalar[T any](s *setup, sql string, args ...any) (v T) {
	s.t.Helper()
	if err := s.direct.QueryRow(s.t.Context(), sql, args...).Scan(&v); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (s *setup) take(charges ...ratelimit.Charge) []ratelimit.Verdict {
	s.t.Helper()
	v, err := s.Take(s.t.Context(), charges)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func sliding(n int64, window time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: n, Window: window}
}

func fixed(n int64, window time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: n, Window: window}
}

func charge(id string, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Key: ratelimit.Key{Budget: "auth.login", Group: id, ID: id}, Limit: l, Cost: cost}
}

// keyOf is the key of a charge's counter.
func (s *Store) keyOf(c ratelimit.Charge) []byte { return s.keys.key(&c.Key, c.Limit.Algorithm) }

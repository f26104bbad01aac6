package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// Processes see who decides otherwise, once a hash, until it withdraws or is no longer heard of.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	process := func(hash string) store.Process {
		return store.Process{ID: uuid.New(), Hash: hash, Settings: map[string]string{"user": hash}}
	}
	announce := func(p store.Process) []store.Process {
		t.Helper()
		return must(s.Announce(t.Context(), p, time.Minute))(t)
	}
	one, same, other, another := process("a"), process("a"), process("b"), process("b")
	for _, p := range []store.Process{one, one, same} {
		if got := announce(p); len(got) != 0 {
			t.Errorf("processes that agree see %+v", got)
		}
	}
	if got := announce(other); len(got) != 1 || got[0].Hash != "a" || got[0].Settings["user"] != "a" {
		t.Errorf("one that decides otherwise sees %+v", got)
	}
	announce(another)
	if got := announce(one); len(got) != 1 || got[0].Hash != "b" {
		t.Errorf("the first sees %+v", got)
	}
	if err := s.Withdraw(t.Context(), other.ID); err != nil {
		t.Fatal(err)
	}
	if got := announce(one); len(got) != 1 || got[0].ID != another.ID {
		t.Errorf("with one of two withdrawn: %+v", got)
	}
	scalar[int](t, url, "WITH old AS (UPDATE limiter_processes SET seen_at = seen_at - interval '2 minutes' WHERE hash = 'b' RETURNING 1) SELECT count(*) FROM old")
	if got := announce(one); len(got) != 0 {
		t.Errorf("one that was not heard of for two minutes: %+v", got)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM limiter_processes"); n != 2 {
		t.Errorf("%d rows are kept, want those of the two that are alive", n)
	}
}

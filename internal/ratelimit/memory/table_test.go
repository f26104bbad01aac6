package memory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTableEqualsMap inserts and removes at random, with hashes that crowd.
func TestTableEqualsMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table table
		want := map[uint64]int64{}
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			// The top bits behind those of the shard choose the home, so these crowd around a few.
			return rapid.Uint64Range(0, 7).Draw(t, "home")<<55 | rapid.Uint64Range(1, 20).Draw(t, "rest")
		})
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				h := hash.Draw(t, "hash")
				if table.find(h) < 0 {
					value := int64(h & 0xffff)
					table.slots[table.insert(h)].a = value
					want[h] = value
				}
			},
			"remove": func(t *rapid.T) {
				h := hash.Draw(t, "hash")
				if i := table.find(h); i >= 0 {
					table.remove(i)
					delete(want, h)
				}
			},
			"resize": func(*rapid.T) { table.resize(max(firstSize, 2*table.count)) },
			"": func(t *rapid.T) {
				if table.count != len(want) {
					t.Fatalf("count %d, want %d", table.count, len(want))
				}
				for h, a := range want {
					if i := table.find(h); i < 0 || table.slots[i].a != a {
						t.Fatalf("hash %x is at %d", h, i)
					}
				}
			},
		})
	})
}

// TestQueueEqualsSlice pushes, pops and cuts at random.
func TestQueueEqualsSlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r rings
		var s slot
		q := queue{slot: &s, rings: &r}
		var want []int64
		next := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n := min(rapid.IntRange(1, 40).Draw(t, "n"), 1024-len(want))
				if n == 0 {
					return
				}
				next++
				q.push(next, n)
				want = append(want, slices.Repeat([]int64{next}, n)...)
			},
			"pop": func(t *rapid.T) {
				if n := rapid.IntRange(0, len(want)).Draw(t, "n"); n > 0 {
					q.pop(n)
					want = want[n:]
				}
			},
			"cut": func(t *rapid.T) {
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
					q.cut(i)
					want = slices.Delete(slices.Clone(want), i, i+1)
				}
			},
			"": func(t *rapid.T) {
				var got []int64
				for i := range q.len() {
					got = append(got, *q.at(i))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			},
		})
	})
}

package slidinglog_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/slidinglog"
)

const second = time.Second

// A naive log keeps every unit ever recorded and answers by trying.
type naive struct {
	window time.Duration
	units  []naiveUnit
}

type naiveUnit struct {
	ticket slidinglog.Ticket
	at     time.Duration
	held   bool
	gone   bool // Given back.
}

// used counts the units in (now−W, now], the later ones that are sure to count, and the held ones.
func (n *naive) used(now time.Duration) int64 {
	var used int64
	for _, u := range n.units {
		if !u.gone && (u.held || u.at > now-n.window) {
			used++
		}
	}
	return used
}

// until tries every instant at which something can change, if the held units started now.
func (n *naive) until(now time.Duration, fits func(used int64) bool) time.Duration {
	waits := []time.Duration{n.window}
	started := naive{window: n.window}
	for _, u := range n.units {
		if u.held {
			u.held, u.at = false, now
		}
		started.units = append(started.units, u)
		if wait := u.at + n.window - now; wait > 0 {
			waits = append(waits, wait)
		}
	}
	slices.Sort(waits)
	for _, wait := range waits {
		if fits(started.used(now + wait)) {
			return wait
		}
	}
	return slidinglog.Never
}

func (n *naive) answer(now time.Duration, limit, cost int64) slidinglog.Answer {
	used := n.used(now)
	a := slidinglog.Answer{OK: cost == 0 || used+cost <= limit, Remaining: max(0, limit-used)}
	if used > 0 && limit > 0 {
		a.Next = n.until(now, func(u int64) bool { return max(0, limit-u) > a.Remaining })
	}
	if !a.OK {
		a.Retry = n.until(now, func(u int64) bool { return u+cost <= limit })
	}
	return a
}

func (n *naive) record(t slidinglog.Ticket, cost int64, u naiveUnit) {
	for range cost {
		u.ticket = t
		n.units = append(n.units, u)
	}
}

func (n *naive) each(t slidinglog.Ticket, f func(*naiveUnit) bool) {
	for i := range n.units {
		if n.units[i].ticket == t && !f(&n.units[i]) {
			return
		}
	}
}

// TestLogEqualsNaiveList runs random calls against the log and the plain list, call by call.
func TestLogEqualsNaiveList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.IntRange(1, 8).Draw(t, "window"))
		log, list := slidinglog.New(window), &naive{window: window}
		var now time.Duration
		var tickets []slidinglog.Ticket
		limit := rapid.Int64Range(0, 6).Draw(t, "limit")
		cost := func() int64 { return rapid.Int64Range(0, limit+1).Draw(t, "cost") }
		ticket := func() slidinglog.Ticket {
			if len(tickets) == 0 {
				return 7 // One that was never given.
			}
			return rapid.SampledFrom(tickets).Draw(t, "ticket")
		}
		same := func(got, want slidinglog.Answer) {
			t.Helper()
			if got != want {
				t.Fatalf("at %d: got %+v, want %+v", now, got, want)
			}
		}
		admit := func(call func(time.Duration, int64, int64) (slidinglog.Answer, slidinglog.Ticket), held bool) {
			c := cost()
			want := list.answer(now, limit, c)
			got, ticket := call(now, limit, c)
			if recorded := want.OK && c > 0; recorded != (ticket != 0) {
				t.Fatalf("at %d: ticket %d for cost %d, answer %+v", now, ticket, c, want)
			}
			if ticket != 0 {
				list.record(ticket, c, naiveUnit{at: now, held: held})
				tickets = append(tickets, ticket)
				want = list.answer(now, limit, 0)
			}
			same(got, want)
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 5).Draw(t, "wait")) },
			"take": func(*rapid.T) { admit(log.Take, false) },
			"hold": func(*rapid.T) { admit(log.Hold, true) },
			"look": func(*rapid.T) { c := cost(); same(log.Look(now, limit, c), list.answer(now, limit, c)) },
			"limit": func(t *rapid.T) {
				limit = rapid.Int64Range(0, 6).Draw(t, "limit")
			},
			"overdraw": func(*rapid.T) {
				c := cost()
				if ticket := log.Overdraw(now, c); ticket != 0 {
					list.record(ticket, c, naiveUnit{held: true})
					tickets = append(tickets, ticket)
				}
			},
			"start": func(t *rapid.T) {
				id := ticket()
				at := now + time.Duration(rapid.IntRange(0, 3).Draw(t, "later"))
				want := false
				list.each(id, func(u *naiveUnit) bool {
					if u.held && !u.gone {
						u.held, u.at, want = false, at, true
					}
					return true
				})
				if got := log.Start(now, id, at); got != want {
					t.Fatalf("start: got %v, want %v", got, want)
				}
			},
			"give back": func(t *rapid.T) {
				id := ticket()
				units := rapid.Int64Range(0, 4).Draw(t, "units")
				var want int64
				list.each(id, func(u *naiveUnit) bool {
					if !u.gone && (u.held || u.at > now-window) && want < units {
						u.gone = true
						want++
					}
					return true
				})
				list.each(id, func(u *naiveUnit) bool {
					if want > 0 && !u.held {
						u.ticket = 0
					}
					return true
				})
				if got := log.GiveBack(now, id, units); got != want {
					t.Fatalf("give back: got %d, want %d", got, want)
				}
			},
			"": func(t *rapid.T) {
				if got, want := log.Used(now), list.used(now); got != want {
					t.Fatalf("used: got %d, want %d", got, want)
				}
			},
		})
	})
}

// TestAnswers holds the promises that can be read off a few calls.
func TestAnswers(t *testing.T) {
	t.Parallel()
	type answer = slidinglog.Answer
	tests := []struct {
		name   string
		before func(*slidinglog.Log)
		at     time.Duration
		limit  int64
		cost   int64
		want   answer
	}{
		{"fresh", func(*slidinglog.Log) {}, 0, 100, 1, answer{OK: true, Remaining: 99, Next: 60 * second}},
		{"cost of the whole limit", func(*slidinglog.Log) {}, 0, 100, 100, answer{OK: true, Next: 60 * second}},
		{"cost above the limit", func(*slidinglog.Log) {}, 0, 100, 101, answer{Remaining: 100, Retry: slidinglog.Never}},
		{"the largest cost", spend(1, 0), 0, 100, math.MaxInt64, answer{Remaining: 99, Next: 60 * second, Retry: slidinglog.Never}},
		{"the largest limit", spend(1, 0), 0, math.MaxInt64, math.MaxInt64, answer{Remaining: math.MaxInt64 - 1, Next: 60 * second, Retry: 60 * second}},
		{"a limit of 0", spend(1, 0), 0, 0, 1, answer{Retry: slidinglog.Never}},
		{"just before the window's end", spend(100, 0), 60*second - 1, 100, 1, answer{Next: 1, Retry: 1}},
		{"exactly at the window's end", spend(100, 0), 60 * second, 100, 1, answer{OK: true, Remaining: 99, Next: 60 * second}},
		{"lowered limit, look", spend(60, 0), second, 50, 0, answer{OK: true, Next: 59 * second}},
		{"raised limit, look", spend(60, 0), second, 200, 0, answer{OK: true, Remaining: 140, Next: 59 * second}},
		{"retry waits for as many as it needs", spread(10), 10 * second, 10, 3, answer{Next: 50 * second, Retry: 52 * second}},
		{"a denied call leaves no trace", func(l *slidinglog.Log) {
			spend(100, 0)(l)
			l.Take(30*second, 100, 1)
		}, 60 * second, 100, 100, answer{OK: true, Next: 60 * second}},
		{"a held unit may start now", func(l *slidinglog.Log) { l.Hold(0, 1, 1) }, 30 * second, 1, 1, answer{Next: 60 * second, Retry: 60 * second}},
		{"the clock set back an hour", func(l *slidinglog.Log) {
			l.Take(3600*second, 1, 1)
			l.Look(3630*second, 1, 0)
			l.Look(30*second, 1, 0)
		}, 40 * second, 1, 1, answer{Next: 20 * second, Retry: 20 * second}},
		{"the clock jumped ahead an hour and back", func(l *slidinglog.Log) {
			l.Look(0, 1, 0)
			l.Take(3600*second, 1, 1)
			l.Look(0, 1, 0)
		}, 60 * second, 1, 1, answer{OK: true, Next: 60 * second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := slidinglog.New(60 * second)
			tt.before(log)
			got, _ := log.Take(tt.at, tt.limit, tt.cost)
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func spend(units int64, at time.Duration) func(*slidinglog.Log) {
	return func(l *slidinglog.Log) { l.Take(at, units, units) }
}

// spread takes a unit at each of the seconds 0 to n−1.
func spread(n int64) func(*slidinglog.Log) {
	return func(l *slidinglog.Log) {
		for i := range n {
			l.Take(time.Duration(i)*second, n, 1)
		}
	}
}

func TestOverdrawDoesNotWrap(t *testing.T) {
	t.Parallel()
	log := slidinglog.New(second)
	log.Overdraw(0, math.MaxInt64)
	if ticket := log.Overdraw(0, math.MaxInt64); ticket != 0 {
		t.Errorf("overdrew past the largest count: ticket %d", ticket)
	}
	if used := log.Used(0); used != math.MaxInt64 {
		t.Errorf("used %d", used)
	}
}

func TestSteadyUseAllocatesNothing(t *testing.T) {
	log := slidinglog.New(100)
	var now time.Duration
	call := func() {
		now++
		_, ticket := log.Hold(now, 50, 1)
		log.Start(now, ticket, now)
		log.Take(now, 50, 1)
	}
	for range 1000 {
		call()
	}
	if allocs := testing.AllocsPerRun(1000, call); allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
}

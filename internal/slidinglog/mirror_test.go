package slidinglog_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/gatehouse/internal/slidinglog"
)

// An attempt is one request of a client that mirrors the server's limit: acquired, arrived, answered.
type attempt struct {
	acquired, arrived, answered time.Duration
	ticket                      slidinglog.Ticket
}

// simulate lets a client send as fast as its mirror allows through a network with a heavy tail, and says how many
// requests there were and how many of them the server's log refused. hold says how the client's slot ends.
func simulate(seed uint64, hold func(*slidinglog.Log, time.Duration, *attempt)) (sent, refused int) {
	const limit, window, end = 20, second, 30 * second
	random := rand.New(rand.NewPCG(seed, 1))
	leg := func() time.Duration { return time.Duration(float64(20*time.Millisecond) / (random.Float64() + 0.005)) }
	mirror, server := slidinglog.New(window), slidinglog.New(window)
	var attempts []attempt
	var flying []attempt
	for now := time.Duration(0); now < end; now += time.Duration(1 + random.Int64N(int64(5*time.Millisecond))) {
		flying = slices.DeleteFunc(flying, func(a attempt) bool {
			if a.answered <= now {
				mirror.Start(now, a.ticket, a.answered)
				return true
			}
			return false
		})
		a := attempt{acquired: now}
		var answer slidinglog.Answer
		if answer, a.ticket = mirror.Hold(now, limit, 1); !answer.OK {
			continue
		}
		a.arrived = now + leg()
		a.answered = a.arrived + leg()
		hold(mirror, now, &a)
		flying = append(flying, a)
		attempts = append(attempts, a)
	}
	slices.SortFunc(attempts, func(a, b attempt) int { return cmp.Compare(a.arrived, b.arrived) })
	for _, a := range attempts {
		if answer, _ := server.Take(a.arrived, limit, 1); !answer.OK {
			refused++
		}
	}
	return len(attempts), refused
}

// TestMirrorIsNeverRefused holds the bracket: a slot held from acquisition until the answer and a window more is sound
// whatever the delays, while one held from the send is not.
func TestMirrorIsNeverRefused(t *testing.T) {
	t.Parallel()
	untilAnswer := func(*slidinglog.Log, time.Duration, *attempt) {}
	fromSend := func(mirror *slidinglog.Log, now time.Duration, a *attempt) { mirror.Start(now, a.ticket, now) }
	caught := 0
	for seed := range uint64(20) {
		sent, refused := simulate(seed, untilAnswer)
		if refused != 0 || sent < 300 {
			t.Errorf("seed %d: %d of %d refused", seed, refused, sent)
		}
		if _, refused := simulate(seed, fromSend); refused > 0 {
			caught++
		}
	}
	if caught < 15 {
		t.Errorf("slots held from the send were refused in %d of 20 runs only", caught)
	}
}

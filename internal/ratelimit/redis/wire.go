package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// The sizes of the records that the scripts read and write; script/take.lua and script/giveback.lua have the layouts.
const (
	clockSize   = 7
	termsSize   = 19
	verdictSize = 27
	returnSize  = 27
	givenSize   = 6
)

// The statuses of a verdict.
const (
	statusDenied = iota
	statusFits
	statusFault
)

// shadowKind is added to the algorithm of a shadow charge.
const shadowKind = 16

// testGrace is by how much values outlive their use where the time is a test's; script/start.lua has it too.
const testGrace = time.Hour

// errValue is the fault of a verdict.
var errValue = errors.New("the stored value is not a counter of this kind: reset the key")

// Terms are what a script needs to know of a charge beside its key. The decisions of one batch mostly share a few, so that
// each is sent and read once.
type terms struct {
	kind                  byte // The algorithm, + shadowKind for a shadow.
	limit, cost, lifetime int64
	span                  uint64
}

func termsOf(now uint64, c *ratelimit.Charge) terms {
	t := terms{
		kind: byte(c.Limit.Algorithm), limit: c.Limit.N, span: span(&c.Limit), lifetime: timeToLive(now, &c.Limit),
		// A cost above the limit never fits, however far above: capped, it stays in the range that scripts count in.
		cost: min(c.Cost, c.Limit.N+1),
	}
	if c.Shadow {
		t.kind += shadowKind
	}
	return t
}

// maxCharges is how many charges one run of take may have: their terms are numbered with a byte, in which 0 ends a
// decision.
const maxCharges = 255

// encodeTakes makes the keys and the arguments of take for decisions of at most maxCharges in all.
func encodeTakes(now uint64, decisions []*decision) (keys []string, args []any) {
	var charges int
	for _, d := range decisions {
		charges += len(d.keys)
	}
	keys = make([]string, 0, charges)
	known := make([]terms, 0, 8)
	plan := make([]byte, 0, charges+len(decisions))
	for _, d := range decisions {
		keys = append(keys, d.keys...)
		for _, t := range d.terms {
			n := slices.Index(known, t)
			if n < 0 {
				n, known = len(known), append(known, t)
			}
			plan = append(plan, byte(n+1)) // At most maxCharges.
		}
		plan = append(plan, 0)
	}
	return keys, takeArgs(now, known, plan)
}

func takeArgs(now uint64, known []terms, plan []byte) []any {
	b := make([]byte, 0, clockSize+termsSize*len(known))
	b = appendUint(b, now, clockSize)
	args := make([]any, 2, 2+len(known))
	for i := range known {
		t := &known[i]
		b = append(b, t.kind)
		b = appendUint(b, uint64(t.limit), 6) // Checked to be positive, as the cost is.
		b = appendUint(b, t.span, 6)
		b = appendUint(b, uint64(t.cost), 6)
		args = append(args, t.lifetime)
	}
	args[0], args[1] = b, plan
	return args
}

// encodeReturns makes the arguments of giveback.
func encodeReturns(now uint64, returns []ratelimit.Return) []any {
	b := make([]byte, 0, clockSize+returnSize*len(returns))
	b = appendUint(b, now, clockSize)
	args := make([]any, 1, 1+len(returns))
	for i := range returns {
		r := &returns[i]
		b = append(b, byte(r.Limit.Algorithm))
		b = appendUint(b, span(&r.Limit), 6)
		b = binary.BigEndian.AppendUint64(b, r.Receipt.ID)
		b = appendUint(b, uint64(r.Receipt.Cost), 6)
		b = appendUint(b, uint64(max(0, min(r.Units, r.Receipt.Cost))), 6)
		args = append(args, timeToLive(now, &r.Limit))
	}
	args[0] = b
	return args
}

// timeToLive is how long a value may matter, in milliseconds: its span, rounded up. With a clock of a test's own it is
// longer, because Redis expires keys by its own.
func timeToLive(now uint64, l *ratelimit.Limit) int64 {
	ms := int64((l.Span() + time.Millisecond - 1) / time.Millisecond)
	if now != 0 {
		ms += testGrace.Milliseconds()
	}
	return max(1, ms)
}

// span is the window in microseconds, and of a bucket its refill.
func span(l *ratelimit.Limit) uint64 {
	if l.Algorithm == ratelimit.TokenBucket {
		return uint64(l.Refill)
	}
	return uint64(l.Window / time.Microsecond)
}

func decodeVerdicts(d *decision, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if len(d.answer) != verdictSize*len(charges) {
		return nil, fmt.Errorf("the script answered %d bytes to %d charges", len(d.answer), len(charges))
	}
	verdicts := make([]ratelimit.Verdict, len(charges))
	for i := range verdicts {
		decodeVerdict(&verdicts[i], d.answer[verdictSize*i:], &charges[i])
		if verdicts[i].Err != nil {
			verdicts[i].Err = fmt.Errorf("%s: %w", d.keys[i], verdicts[i].Err)
		}
	}
	return verdicts, nil
}

func decodeVerdict(v *ratelimit.Verdict, b string, c *ratelimit.Charge) {
	if b[0] == statusFault {
		v.Err = errValue
		return
	}
	v.OK = b[0] == statusFits
	v.Remaining = int64(readUint(b[1:7]))
	v.Next = time.Duration(readUint(b[7:13])) * time.Microsecond
	switch {
	case v.OK:
	case c.Cost > c.Limit.N:
		v.Retry = ratelimit.Never
	default:
		v.Retry = time.Duration(readUint(b[13:19])) * time.Microsecond
	}
	if id := readUint(b[19:27]); id != 0 {
		v.Receipt = ratelimit.Receipt{ID: id, Cost: c.Cost}
	}
}

func decodeReturned(answer string, returns int) ([]int64, error) {
	if len(answer) != givenSize*returns {
		return nil, fmt.Errorf("the script answered %d bytes to %d returns", len(answer), returns)
	}
	units := make([]int64, returns)
	for i := range units {
		units[i] = int64(readUint(answer[givenSize*i : givenSize*(i+1)]))
	}
	return units, nil
}

// appendUint appends the low size bytes of n, the highest first.
func appendUint(b []byte, n uint64, size int) []byte {
	for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

func readUint(b string) uint64 {
	var n uint64
	for i := range len(b) {
		n = n<<8 | uint64(b[i])
	}
	return n
}

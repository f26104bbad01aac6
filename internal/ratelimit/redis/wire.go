package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// The sizes of the records that the scripts read and write; script/take.lua and script/giveback.lua have the layouts.
const (
	clockSize   = 7
	chargeSize  = 19
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

// algorithms are all that a key may have been counted with.
var algorithms = [...]ratelimit.Algorithm{
	ratelimit.SlidingLog, ratelimit.Segments, ratelimit.TokenBucket, ratelimit.FixedWindow,
}

// errValue is the fault of a verdict.
var errValue = errors.New("the stored value is not a counter of this kind: reset the key")

func encodeCharges(now uint64, charges []ratelimit.Charge) []byte {
	b := make([]byte, 0, clockSize+chargeSize*len(charges))
	b = appendUint(b, now, clockSize)
	for i := range charges {
		c := &charges[i]
		kind := byte(c.Limit.Algorithm)
		if c.Shadow {
			kind += shadowKind
		}
		b = append(b, kind)
		b = appendUint(b, uint64(c.Limit.N), 6)
		b = appendUint(b, span(&c.Limit), 6)
		// A cost above the limit never fits, however far above: capped, it stays in the range that scripts count in.
		b = appendUint(b, uint64(min(c.Cost, c.Limit.N+1)), 6)
	}
	return b
}

func encodeReturns(now uint64, returns []ratelimit.Return) []byte {
	b := make([]byte, 0, clockSize+returnSize*len(returns))
	b = appendUint(b, now, clockSize)
	for i := range returns {
		r := &returns[i]
		b = append(b, byte(r.Limit.Algorithm))
		b = appendUint(b, span(&r.Limit), 6)
		b = binary.BigEndian.AppendUint64(b, r.Receipt.ID)
		b = appendUint(b, uint64(r.Receipt.Cost), 6)
		b = appendUint(b, uint64(max(0, min(r.Units, r.Receipt.Cost))), 6)
	}
	return b
}

// span is the window in microseconds, and of a bucket its refill.
func span(l *ratelimit.Limit) uint64 {
	if l.Algorithm == ratelimit.TokenBucket {
		return uint64(l.Refill)
	}
	return uint64(l.Window / time.Microsecond)
}

func decodeVerdicts(answer string, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if len(answer) != verdictSize*len(charges) {
		return nil, fmt.Errorf("the script answered %d bytes to %d charges", len(answer), len(charges))
	}
	verdicts := make([]ratelimit.Verdict, len(charges))
	for i := range verdicts {
		decodeVerdict(&verdicts[i], answer[verdictSize*i:], &charges[i])
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

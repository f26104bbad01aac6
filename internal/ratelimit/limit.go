package ratelimit

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Algorithm is how a budget counts.
type Algorithm uint8

const (
	// SlidingLog keeps the time of every admitted unit: at most N units in any span of Window, exactly. N is at most MaxLog.
	SlidingLog Algorithm = iota + 1
	// Segments is the sliding window for large N: 60 segments, never over N in any Window, late by less than Window/60.
	Segments
	// TokenBucket holds at most N units and gains Refill of them a second: at most N + Refill × span in any span.
	TokenBucket
	// FixedWindow admits N units in the Window that begins with its first hit: up to 2 × N around a boundary.
	FixedWindow
)

// String names the algorithm as settings and limits.get spell it.
func (a Algorithm) String() string {
	switch a {
	case SlidingLog:
		return "sliding-window"
	case Segments:
		return "sliding-window-segments"
	case TokenBucket:
		return "token-bucket"
	case FixedWindow:
		return "fixed-window"
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

const (
	// MaxLog is the largest limit of a SlidingLog: the log of one key holds that many times.
	MaxLog = 1024
	// MaxLimit is the largest limit of the other algorithms: its product with a million, the microseconds of a second
	// that buckets multiply by, stays within an int64.
	MaxLimit = 1_000_000_000_000
	// MinWindow is the shortest window; a segment of it is still many ticks of a microsecond clock.
	MinWindow = 10 * time.Millisecond
	// MaxWindow is the longest window, and the longest a bucket may take to fill.
	MaxWindow = 366 * 24 * time.Hour
	// SegmentCount is how many segments a window of Segments has.
	SegmentCount = 60
)

// A Limit is what one key may spend.
type Limit struct {
	Algorithm Algorithm
	// N is the units a window, or a bucket's capacity. 0 denies everything; below 0 is an error.
	N int64
	// Window is the span that N applies to, in whole microseconds. A TokenBucket has none: it is full again after N ÷ Refill.
	Window time.Duration
	// Refill is the units a second that a TokenBucket gains.
	Refill int64
}

// Span is the time after which a key with this limit that is left alone has all its units again: the window, with
// the segment that Segments may be late by, or the time in which a bucket fills, rounded up to a microsecond.
func (l Limit) Span() time.Duration {
	switch l.Algorithm {
	case TokenBucket:
		return time.Duration((l.N*1e6+l.Refill-1)/l.Refill) * time.Microsecond
	case Segments:
		return l.Window + l.Window/SegmentCount
	default:
		return l.Window
	}
}

// Bound says in a sentence what the limit promises: how much it admits at most, and how late it may be.
func (l Limit) Bound() string {
	window := span(l.Window)
	switch l.Algorithm {
	case TokenBucket:
		return fmt.Sprintf("at most %d and %d a second in any span; exact to the microsecond", l.N, l.Refill)
	case Segments:
		return fmt.Sprintf("never over %d in any %s; a unit leaves late by less than %s", l.N, window, span(l.Window/SegmentCount))
	case FixedWindow:
		return fmt.Sprintf("at most %d in the %s from the first; up to %d around its end", l.N, window, 2*l.N)
	default:
		return fmt.Sprintf("never over %d in any %s; a unit leaves at exactly %s", l.N, window, window)
	}
}

// span spells a duration without the zeros at its end: 1m and not 1m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Check says what is wrong with the limit, or nil.
func (l Limit) Check() error {
	switch l.Algorithm {
	case SlidingLog:
		if l.N > MaxLog {
			return fmt.Errorf("limit %d is above %d, the most a log holds: use segments, a bucket or a fixed window", l.N, MaxLog)
		}
	case Segments, TokenBucket, FixedWindow:
		if l.N > MaxLimit {
			return fmt.Errorf("limit %d is above %d, the largest that is counted without overflow", l.N, int64(MaxLimit))
		}
	default:
		return fmt.Errorf("%v is unknown: use one of the four", l.Algorithm)
	}
	if l.N < 0 {
		return fmt.Errorf("limit %d is negative: use 0 to deny everything, and Unlimited for no limit", l.N)
	}
	if l.Algorithm == TokenBucket {
		return l.checkRefill()
	}
	return l.checkWindow()
}

func (l Limit) checkWindow() error {
	switch {
	case l.Window < MinWindow || l.Window > MaxWindow:
		return fmt.Errorf("window %v is outside %v to %v", l.Window, MinWindow, MaxWindow)
	case l.Window%time.Microsecond != 0:
		return fmt.Errorf("window %v is not in whole microseconds", l.Window)
	case l.Refill != 0:
		return fmt.Errorf("refill %d belongs to a token bucket only", l.Refill)
	}
	return nil
}

func (l Limit) checkRefill() error {
	switch {
	case l.Window != 0:
		return errors.New("a token bucket has no window: it is full again after limit ÷ refill")
	case l.Refill < 1 || l.Refill > MaxLimit:
		return fmt.Errorf("refill %d a second is outside 1 to %d", l.Refill, int64(MaxLimit))
	case l.N/l.Refill > int64(MaxWindow/time.Second):
		return fmt.Errorf("a bucket of %d filled with %d a second takes longer than %v", l.N, l.Refill, MaxWindow)
	}
	return nil
}

// ErrCharge is what CheckCharges wraps: a fault of the caller, not of a store.
var ErrCharge = errors.New("invalid charge")

// CheckCharges faults what no store may count: a negative cost, a limit that Check faults, one key twice.
func CheckCharges(charges []Charge) error {
	for i := range charges {
		c := &charges[i]
		if c.Cost < 0 {
			return fmt.Errorf("%w: cost %d of budget %q is negative", ErrCharge, c.Cost, c.Key.Budget)
		}
		if c.Limit.plainLog() {
			continue // What nearly every limit is, told in a few instructions.
		}
		if err := c.Limit.Check(); err != nil {
			return fmt.Errorf("%w: budget %q: %w", ErrCharge, c.Key.Budget, err)
		}
	}
	return checkTwice(charges)
}

func checkTwice(charges []Charge) error {
	for i := range charges {
		for j := range charges[:i] {
			if charges[j].Key == charges[i].Key {
				return fmt.Errorf("%w: budget %q is charged twice for one key: add the costs", ErrCharge, charges[i].Key.Budget)
			}
		}
	}
	return nil
}

// plainLog says that the limit is a log that Check passes, of whole milliseconds.
func (l Limit) plainLog() bool {
	return l.Algorithm == SlidingLog && l.N >= 0 && l.N <= MaxLog && l.Refill == 0 &&
		l.Window >= MinWindow && l.Window <= MaxWindow && l.Window%time.Millisecond == 0
}

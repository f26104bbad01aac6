package mobileclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/gatehouse/api"
)

// maxRetryAfter bounds what a server may ask a client to wait; a longer wait is a mistake, and is read as this.
const maxRetryAfter = 366 * 24 * time.Hour

// retryAfter reads Retry-After: whole seconds, or any of HTTP's three forms of a date. A date is compared with the answer's own
// Date and never with this machine's clock, which may be minutes off; without a Date it says nothing. False means
// that there is no such header or that it is malformed; what is in the past is 0, what is too far off is clamped.
func retryAfter(h http.Header) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get(api.HeaderRetryAfter))
	if isDigits(text) {
		return delta(text), true
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	return clampWait(until.Sub(now)), true
}

func delta(digits string) time.Duration {
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds > int64(maxRetryAfter/time.Second) {
		return maxRetryAfter // All digits, so the only fault is that there are too many.
	}
	return time.Duration(seconds) * time.Second
}

func clampWait(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }

func isDigits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

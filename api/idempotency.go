package api

import "time"

const (
	// MaxIdempotencyKey is how long an idempotency key may be, in characters.
	MaxIdempotencyKey = 255
	// IdempotencyFor is how long the answer to a key is kept.
	IdempotencyFor = 24 * time.Hour
	// IdempotencyRetryAfter is what the 409 to a key that is at work tells its caller to wait.
	IdempotencyRetryAfter = time.Second
)

// IsIdempotencyKey says whether the server takes the text as an idempotency key: 1 to 255 printable ASCII characters, of
// which the first and the last are no spaces, since those do not survive in a header.
func IsIdempotencyKey(text string) bool {
	if text == "" || len(text) > MaxIdempotencyKey || text[0] == ' ' || text[len(text)-1] == ' ' {
		return false
	}
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

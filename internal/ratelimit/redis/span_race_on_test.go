//go:build race

package redis

import "time"

// outageSpan is shorter under the race detector, which needs the processor for itself.
const outageSpan = 3 * time.Second

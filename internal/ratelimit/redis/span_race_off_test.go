//go:build !race

package redis

import "time"

const outageSpan = 10 * time.Second

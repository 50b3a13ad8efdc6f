package outbox

import (
	"math/rand/v2"
	"time"
)

// backoffUnit is the wait before the second attempt; maxBackoff bounds every wait.
const (
	backoffUnit = 200 * time.Millisecond
	maxBackoff  = 5 * time.Minute
)

// Backoff is the wait after the given number of failed attempts (1..): 200 ms × failures, or
// 200 ms × 2^(failures-1) where strategy is "exponential", at most 5 minutes. The result is moved
// by a random share of up to ± jitter (0.1 is 10 %).
func Backoff(strategy string, failures int, jitter float64) time.Duration {
	wait := maxBackoff
	switch {
	case failures < 1:
		return 0
	case strategy != "exponential":
		wait = min(backoffUnit*time.Duration(min(failures, 1<<20)), maxBackoff)
	case failures < 12: // 200 ms × 2^11 is more than the maximum
		wait = min(backoffUnit<<(failures-1), maxBackoff)
	}
	return wait + time.Duration(jitter*(2*rand.Float64()-1)*float64(wait)) //nolint:gosec // jitter, no secret
}

package outbox

import (
	"testing"
	"time"
)

func TestBackoffs(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	cases := []struct {
		strategy string
		failures int
		want     time.Duration
	}{
		{"linear", -1, 0},
		{"linear", 0, 0},
		{"linear", 1, 200 * ms},
		{"linear", 2, 400 * ms},
		{"linear", 3, 600 * ms},
		{"linear", 100, 20 * time.Second},
		{"linear", 1500, 5 * time.Minute},
		{"linear", 1501, 5 * time.Minute},
		{"linear", 1 << 62, 5 * time.Minute},
		{"exponential", 0, 0},
		{"exponential", 1, 200 * ms},
		{"exponential", 2, 400 * ms},
		{"exponential", 3, 800 * ms},
		{"exponential", 4, 1600 * ms},
		{"exponential", 11, 204800 * ms},
		{"exponential", 12, 5 * time.Minute},
		{"exponential", 63, 5 * time.Minute},
		{"exponential", 1 << 62, 5 * time.Minute},
		{"", 2, 400 * ms},
		{"fibonacci", 3, 600 * ms},
		{"EXPONENTIAL", 3, 600 * ms},
	}
	for _, c := range cases {
		if got := Backoff(c.strategy, c.failures, 0); got != c.want {
			t.Errorf("%q, %d failures: %v, want %v", c.strategy, c.failures, got, c.want)
		}
	}
}

func TestJitterStaysInItsShareAndSpreads(t *testing.T) {
	t.Parallel()
	low, high := time.Hour, time.Duration(0)
	for range 5000 {
		got := Backoff("linear", 5, 0.1)
		low, high = min(low, got), max(high, got)
	}
	if low < 900*time.Millisecond || high > 1100*time.Millisecond {
		t.Errorf("waits of 1 s with 10 %% jitter are from %v to %v", low, high)
	}
	if low > 920*time.Millisecond || high < 1080*time.Millisecond {
		t.Errorf("waits of 1 s with 10 %% jitter hardly spread: from %v to %v", low, high)
	}
}

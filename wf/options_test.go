package wf

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// TestWaits holds the pauses between attempts against their formulas, and within a year whatever the
// numbers are.
func TestAStepNameIsUTF8(t *testing.T) {
	t.Parallel()
	if err := checkName("a\xffb"); !errors.Is(err, ErrName) {
		t.Errorf("got %v", err)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		backoff Backoff
		delay   time.Duration
		attempt int
		want    time.Duration
	}{
		{Constant, time.Second, 1, time.Second},
		{Constant, time.Second, 9, time.Second},
		{Linear, time.Second, 1, time.Second},
		{Linear, time.Second, 3, 3 * time.Second},
		{Exponential, 10 * time.Second, 1, 10 * time.Second},
		{Exponential, 10 * time.Second, 2, 20 * time.Second},
		{Exponential, 10 * time.Second, 5, 160 * time.Second},
		{Exponential, 0, 50, 0},
		{Exponential, time.Second, 64, protocol.MaxSleep},
		{Exponential, time.Second, 10_000, protocol.MaxSleep},
		{Linear, 300 * 24 * time.Hour, 10_000, protocol.MaxSleep},
	} {
		cfg := &protocol.Config{Retries: protocol.Retries{Delay: c.delay.Milliseconds(), Backoff: string(c.backoff)}}
		if got := wait(cfg, c.attempt); got != c.want {
			t.Errorf("%s %s after attempt %d: %s, want %s", c.backoff, c.delay, c.attempt, got, c.want)
		}
	}
}

// TestOptions: what makes no sense is refused and names what was given; no timeout rounds down to none.
func TestOptions(t *testing.T) {
	t.Parallel()
	for text, opt := range map[string]Option{
		"-1": Retry(-1, 0, Constant), "10001": Retry(10_001, 0, Constant), "-1s": Retry(1, -time.Second, Constant), `"cubic"`: Retry(1, 0, "cubic"),
		"0s": Timeout(0), "-1ms": Timeout(-time.Millisecond),
	} {
		if _, err := build([]Option{opt}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s gives %v", text, err)
		}
	}
	o, err := build([]Option{Retry(10_000, 0, Linear), Timeout(time.Microsecond)})
	if err != nil || o.config().Timeout != 1 || o.config().Retries.Limit != 10_000 {
		t.Errorf("%+v, %v", o.config(), err)
	}
}

// TestNames: 256 UTF-16 units and no control characters.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, legal := range map[string]bool{
		"": true, " ": true, "ä/#🎉": true, strings.Repeat("a", 256): true, strings.Repeat("🎉", 128): true,
		strings.Repeat("a", 257): false, strings.Repeat("🎉", 129): false, "a\nb": false, "a\x00": false, "a\x7f": false, "a\u0085": false,
	} {
		if err := checkName(name); (err == nil) != legal || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// TestGuardThrowsLateResultsAway, and waits for no function that does not care about its context.
func TestGuardThrowsLateResultsAway(t *testing.T) {
	t.Parallel()
	slow := errors.New("slow")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, ErrTimeout)
	defer cancel()
	release, returned := make(chan struct{}), make(chan struct{})
	value, err := guard(ctx, slow, func(context.Context) (any, error) {
		defer close(returned)
		<-release
		return "late", nil
	})
	if value != nil || !errors.Is(err, slow) {
		t.Errorf("%v, %v", value, err)
	}
	close(release)
	<-returned
}

// TestClip keeps what is stored of an error legal and short.
func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"short", "short"},
		{"0123456789", "0123456789"},
		{"0123456789a", "0123456789… (11 bytes)"},
		{"012345678é", "012345678… (11 bytes)"},
		{"a\xffb", "a\uFFFDb"},
		{"01234567\xff", "01234567… (11 bytes)"},
		{"", ""},
	} {
		if got := clip(c.text, 10); got != c.want {
			t.Errorf("%q is clipped to %q, want %q", c.text, got, c.want)
		}
	}
}

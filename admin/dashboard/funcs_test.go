package dashboard

import (
	"testing"
	"time"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", 1500 * time.Millisecond: "1.5 s", 15 * time.Second: "15 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min",
		90 * time.Minute: "90 min", 36 * time.Hour: "36 h", 100 * time.Hour: "4 d 4 h", 61*time.Second + time.Millisecond: "1 min 01 s",
	} {
		if got := whole(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

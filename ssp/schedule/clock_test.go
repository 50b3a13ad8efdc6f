package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

// ticks lists the first n ticks after a moment, as the zone shows them with its offset.
func ticks(t *testing.T, expr, zone, after string, n int) string {
	t.Helper()
	clock, err := NewClock(expr, 0, zone)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	now, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for range n {
		now = clock.Next(now, now)
		all = append(all, now.In(loc).Format("01-02T15:04-07"))
	}
	return strings.Join(all, " ")
}

func TestReport36ChangesOfTheClocksSkipAndRepeatNothing(t *testing.T) {
	t.Parallel()
	const york, berlin = "America/New_York", "Europe/Berlin"
	for _, c := range []struct{ name, expr, zone, after, want string }{
		// The clocks go forward: 02:00 becomes 03:00.
		{"york spring, in the gap", "30 2 * * *", york, "2026-03-07T12:00:00Z", "03-08T03:00-04 03-09T02:30-04"},
		{"york spring, before it", "30 1 * * *", york, "2026-03-07T12:00:00Z", "03-08T01:30-05 03-09T01:30-04"},
		{"york spring, two in the gap", "0,30 2 * * *", york, "2026-03-07T12:00:00Z", "03-08T03:00-04 03-09T02:00-04"},
		{"york spring, gap and its end", "0 2,3 * * *", york, "2026-03-07T12:00:00Z", "03-08T03:00-04 03-09T02:00-04"},
		{"york spring, quarters", "*/15 * * * *", york, "2026-03-08T06:30:00Z", "03-08T01:45-05 03-08T03:00-04 03-08T03:15-04"},
		{"york spring, even hours", "0 */2 * * *", york, "2026-03-08T04:00:00Z", "03-08T00:00-05 03-08T03:00-04 03-08T04:00-04"},
		{"berlin spring, in the gap", "30 2 * * *", berlin, "2026-03-28T12:00:00Z", "03-29T03:00+02 03-30T02:30+02"},
		{"berlin spring, quarters", "*/15 * * * *", berlin, "2026-03-29T00:30:00Z", "03-29T01:45+01 03-29T03:00+02"},
		// They go back: one hour comes twice.
		{"york autumn, fixed", "30 1 * * *", york, "2026-10-31T12:00:00Z", "11-01T01:30-04 11-02T01:30-05"},
		{"york autumn, between the two", "30 1 * * *", york, "2026-11-01T05:45:00Z", "11-02T01:30-05"},
		{"york autumn, in the second", "45 1 * * *", york, "2026-11-01T06:10:00Z", "11-02T01:45-05"},
		{"york autumn, quarters", "*/15 * * * *", york, "2026-11-01T05:30:00Z", "11-01T01:45-04 11-01T01:00-05 11-01T01:15-05 11-01T01:30-05 11-01T01:45-05 11-01T02:00-05"},
		{"york autumn, monday", "0 6 * * 1", york, "2026-10-31T12:00:00Z", "11-02T06:00-05 11-09T06:00-05"},
		{"berlin autumn, fixed", "30 2 * * *", berlin, "2026-10-24T12:00:00Z", "10-25T02:30+02 10-26T02:30+01"},
		{"berlin autumn, hourly", "0 * * * *", berlin, "2026-10-24T23:30:00Z", "10-25T02:00+02 10-25T02:00+01 10-25T03:00+01"},
		{"berlin autumn, 3 o'clock", "0 3 * * *", berlin, "2026-10-24T12:00:00Z", "10-25T03:00+01"},
		// Months and leap days.
		{"31st", "0 0 31 * *", "UTC", "2026-01-31T12:00:00Z", "03-31T00:00+00 05-31T00:00+00 07-31T00:00+00"},
		{"leap day", "0 0 29 2 *", "UTC", "2024-03-01T00:00:00Z", "02-29T00:00+00"},
		{"28th and leap year", "59 23 28-31 2 *", "UTC", "2028-02-28T12:00:00Z", "02-28T23:59+00 02-29T23:59+00 02-28T23:59+00"},
		{"sunday is 7", "0 9 * * 7", "UTC", "2026-11-28T00:00:00Z", "11-29T09:00+00 12-06T09:00+00"},
		{"sunday is 07", "0 9 * * 07,mon", "UTC", "2026-11-28T00:00:00Z", "11-29T09:00+00 11-30T09:00+00"},
		{"friday to sunday", "0 9 * * fri-7", "UTC", "2026-11-26T00:00:00Z", "11-27T09:00+00 11-28T09:00+00 11-29T09:00+00 12-04T09:00+00"},
		{"lord howe, half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "10-04T02:30+11 10-05T02:15+11"},
	} {
		if got := ticks(t, c.expr, c.zone, c.after, len(strings.Fields(c.want))); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.expr, got, c.want)
		}
	}
}

func TestSecondsAndNever(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 7, 5, time.UTC)
	clock, err := NewClock("*/10 * * * * *", 0, "UTC")
	if err != nil || !clock.Next(start, start).Equal(time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)) {
		t.Errorf("six fields: %v, %v", clock.Next(start, start), err)
	}
	if clock, err = NewClock("0 0 30 2 *", 0, "UTC"); err != nil || !clock.Next(start, start).IsZero() {
		t.Errorf("30 February: %v, %v", clock.Next(start, start), err)
	}
	for _, bad := range []string{"", "* * * *", "61 * * * *", "@daily"} {
		if _, err := NewClock(bad, 0, "UTC"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestIntervalsKeepTheirPhase has an interval miss any number of ticks.
func TestIntervalsKeepTheirPhase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(1, 1e6).Draw(t, "every")) * time.Second
		last := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "last"), 0)
		now := last.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "since")) * time.Second)
		clock, err := NewClock("", every, "")
		if err != nil {
			t.Fatal(err)
		}
		next := clock.Next(last, now)
		if !next.After(now) || next.Sub(now) > every || next.Sub(last)%every != 0 {
			t.Errorf("every %v from %v: at %v next is %v", every, last, now, next)
		}
	})
}

// TestTicksOnlyGoForward holds each tick against the one before, in zones that change their clocks.
func TestTicksOnlyGoForward(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"}
	exprs := []string{"*/15 * * * *", "30 2 * * *", "0 */2 * * *", "15 1 * * *", "0 0 * * *", "*/7 1-3 * * *"}
	rapid.Check(t, func(t *rapid.T) {
		clock, err := NewClock(rapid.SampledFrom(exprs).Draw(t, "expr"), 0, rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1.6e9, 2.2e9).Draw(t, "from"), 0)
		for range 50 {
			next := clock.Next(now, now)
			if !next.After(now) || next.Sub(now) > 26*time.Hour {
				t.Fatalf("after %v comes %v", now, next)
			}
			between := now.Add(next.Sub(now) / 2)
			if again := clock.Next(between, between); !again.Equal(next) {
				t.Fatalf("after %v comes %v, after %v already %v", now, next, between, again)
			}
			now = next
		}
	})
}

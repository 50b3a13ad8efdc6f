package render

import (
	"fmt"
	"time"
)

// Span is a duration for people: its largest unit, and the next one where that
// matters: 850ms, 4.2s, 3m20s, 5h, 2d.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// Age says how long ago a moment was, or how far ahead it is: "3m20s ago", "in
// 5.0s", "-" for no moment.
func Age(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "-"
	case at.After(now):
		return "in " + Span(at.Sub(now))
	}
	return Span(now.Sub(at)) + " ago"
}

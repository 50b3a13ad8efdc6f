package wf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var durationPart = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*((?:,|and\s)\s*)?`)

const day = 24 * time.Hour

// unit is how long one of a unit is; a month is 30 days, a year 365.
func unit(name string) (time.Duration, bool) {
	switch strings.ToLower(name) {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return day, true
	case "w", "week", "weeks":
		return 7 * day, true
	case "month", "months":
		return 30 * day, true
	case "y", "year", "years":
		return 365 * day, true
	}
	return 0, false
}

// plainSpace makes one kind of space of all that people may type or paste.
func plainSpace(r rune) rune {
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// ParseDuration reads durations as people write them: "30 seconds", "5s", "1 min", "2 hours",
// "1 hour 30 minutes", "1 month" (30 days), "1 year" (365 days). Anything else is an error; a bare
// number is one too, since nobody can tell its unit.
func ParseDuration(text string) (time.Duration, error) {
	rest, total := strings.Map(plainSpace, text), 0.0
	if strings.TrimSpace(text) == "" {
		return 0, fmt.Errorf("%w: duration %q: is empty; write for instance \"30 seconds\"", ErrConfig, text)
	}
	for strings.TrimSpace(rest) != "" {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%w: duration %q: %q is not a number and a unit; write for instance \"30 seconds\" or \"1 hour 30 minutes\"", ErrConfig, text, rest)
		}
		one, ok := unit(m[2])
		if !ok {
			return 0, fmt.Errorf("%w: duration %q: unknown unit %q; known: ms, second, minute, hour, day, week, month, year", ErrConfig, text, m[2])
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, fmt.Errorf("%w: duration %q: %w", ErrConfig, text, err)
		}
		total += n * float64(one)
		rest = rest[len(m[0]):]
		if m[3] != "" && rest == "" {
			return 0, fmt.Errorf("%w: duration %q: ends with %q; write for instance \"1 hour 30 minutes\"", ErrConfig, text, strings.TrimSpace(m[3]))
		}
	}
	if total > math.MaxInt64/2 {
		return 0, fmt.Errorf("%w: duration %q: is longer than any that can be kept", ErrConfig, text)
	}
	return time.Duration(total), nil
}

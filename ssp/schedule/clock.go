package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// A Clock tells when a schedule is due: by a cron expression in a time zone, or every so often.
type Clock struct {
	every    time.Duration
	cron     cron.Schedule
	zone     *time.Location
	realTime bool // each hour counts, also one that the zone's clocks show twice
}

// parser takes five fields, or six with leading seconds.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// NewClock makes a clock of either a cron expression and an IANA time zone, "" for UTC, or an interval.
func NewClock(expr string, every time.Duration, zone string) (Clock, error) {
	if every > 0 {
		return Clock{every: every}, nil
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return Clock{}, fmt.Errorf("time zone: %w", err)
	}
	fields := strings.Fields(expr)
	if len(fields) != 5 && len(fields) != 6 {
		return Clock{}, fmt.Errorf("cron expression %q: %d fields, allowed: 5, or 6 with leading seconds", expr, len(fields))
	}
	last := len(fields) - 1
	fields[last] = sundays(fields[last])
	parsed, err := parser.Parse(strings.Join(fields, " "))
	if err != nil {
		return Clock{}, fmt.Errorf("cron expression %q: %w", expr, err)
	}
	hour := fields[last-3]
	return Clock{cron: parsed, zone: loc, realTime: hour == "*" || hour == "*/1"}, nil
}

// sundays writes a day-of-week field without 7, which the parser does not know for Sunday.
func sundays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		span, step, stepped := strings.Cut(item, "/")
		from, to, ranged := strings.Cut(span, "-")
		switch {
		case !ranged && seventh(span):
			items[i] = "0"
		case ranged && seventh(to):
			items[i] = spelled(from, step, stepped)
		}
	}
	return strings.Join(items, ",")
}

// seventh is whether a text is the number 7, however many zeros it begins with.
func seventh(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n == 7
}

// spelled lists the days from one until Sunday.
func spelled(from, step string, stepped bool) string {
	first := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(from))
	if first < 0 {
		first, _ = strconv.Atoi(from) // what is no number is refused by the configuration
	}
	by := 1
	if stepped {
		by, _ = strconv.Atoi(step)
	}
	var days []string
	for day := first; day <= 7; day += max(by, 1) {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// Next is the first tick after now of a schedule whose last tick was last, which an interval goes on from:
// it may be now for a schedule that begins. It is zero for a cron expression that is never true.
func (c Clock) Next(last, now time.Time) time.Time {
	switch {
	case c.every > 0:
		missed := max(now.Sub(last)/c.every, 0)
		return last.Add((missed + 1) * c.every).UTC()
	case c.realTime:
		return utc(c.cron.Next(now.In(c.zone)))
	}
	for wall := shown(now.In(c.zone)); ; {
		if wall = c.cron.Next(wall); wall.IsZero() {
			return wall
		}
		if at := c.instant(wall); at.After(now) {
			return at.UTC()
		}
	}
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// shown is what a clock on the wall shows, as a time of a zone whose clocks are never changed.
func shown(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is the first moment at which the zone's clocks show this or, where they skip it, have gone past it.
func (c Clock) instant(wall time.Time) time.Time {
	// Offsets change rarely: the one of a day before and the one of a day after are those that there are.
	_, before := wall.Add(-24 * time.Hour).In(c.zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(c.zone).Zone()
	early := wall.Add(-time.Duration(max(before, after)) * time.Second)
	late := wall.Add(-time.Duration(min(before, after)) * time.Second)
	for _, at := range []time.Time{early, late} {
		if shown(at.In(c.zone)).Equal(wall) {
			return at
		}
	}
	_, end := early.In(c.zone).ZoneBounds() // skipped: the gap lies between the two
	return end
}

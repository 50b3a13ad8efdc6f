package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones are the same on every machine, also on one without a zone database
)

// loadZone reports whether a time zone exists. "Local" and "" do not count: a
// schedule must mean the same on every node.
func loadZone(name string) error {
	if name == "" || name == "Local" {
		return fmt.Errorf("time zone %q depends on the machine", name)
	}
	_, err := time.LoadLocation(name)
	return err
}

type cronField struct {
	name     string
	min, max int
	words    []string // names for min, min+1, …
}

var cronFields = []cronField{
	{name: "second", max: 59},
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, words: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day of week", max: 7, words: strings.Fields("sun mon tue wed thu fri sat")},
}

// cronFault says what is wrong with a cron expression of five fields, or six
// with leading seconds; "" when nothing is.
func cronFault(expr string) string {
	parts := strings.Fields(expr)
	if len(parts) != 5 && len(parts) != 6 {
		return fmt.Sprintf("%d fields", len(parts))
	}
	fields := cronFields[len(cronFields)-len(parts):]
	for i, part := range parts {
		for item := range strings.SplitSeq(part, ",") {
			if !fields[i].allows(item) {
				return fmt.Sprintf("%s in the %s field", quote(item), fields[i].name)
			}
		}
	}
	if fault := neverComes(fields, parts); fault != "" {
		return fault
	}
	return ""
}

// longest is how many days each month can have, January first.
var longest = [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// neverComes says which day it is that none of the months has; "" where there is one that comes. Only the day of the
// month can be at odds with the others: where the day of the week is given too, either will do.
func neverComes(fields []cronField, parts []string) string {
	day := len(parts) - 3
	if fields[day].every(parts[day]) || !fields[day+2].every(parts[day+2]) {
		return ""
	}
	days := fields[day].numbers(parts[day])
	for _, month := range fields[day+1].numbers(parts[day+1]) {
		if days[0] <= longest[month-1] {
			return ""
		}
	}
	return fmt.Sprintf("day %d of month %s, which never comes", days[0], parts[day+1])
}

// every is whether one of the items is all that the field has.
func (f cronField) every(part string) bool {
	return slices.ContainsFunc(strings.Split(part, ","), func(item string) bool {
		span, step, stepped := strings.Cut(item, "/")
		n, _ := strconv.Atoi(step) // allows has seen it
		return (span == "*" || span == "?") && (!stepped || n == 1)
	})
}

// numbers are what the items stand for, the smallest first.
func (f cronField) numbers(part string) []int {
	var all []int
	for item := range strings.SplitSeq(part, ",") {
		span, step, stepped := strings.Cut(item, "/")
		from, to, ranged := strings.Cut(span, "-")
		low, single := f.number(from)
		high := low
		switch {
		case !single:
			low, high = f.min, f.max
		case ranged:
			high, _ = f.number(to)
		case stepped: // up to the last one
			high = f.max
		}
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		for n := low; n <= high; n += max(by, 1) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// allows checks `*`, `a`, `a-b`, each with an optional `/step`.
func (f cronField) allows(item string) bool {
	item, step, stepped := strings.Cut(item, "/")
	if stepped {
		if n, err := strconv.Atoi(step); err != nil || n < 1 || n > f.max || step[0] == '+' {
			return false
		}
	}
	if item == "*" || item == "?" && strings.HasPrefix(f.name, "day") {
		return true
	}
	from, to, ranged := strings.Cut(item, "-")
	low, ok := f.number(from)
	if !ok || !ranged {
		return ok
	}
	high, ok := f.number(to)
	return ok && low <= high
}

func (f cronField) number(text string) (int, bool) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.min + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && text[0] != '+' && n >= f.min && n <= f.max
}

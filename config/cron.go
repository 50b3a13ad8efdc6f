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
	return ""
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

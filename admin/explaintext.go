package admin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxQuote bounds what a sentence quotes of a row, in characters.
const maxQuote = 200

// quote is a text that somebody else wrote, for a sentence of ours: in quotes, cut, on one line.
func quote(text string) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(runes) > maxQuote {
		runes = append(runes[:maxQuote:maxQuote], '…')
	}
	return strconv.Quote(string(runes))
}

// printable is an id for a sentence: as it is, or quoted where it holds what could be taken for something else.
func printable(text string) string {
	if len(text) <= maxQuote && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0 {
		return text
	}
	return quote(text)
}

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./:=,+-]+$`)

// word is a text as a shell takes it for one word.
func word(text string) string {
	switch {
	case shellSafe.MatchString(text):
		return text
	case strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) >= 0:
		escaped := strconv.Quote(text)
		return "$'" + strings.ReplaceAll(escaped[1:len(escaped)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// command is a command line with its last words quoted for a shell.
func command(words string, args ...string) string {
	for _, arg := range args {
		words += " " + word(arg)
	}
	return "`" + words + "`"
}

// span is a duration for people.
func span(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 10*time.Minute && int(d.Seconds())%60 > 0:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// moment is a time for people, and clock the same without a distance: in 3 min (15:04:05Z), 3 min ago
// (15:04:05Z); with its date where that is not today's.
func moment(at, now time.Time) string {
	if at.After(now) {
		return fmt.Sprintf("in %s (%s)", span(at.Sub(now)), clock(at, now))
	}
	return fmt.Sprintf("%s ago (%s)", span(now.Sub(at)), clock(at, now))
}

func clock(at, now time.Time) string {
	layout := "15:04:05Z"
	if at.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return at.UTC().Format(layout)
}

// lasting is since when something has been so: for 3 min (since 15:04:05Z).
func lasting(at *time.Time, now time.Time) string {
	if at == nil {
		return "since a time that is not known"
	}
	return fmt.Sprintf("for %s (since %s)", span(now.Sub(*at)), clock(*at, now))
}

// optional is moment of a time that may be unknown.
func optional(at *time.Time, now time.Time) string {
	if at == nil {
		return "at a time that is not known"
	}
	return moment(*at, now)
}

// counted is a number with its word: 1 job, 2 jobs.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

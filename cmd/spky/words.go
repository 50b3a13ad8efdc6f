package main

import (
	"regexp"
	"strings"
)

// joined is a list in words.
func joined(words []string) string { return strings.Join(words, ", ") }

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./:=,+-]+$`)

// shellQuote is a text as a shell takes it for one word.
func shellQuote(text string) string {
	if shellSafe.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

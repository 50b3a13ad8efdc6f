package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checkForEach checks what can be told of a query without a database.
func (l *loader) checkForEach(key string, raw *rawForEach) {
	if raw == nil || !l.d.has(key+".query") {
		return
	}
	if fault := QueryFault(raw.Query); fault != "" {
		l.d.fault(l.d.at(key+".query"), fault+", allowed: one SELECT", "write one SELECT that only reads; `spky doctor` tries it on the database")
	}
}

var (
	selectStatement = regexp.MustCompile(`(?i)^SELECT\b`)
	// queryToken is a word with what may stand before it and makes no statement of it, a quoted text or name, or a mark.
	queryToken = regexp.MustCompile("(?:[$.@]|::)?[A-Za-z_][A-Za-z0-9_]*|'(?:\\\\.|[^'\\\\])*'|\"(?:\\\\.|[^\"\\\\])*\"|`(?:\\\\.|[^`\\\\])*`|⟨[^⟩]*⟩|[^\\s]")
)

// writes are the words that begin statements which change something.
var writes = strings.Fields("ALTER CREATE DEFINE DELETE INSERT REBUILD RELATE REMOVE UPDATE UPSERT")

// QueryFault says what keeps a text from being a query of forEach, "" where that takes a database to tell: more or less
// than one SELECT, brackets and quotes that are not closed, a SELECT without FROM, and statements within it that write.
// A column that is named like such a statement has to stand in backticks, as for the database.
func QueryFault(query string) string {
	found := statements(query)
	switch {
	case len(found) != 1:
		return fmt.Sprintf("found %d statements", len(found))
	case !selectStatement.MatchString(found[0].text):
		return "found " + quote(cut(found[0].text))
	}
	tokens := queryToken.FindAllString(found[0].text, -1)
	if open := unclosed(tokens); open != "" {
		return "found " + open + " that is not closed, or closes nothing"
	}
	if !hasFrom(tokens) {
		return "found a SELECT without FROM"
	}
	for i, token := range tokens {
		if slices.Contains(writes, strings.ToUpper(token)) && !names(tokens, i) {
			return "found " + quote(strings.ToUpper(token)) + " in it, which writes"
		}
	}
	return ""
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

// unclosed is a bracket or quote without its other half, "" where each has one, or where a slash may be the beginning of
// a regular expression, in which anything may stand.
func unclosed(tokens []string) string {
	if slices.Contains(tokens, "/") {
		return ""
	}
	var open []string
	for _, t := range tokens {
		switch t {
		case "(", "[", "{":
			open = append(open, t)
		case ")", "]", "}":
			if len(open) == 0 || closers[open[len(open)-1]] != t {
				return t
			}
			open = open[:len(open)-1]
		case "'", `"`, "`", "⟨":
			return t
		}
	}
	if len(open) > 0 {
		return open[len(open)-1]
	}
	return ""
}

// hasFrom is whether the statement itself, and not only a part in brackets, says where it selects from.
func hasFrom(tokens []string) bool {
	depth := 0
	for _, t := range tokens {
		switch t {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		if depth == 0 && strings.EqualFold(t, "FROM") {
			return true
		}
	}
	return false
}

// names is whether a word stands where a column's name does, and no statement can begin or would have what it needs.
func names(tokens []string, i int) bool {
	if i > 0 && slices.Contains([]string{"AS", "BY"}, strings.ToUpper(tokens[i-1])) {
		return true
	}
	if i > 1 && slices.Contains([]string{"->", "<-"}, tokens[i-2]+tokens[i-1]) { // an edge
		return true
	}
	return i+1 == len(tokens) || slices.Contains([]string{",", ":", ")", "]", "}", "ASC", "DESC", "COLLATE", "NUMERIC"}, strings.ToUpper(tokens[i+1]))
}

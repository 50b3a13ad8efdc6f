package config

import (
	"fmt"
	"strings"
)

// Variable is one NAME=value of a dotenv file.
type Variable struct {
	Name  string
	Value Secret
}

// ParseDotenv reads a dotenv file: NAME=value lines, optionally behind
// `export`. Blank lines and lines that start with # are skipped. An unquoted
// value ends before " #" and loses the blanks around it. 'Single quotes' keep
// everything; "double quotes" take the escapes \n, \r, \t, \" and \\. Quoted
// values may span lines. Nothing is expanded. Lines that are none of this are
// left out and counted in bad by number.
func ParseDotenv(content []byte) (vars []Variable, bad []int) {
	text := strings.TrimPrefix(string(content), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for line := 1; text != ""; {
		start := line
		var statement string
		statement, text = dotenvStatement(text)
		line += 1 + strings.Count(statement, "\n")
		statement = strings.TrimSpace(statement)
		if statement == "" || strings.HasPrefix(statement, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(statement, "export"); ok && strings.IndexAny(rest, " \t") == 0 {
			statement = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(statement, "=")
		name = strings.TrimSpace(name)
		value, err := dotenvValue(strings.TrimSpace(value))
		if !ok || err != nil || !variablePattern.MatchString(name) {
			bad = append(bad, start)
			continue
		}
		vars = append(vars, Variable{Name: name, Value: NewSecret(value)})
	}
	return vars, bad
}

// dotenvStatement cuts the first statement from text: a line, or several when
// the value is quoted and the quote closes in a later one.
func dotenvStatement(text string) (statement, rest string) {
	line, after, _ := strings.Cut(text, "\n")
	_, value, ok := strings.Cut(line, "=")
	value = strings.TrimLeft(value, " \t")
	if !ok || value == "" || strings.HasPrefix(strings.TrimSpace(line), "#") || value[0] != '"' && value[0] != '\'' {
		return line, after
	}
	start := len(line) - len(value)
	end := closingQuote(text[start:], value[0] == '"')
	if end < 0 {
		return line, after // an open quote: the line is bad, the next ones are not
	}
	end += start + 1
	newline := strings.IndexByte(text[end:], '\n')
	if newline < 0 {
		return text, ""
	}
	return text[:end+newline], text[end+newline+1:]
}

// closingQuote returns the index of the quote that closes the one at the start
// of text, or -1. A backslash may hide a quote.
func closingQuote(text string, backslash bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && backslash:
			i++
		case text[i] == text[0]:
			return i
		}
	}
	return -1
}

// dotenvValue takes the quotes or the comment off a value.
func dotenvValue(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		value, _, _ = strings.Cut(" "+strings.ReplaceAll(value, "\t#", " #"), " #")
		return strings.TrimSpace(value), nil
	}
	end := closingQuote(value, value[0] == '"')
	if end < 0 {
		return "", fmt.Errorf("quote is not closed")
	}
	if tail := strings.TrimSpace(value[end+1:]); tail != "" && tail[0] != '#' {
		return "", fmt.Errorf("text after the closing quote")
	}
	inner := value[1:end]
	if value[0] == '\'' {
		return inner, nil
	}
	return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(inner), nil
}

package migrate

import (
	"fmt"
	"slices"
)

// A SyntaxError is a statement that has no place in its file.
type SyntaxError struct {
	File string
	Line int
	// Message says what was found and what to do.
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// keep are the kinds of definitions that OVERWRITE would start anew.
var keep = []string{"SEQUENCE", "NAMESPACE", "NS", "DATABASE", "DB"}

// repeatable is a statement that may run again: a DEFINE that says nothing of
// what exists already gets OVERWRITE or IF NOT EXISTS.
func repeatable(s statement) string {
	if s.keyword(0) != "DEFINE" || len(s.words) < 3 {
		return s.text
	}
	if next := s.keyword(2); next == "OVERWRITE" || next == "IF" {
		return s.text
	}
	clause := " OVERWRITE"
	if slices.Contains(keep, s.keyword(1)) {
		clause = " IF NOT EXISTS"
	}
	at := s.words[1].end
	return s.text[:at] + clause + s.text[at:]
}

// accessName is the name that a DEFINE ACCESS defines, "" for other statements.
func accessName(s statement) string {
	if s.keyword(0) != "DEFINE" || s.keyword(1) != "ACCESS" {
		return ""
	}
	i := 2
	switch s.keyword(2) {
	case "OVERWRITE":
		i = 3
	case "IF":
		i = 5
	}
	if i >= len(s.words) {
		return ""
	}
	return s.text[s.words[i].start:s.words[i].end]
}

// unwrap takes BEGIN and COMMIT off a file that is one transaction, which it is
// anyway, and refuses what would leave the transaction or the database.
func unwrap(file string, all []statement) ([]statement, error) {
	if n := len(all); n > 1 && all[0].keyword(0) == "BEGIN" && all[n-1].keyword(0) == "COMMIT" {
		all = all[1 : n-1]
	}
	for _, s := range all {
		switch s.keyword(0) {
		case "BEGIN", "COMMIT", "CANCEL":
			return nil, &SyntaxError{file, s.line, s.keyword(0) + " within the file: a file is one transaction; split it into several files"}
		case "USE":
			return nil, &SyntaxError{file, s.line, "USE: namespace and database are chosen by the configuration; remove the statement"}
		}
	}
	return all, nil
}

// checkDeclared refuses what a file that is applied again and again must not
// do.
func checkDeclared(file string, all []statement) error {
	for _, s := range all {
		switch s.keyword(0) {
		case "REMOVE", "DELETE":
			return &SyntaxError{file, s.line, s.keyword(0) + " in a file that is applied at every change: put it into a migration, which runs once"}
		}
	}
	return nil
}

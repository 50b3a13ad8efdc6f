package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells whether a Finding stops the program.
type Severity string

// An error stops the program, a warning does not.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// The File of findings that no file caused.
const (
	FileEnvironment = "environment"
	FileFlags       = "flags"
)

// Finding is one fault of a configuration. It never quotes a secret.
type Finding struct {
	Severity Severity `json:"severity"`
	// File is the path as it was opened, or FileEnvironment or FileFlags.
	File string `json:"file"`
	// Line and Column count from 1. Both are 0 when there is no place in the
	// file to point at, as for a missing file or a variable.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Key is the path of the key, as in "apps.api.method.concurrency", or the
	// name of the variable or flag. It is empty for faults of the whole file.
	Key string `json:"key,omitempty"`
	// Message says what was found and what is allowed.
	Message string `json:"message"`
	// Remedy says what to do about it.
	Remedy string `json:"remedy,omitempty"`
}

// String returns "file:line:column: key: message; remedy" without the parts
// that the finding does not have.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	b.WriteString(f.Message)
	if f.Remedy != "" {
		b.WriteString("; " + f.Remedy)
	}
	return b.String()
}

// Report is everything that was found in one configuration.
type Report struct {
	// File is the path of the configuration file as it was opened.
	File string `json:"file"`
	// Parsed tells whether the file was read and is well-formed YAML.
	Parsed bool `json:"parsed"`
	// Errors and Warnings are ordered by file, line and column; the
	// configuration file comes first. Both may be empty, neither is nil.
	Errors   []Finding `json:"errors"`
	Warnings []Finding `json:"warnings"`
}

// OK reports whether the configuration can be used: there is no error.
func (r Report) OK() bool { return len(r.Errors) == 0 }

// Findings returns the errors and then the warnings.
func (r Report) Findings() []Finding { return slices.Concat(r.Errors, r.Warnings) }

// InvalidError is what Load returns for a configuration that has errors.
type InvalidError struct {
	// Report holds all of them, and the warnings.
	Report Report
}

// Error returns the errors, one a line.
func (e *InvalidError) Error() string {
	lines := make([]string, 0, len(e.Report.Errors))
	for _, f := range e.Report.Errors {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

// report sorts findings into a Report and drops repetitions.
func report(file string, parsed bool, findings []Finding) Report {
	r := Report{File: file, Parsed: parsed, Errors: []Finding{}, Warnings: []Finding{}}
	seen := make(map[Finding]bool, len(findings))
	for _, f := range findings {
		if seen[f] {
			continue
		}
		seen[f] = true
		if f.Severity == SeverityError {
			r.Errors = append(r.Errors, f)
		} else {
			r.Warnings = append(r.Warnings, f)
		}
	}
	order := func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(fileRank(a.File, file), fileRank(b.File, file)),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	}
	slices.SortStableFunc(r.Errors, order)
	slices.SortStableFunc(r.Warnings, order)
	return r
}

// fileRank puts the configuration file first and what is no file last.
func fileRank(name, main string) int {
	switch name {
	case main:
		return 0
	case FileEnvironment:
		return 2
	case FileFlags:
		return 3
	}
	return 1
}

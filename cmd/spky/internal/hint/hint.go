// Package hint gives errors a remedy, which the command line shows on a line of
// its own.
package hint

import (
	"errors"
	"fmt"
)

// An Error is an error with its remedy.
type Error struct {
	Err error
	// Text says what to do.
	Text string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Wrap adds a remedy to an error.
func Wrap(err error, format string, args ...any) error {
	return &Error{Err: err, Text: fmt.Sprintf(format, args...)}
}

// Of is the remedy that an error carries, "" without.
func Of(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Text
	}
	return ""
}

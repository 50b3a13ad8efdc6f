package surreal

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotConnected is a call that found no connection for as long as it was willing to wait. Nothing was sent.
	ErrNotConnected = errors.New("not connected to SurrealDB")
	// ErrDisconnected is a call whose connection dropped while it was in flight. Its outcome is unknown. A [Live]
	// ends with it too.
	ErrDisconnected = errors.New("connection to SurrealDB lost")
	// ErrClosed is a call after the client's end.
	ErrClosed = errors.New("the SurrealDB client is closed")
	// ErrKilled ends a [Live] that the server ended: somebody killed it, or its table was removed.
	ErrKilled = errors.New("the live query was killed")
	// ErrTooLarge is a request beyond Config.MaxMessage. Nothing was sent.
	ErrTooLarge = errors.New("the request is too large")
	// ErrAnswerTooLarge is a call whose answer is beyond Config.MaxMessage. It was carried out; other calls, and the
	// connection, go on.
	ErrAnswerTooLarge = errors.New("the answer is too large")
)

// errUnsent is a call whose connection was lost before any of it was written.
var errUnsent = errors.New("not sent")

// codeConflict is the code newer servers give a transaction that may be tried again.
const codeConflict = -32009

// QueryError is a statement the database refused, or a request it refused as a whole.
type QueryError struct {
	// Statement is the position of the statement in the request, from 0; -1 for the request as a whole, for
	// instance a syntax error.
	Statement int
	// Message is the database's text for the cause.
	Message string
	// Kind and Details are the database's own classification. Details is mostly a map with "kind" and "details".
	Kind    string
	Details any
	// Code is the RPC error's number, 0 for statements.
	Code int
}

func (e *QueryError) Error() string {
	if e.Statement < 0 {
		return e.Message
	}
	return fmt.Sprintf("statement %d: %s", e.Statement+1, e.Message)
}

// detail reports whether kind is one of the kinds nested in Details.
func (e *QueryError) detail(kind string) bool {
	for details := e.Details; details != nil; {
		switch d := details.(type) {
		case string:
			return d == kind
		case map[string]any:
			if d["kind"] == kind {
				return true
			}
			details = d["details"]
		default:
			return false
		}
	}
	return false
}

func queryError(err error, matches func(e *QueryError) bool) bool {
	var e *QueryError
	return errors.As(err, &e) && matches(e)
}

// IsConflict reports that another transaction got in between and this one had no effect: run it again. [Retry] does.
func IsConflict(err error) bool {
	return queryError(err, func(e *QueryError) bool {
		return e.Kind != kindThrown && (e.Code == codeConflict || strings.Contains(e.Message, "can be retried"))
	})
}

// IsAlreadyExists reports a record that was to be created and exists.
func IsAlreadyExists(err error) bool {
	return queryError(err, func(e *QueryError) bool {
		return strings.Contains(e.Message, "Database record `") && strings.HasSuffix(e.Message, "already exists")
	})
}

// IsUniqueViolation reports a value that a UNIQUE index already holds, for another record.
func IsUniqueViolation(err error) bool {
	return queryError(err, func(e *QueryError) bool {
		return strings.Contains(e.Message, "Database index `") && strings.Contains(e.Message, "already contains")
	})
}

// IsNotFound reports that a table, function, namespace or anything else a statement names is not there. A missing
// record is no error to SurrealDB.
func IsNotFound(err error) bool {
	return queryError(err, func(e *QueryError) bool {
		// A missing function has no kind of its own, nor has a missing table that a block ran into.
		return e.Kind == "NotFound" || strings.HasPrefix(e.Message, "Function '") && strings.Contains(e.Message, "not found") ||
			strings.HasPrefix(e.Message, "An error occurred: The table '") && strings.HasSuffix(e.Message, "' does not exist")
	})
}

// IsValueRefused reports a value that a field does not take: by its type, or by an ASSERT.
func IsValueRefused(err error) bool {
	return queryError(err, func(e *QueryError) bool {
		return e.Kind != kindThrown && (strings.HasPrefix(e.Message, "Couldn't coerce value for field `") ||
			strings.HasPrefix(e.Message, "Found ") && strings.Contains(e.Message, "but field must conform to: "))
	})
}

const kindThrown = "Thrown"

// IsThrown reports a THROW and what was thrown, as text.
func IsThrown(err error) (string, bool) {
	var e *QueryError
	if !errors.As(err, &e) || e.Kind != kindThrown {
		return "", false
	}
	return strings.TrimPrefix(e.Message, "An error occurred: "), true
}

// IsAuth reports refused credentials, an expired session and missing permissions.
func IsAuth(err error) bool {
	return queryError(err, func(e *QueryError) bool { return e.Kind == "NotAllowed" || sessionLost(e) || refused(e) })
}

// refused recognises a refused sign-in on servers that give it no kind.
func refused(e *QueryError) bool {
	return strings.Contains(e.Message, "problem with authentication") || strings.Contains(e.Message, "InvalidAuth")
}

// sessionLost recognises that the server no longer knows who we are. Only signing in again helps.
func sessionLost(e *QueryError) bool {
	if e.Kind == kindThrown {
		return false
	}
	for _, kind := range []string{"SessionExpired", "TokenExpired"} {
		if e.detail(kind) {
			return true
		}
	}
	for _, text := range []string{"The session has expired", "The token has expired", "Anonymous access not allowed"} {
		if strings.HasPrefix(e.Message, text) {
			return true
		}
	}
	return false
}

// IsUnreachable reports that the database could not be talked to: not connected, or disconnected meanwhile.
func IsUnreachable(err error) bool {
	return errors.Is(err, ErrNotConnected) || errors.Is(err, ErrDisconnected)
}

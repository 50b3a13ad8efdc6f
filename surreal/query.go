package surreal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Result is what one statement returned.
type Result struct {
	// Raw is undecoded.
	Raw cbor.RawMessage

	fields *fieldCache
}

// Decode decodes the result, as [Unmarshal] does. A list of rows goes into a slice; what has no place there gives an
// error.
func (r Result) Decode(into any) error {
	if len(r.Raw) == 0 {
		return errors.New("decode: the result is empty")
	}
	return unmarshal(r.Raw, into, r.fields)
}

// IsNone reports that the statement returned NONE or NULL.
func (r Result) IsNone() bool {
	c := cursor{data: r.Raw}
	return c.isNull()
}

// Results are the statements' results in the order of the request. BEGIN and COMMIT have results too, NONE.
type Results []Result

// Querier is what can run SurrealQL: a [Client], or what [Client.Retrying] returns.
type Querier interface {
	// Query runs one request, of one or many statements, with bound parameters.
	Query(ctx context.Context, surql string, vars map[string]any) (Results, error)
}

// First runs the request and decodes its first statement's result. A result of NONE gives T's zero value.
func First[T any](ctx context.Context, q Querier, surql string, vars map[string]any) (T, error) {
	return decoded[T](ctx, q, surql, vars, func(Results) int { return 0 })
}

// Last runs the request and decodes its last statement's result, not counting COMMIT. A result of NONE gives T's zero
// value.
func Last[T any](ctx context.Context, q Querier, surql string, vars map[string]any) (T, error) {
	return decoded[T](ctx, q, surql, vars, func(results Results) int {
		if n := len(results); n > 1 && results[n-1].IsNone() && endsInCommit(surql) {
			return n - 2
		}
		return len(results) - 1
	})
}

// Exec runs the request for its effect.
func Exec(ctx context.Context, q Querier, surql string, vars map[string]any) error {
	_, err := q.Query(ctx, surql, vars)
	return err
}

func decoded[T any](ctx context.Context, q Querier, surql string, vars map[string]any, pick func(Results) int) (T, error) {
	var value T
	results, err := q.Query(ctx, surql, vars)
	if err != nil {
		return value, err
	}
	if len(results) == 0 {
		return value, errors.New("query: the request has no statement")
	}
	if err := results[pick(results)].Decode(&value); err != nil {
		var zero T
		return zero, fmt.Errorf("query: %w", err)
	}
	return value, nil
}

// endsInCommit looks at the last word of a request, before comments on lines of their own.
func endsInCommit(surql string) bool {
	for {
		surql = strings.TrimRight(surql, "; \t\r\n")
		start := strings.LastIndexByte(surql, '\n') + 1
		line := strings.TrimSpace(surql[start:])
		if start == 0 || !(strings.HasPrefix(line, "--") || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#")) {
			break
		}
		surql = surql[:start]
	}
	words := strings.Fields(strings.ToUpper(surql[max(0, len(surql)-40):]))
	if n := len(words); n > 1 && words[n-1] == "TRANSACTION" {
		words = words[:n-1]
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return last == "COMMIT" || strings.HasSuffix(last, ";COMMIT")
}

// parseRows splits the answer to a query into its statements' results, or gives the cause of its failure.
func parseRows(answer []byte, fields *fieldCache) (Results, error) {
	c := cursor{data: answer}
	major, count, indefinite, err := c.head()
	if err != nil {
		return nil, err
	}
	if major != majorArray {
		return nil, errUnexpected
	}
	results := make(Results, 0, min(count, 1024))
	var cause *QueryError
	for n := 0; indefinite || uint64(n) < count; n++ {
		if indefinite && c.atBreak() {
			break
		}
		r, err := parseRow(&c)
		if err != nil {
			return nil, err
		}
		if r.failed {
			cause = worse(cause, r.fault(n))
			continue
		}
		results = append(results, Result{r.result, fields})
	}
	if cause != nil {
		return nil, cause
	}
	return results, nil
}

// row is one statement's part of an answer.
type row struct {
	failed                bool
	result, kind, details []byte
}

func parseRow(c *cursor) (row, error) {
	var r row
	err := c.fields(answerDepth, func(key, value []byte) error {
		switch string(key) {
		case "status":
			inner := cursor{data: value}
			status, err := inner.text()
			r.failed = string(status) != "OK"
			return err
		case "result":
			r.result = value
		case "kind":
			r.kind = value
		case "details":
			r.details = value
		}
		return nil
	})
	return r, err
}

func (r row) fault(statement int) *QueryError {
	e := &QueryError{Statement: statement}
	if err := unmarshal(r.result, &e.Message, nil); err != nil || e.Message == "" {
		e.Message = "the statement failed without a message"
	}
	if len(r.kind) > 0 {
		_ = unmarshal(r.kind, &e.Kind, nil)
	}
	if len(r.details) > 0 {
		_ = unmarshal(r.details, &e.Details, nil)
	}
	return e
}

// worse picks the cause of a failed request: the first statement that failed by itself. Statements that were only
// taken along say so.
func worse(first, next *QueryError) *QueryError {
	if first == nil || takenAlong(first) && !takenAlong(next) {
		return next
	}
	return first
}

func takenAlong(e *QueryError) bool {
	return strings.Contains(e.Message, "not executed due to a failed transaction") ||
		strings.Contains(e.Message, "not executed due to a cancelled transaction")
}

package surreal

import (
	"context"
	"errors"
	"fmt"
)

// Rows is the first statement's rows, each still undecoded, so that one row that can't be decoded takes no other down
// with it. NONE is no rows.
func Rows(ctx context.Context, q Querier, surql string, vars map[string]any) ([]Result, error) {
	results, err := q.Query(ctx, surql, vars)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("query: the request has no statement")
	}
	rows, err := results[0].rows()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return rows, nil
}

// rows splits a list without decoding or copying it.
func (r Result) rows() ([]Result, error) {
	c := cursor{data: r.Raw}
	if c.isNull() {
		return nil, nil
	}
	n, indefinite, err := c.count(majorArray)
	if err != nil {
		return nil, fmt.Errorf("want a list of rows: %w", err)
	}
	rows := make([]Result, 0, n)
	for i := 0; c.more(i, n, indefinite); i++ {
		raw, err := c.raw(answerDepth)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Result{raw, r.fields})
	}
	return rows, nil
}

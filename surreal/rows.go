package surreal

import (
	"context"

	"github.com/fxamacker/cbor/v2"
)

// Rows is the first statement's rows, each still undecoded, so that one row that can't be decoded
// takes no other down with it. NONE is no rows.
func Rows(ctx context.Context, q Querier, surql string, vars map[string]any) ([]Result, error) {
	all, err := First[[]cbor.RawMessage](ctx, q, surql, vars)
	if err != nil {
		return nil, err
	}
	rows := make([]Result, len(all))
	for i, raw := range all {
		rows[i] = Result{Raw: raw}
	}
	return rows, nil
}

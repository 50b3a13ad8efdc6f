package schema

import (
	"context"
	"fmt"
)

// DB runs SurrealQL. An implementation answers with the value of each statement in order, or with
// the error of the first that failed, and repeats a request that lost an optimistic conflict.
type DB interface {
	Values(ctx context.Context, surql string, vars map[string]any) ([]any, error)
}

// object runs one statement whose value is an object.
func object(ctx context.Context, db DB, surql string) (map[string]any, error) {
	values, err := db.Values(ctx, surql, nil)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no answer to %q", surql)
	}
	found, ok := values[len(values)-1].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("answer to %q is %T, not an object", surql, values[len(values)-1])
	}
	return found, nil
}

// names is the object of definitions that INFO answers with under key.
func names(info map[string]any, key string) map[string]string {
	found := map[string]string{}
	defs, _ := info[key].(map[string]any)
	for name, def := range defs {
		text, _ := def.(string)
		found[name] = text
	}
	return found
}

package surreal

import "context"

// Values is Query with every statement's value decoded into Go's own types, for callers that look at
// whatever there is, and with the request repeated when it lost a conflict.
func (c *Client) Values(ctx context.Context, surql string, vars map[string]any) ([]any, error) {
	results, err := c.Retrying().Query(ctx, surql, vars)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(results))
	for i, result := range results {
		if err := result.Decode(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

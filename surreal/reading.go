package surreal

import (
	"context"
	"fmt"
	"time"
)

// cancelGrace is how long the end of a transaction that is taken back is waited for. Once it is asked for it comes, also
// where the database is still busy with what the transaction was for.
const cancelGrace = time.Second

// Reading is the client with each request in a transaction that is taken back once it has answered. Whatever the request
// writes, by a statement of its own or in a function that it calls, is gone then; it sees it itself, and nobody is
// notified. A statement that fails does not keep those after it from being tried. It takes three round trips.
func (c *Client) Reading() Querier { return reading{c} }

type reading struct{ client *Client }

func (r reading) Query(ctx context.Context, surql string, vars map[string]any) (results Results, err error) {
	err = r.client.patiently(ctx, func(ctx context.Context, t *transport) error {
		results, err = r.client.tryOut(ctx, t, surql, vars)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// tryOut runs a request on one connection and takes back what it did.
func (c *Client) tryOut(ctx context.Context, t *transport, surql string, vars map[string]any) (Results, error) {
	answer, err := t.call(ctx, "begin")
	if err != nil {
		return nil, c.count(0, err)
	}
	var txn UUID
	if err := unmarshal(answer, &txn, &c.pools.fields); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer t.takeBack(ctx, txn)
	if answer, err = t.queryIn(ctx, txn, surql, vars); err != nil {
		return nil, c.count(0, err)
	}
	results, err := parseRows(answer, &c.pools.fields)
	if err != nil {
		err = fmt.Errorf("query: %w", err)
	}
	return results, c.count(len(results), err)
}

// takeBack cancels a transaction. Where that fails the connection is lost, and the transaction with it.
func (t *transport) takeBack(ctx context.Context, txn UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	_, _ = t.call(ctx, "cancel", txn)
}

// queryIn is the call "query" in a transaction.
func (t *transport) queryIn(ctx context.Context, txn UUID, surql string, vars map[string]any) ([]byte, error) {
	if vars == nil {
		vars = map[string]any{}
	}
	return t.roundTrip(ctx, "query", func(e *encoder, id uint64) error {
		return e.object(map[string]any{"id": id, "method": "query", "params": []any{surql, vars}, "txn": txn}, requestDepth+2)
	})
}

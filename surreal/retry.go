package surreal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	retryAttempts = 20
	retryFirst    = time.Millisecond
	retryMost     = 100 * time.Millisecond
)

// Retry runs fn until it no longer fails with a conflict: at most 20 times, after a pause of up to 1 ms, doubling up
// to 100 ms, each drawn evenly from nothing to all of it. fn must be safe to run again: every attempt that conflicted
// had no effect, and it starts from the beginning.
func Retry(ctx context.Context, fn func(ctx context.Context) error) error {
	pause := retryFirst
	for attempt := 1; ; attempt++ {
		err := fn(ctx)
		if err == nil || !IsConflict(err) {
			return err
		}
		if attempt == retryAttempts {
			return fmt.Errorf("after %d attempts: %w", attempt, err)
		}
		if !sleep(ctx, rand.N(pause)) { //nolint:gosec // jitter is no secret
			return fmt.Errorf("gave up after %d attempts (%w): %w", attempt, context.Cause(ctx), err)
		}
		pause = min(2*pause, retryMost)
	}
}

// sleep reports whether ctx let it sleep through.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Retrying is the client with every request run again while it conflicts, as [Retry] does. Every request made with it
// must be one that may be repeated as a whole: a single statement or a transaction.
func (c *Client) Retrying() Retrier { return Retrier{c} }

// A Retrier is what [Client.Retrying] returns.
type Retrier struct{ client *Client }

// Reading is that of the client: what is taken back meets nobody.
func (r Retrier) Reading() Querier { return r.client.Reading() }

// Query is that of the client, again while it conflicts.
func (r Retrier) Query(ctx context.Context, surql string, vars map[string]any) (Results, error) {
	results, err := r.client.Query(ctx, surql, vars)
	if err == nil || !IsConflict(err) {
		return results, err
	}
	first := true
	err = Retry(ctx, func(ctx context.Context) error {
		if first {
			first = false
			return err
		}
		results, err = r.client.Query(ctx, surql, vars)
		return err
	})
	return results, err
}

package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// patience is how often a whole batch is tried before it is cut in two, and how often a single row
// is tried before its conflict is given up on.
const (
	patience       = 2
	singlePatience = 30
)

// divide runs do over all items. A batch that keeps losing conflicts, or that the database
// refuses, is halved until the items at fault stand alone; those go to alone. A database that is
// unreachable or does not answer in time, or an ended ctx, stops at once, with what is done by then.
func divide[T, R any](ctx context.Context, items []T,
	do func(context.Context, []T) ([]R, error), alone func(T, error) ([]R, error),
) ([]R, error) {
	if len(items) == 0 {
		return nil, nil
	}
	tries := patience
	if len(items) == 1 {
		tries = singlePatience
	}
	done, err := insist(ctx, tries, func() ([]R, error) { return do(ctx, items) })
	switch {
	case err == nil:
		return done, nil
	case unknown(ctx, err):
		return done, err
	case len(items) == 1:
		return alone(items[0], err)
	}
	half := len(items) / 2
	left, err := divide(ctx, items[:half], do, alone)
	if err != nil {
		return left, err
	}
	right, err := divide(ctx, items[half:], do, alone)
	return append(left, right...), err
}

// unknown says whether an error tells nothing of the items themselves.
func unknown(ctx context.Context, err error) bool {
	return surreal.IsUnreachable(err) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil
}

// insist repeats do while it loses conflicts, with growing random pauses.
func insist[R any](ctx context.Context, tries int, do func() (R, error)) (R, error) {
	for try := 1; ; try++ {
		done, err := do()
		if err == nil || try >= tries || !surreal.IsConflict(err) {
			return done, err
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(min(try, 20)) * int64(2*time.Millisecond)))) //nolint:gosec // jitter
		select {
		case <-ctx.Done():
			pause.Stop()
			return done, ctx.Err()
		case <-pause.C:
		}
	}
}

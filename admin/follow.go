package admin

import (
	"context"
	"errors"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A subscription that is registered while its table is written to can be deaf from the beginning, until the database
// forgets who listens to the table. So it is made to soon after the registration, and now and then from then on.
const (
	healFirst = 250 * time.Millisecond
	healEvery = 30 * time.Second
)

// registration is how long a registration that has begun may take.
const registration = 5 * time.Second

// listen registers a live query. Whoever does not want it any more halfway gets none, but only once it is registered:
// the connection of all others would have to be dropped otherwise.
func listen(ctx context.Context, db *surreal.Client, cfg surreal.LiveConfig) (*surreal.Live, error) {
	if err := surreal.Exec(ctx, db, "RETURN NONE", nil); err != nil { // waits for the connection
		return nil, err
	}
	registering, cancel := context.WithTimeout(context.WithoutCancel(ctx), registration)
	defer cancel()
	feed, err := db.Live(registering, cfg)
	if err == nil && ctx.Err() != nil {
		closeFeed(ctx, feed)
		return nil, ctx.Err()
	}
	return feed, err
}

// errGap is a feed that lost changes.
var errGap = errors.New("more changes than could be kept")

// follow tells what a feed of a table says until it ends. It calls each of healed once the feed, had it been deaf, hears
// again: something may have been missed.
func follow(ctx context.Context, db *surreal.Client, table string, feed *surreal.Live, tell func(surreal.Event) error, healed ...func() error) error {
	wait := healFirst
	heal := time.NewTimer(wait)
	defer heal.Stop()
	for {
		select {
		case <-feed.C():
		case <-heal.C:
			heard, cancel := context.WithTimeout(ctx, registration)
			_ = db.ForgetListeners(heard, table) // where it fails, the connection is gone and the feed with it
			cancel()
			for _, say := range healed {
				if err := say(); err != nil {
					return err
				}
			}
			wait = min(4*wait, healEvery)
			if wait < healEvery {
				heal.Reset(wait)
			} else { // all at the same moments: what looks again then does so once
				heal.Reset(time.Until(time.Now().Truncate(wait).Add(wait)))
			}
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		events, overflow := feed.Take()
		for _, e := range events {
			if err := tell(e); err != nil {
				return err
			}
		}
		if err := feed.Err(); err != nil {
			return err
		}
		if overflow {
			return errGap
		}
	}
}

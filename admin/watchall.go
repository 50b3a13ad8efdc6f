package admin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/live_instances.surql
var liveInstancesStatement string

// An InstanceChange says that something happened to an instance: it was created, moved on, or was deleted.
type InstanceChange struct {
	ID string `json:"id,omitempty"`
	// Gap says that this is no instance: changes may have been missed. List what matters again.
	Gap bool `json:"gap,omitempty"`
}

// Changes tells of every change of an instance until ctx ends. It is driven by LIVE SELECT alone, and best
// effort: those during a lost connection are not told, but the gap is. While it listens every write of an
// instance costs the database a little more.
func (d *Durable) Changes(ctx context.Context, tell func(InstanceChange) error) error {
	for again := false; ; again = true {
		feed, err := listen(ctx, d.db, surreal.LiveConfig{Table: instanceTable, Statement: liveInstancesStatement})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case surreal.IsUnreachable(err):
			continue // having waited for the connection
		case err != nil:
			return fmt.Errorf("watch instances: %w", err)
		}
		if again { // what was listed while nobody listened may be out of date
			err = tell(InstanceChange{Gap: true})
		}
		if err == nil {
			err = follow(ctx, d.db, instanceTable, feed, func(e surreal.Event) error { return tell(InstanceChange{ID: key(e.Record)}) })
		}
		closeFeed(ctx, feed)
		if !errors.Is(err, errGap) && !errors.Is(err, surreal.ErrKilled) && !surreal.IsUnreachable(err) {
			return err
		}
	}
}

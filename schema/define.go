package schema

import (
	"context"
	"strings"
	"time"
)

// While the database builds an index, nobody else may define it: what several processes find that
// start at the same moment, of whom the first is just ahead.
const (
	building      = "is currently building"
	buildingPause = 50 * time.Millisecond
	buildingLimit = time.Minute
)

// define runs statements that can be run again, and does so while they meet an index that is being built.
func define(ctx context.Context, db DB, ddl string) error {
	over := time.Now().Add(buildingLimit)
	for {
		_, err := db.Values(ctx, ddl, nil)
		if err == nil || !strings.Contains(err.Error(), building) || time.Now().After(over) {
			return err
		}
		pause := time.NewTimer(buildingPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

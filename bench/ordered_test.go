package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// TestOrderedIDsComeInTheOrderOfTheRows writes rows whose ids grow, and has them listed by when they are due.
func TestOrderedIDsComeInTheOrderOfTheRows(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	db := surreal.Config{Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password}
	err := onGround(t.Context(), db, func(ctx context.Context, g *ground) error {
		g.ordered = true
		for range 30 {
			if err := g.insertOnce(ctx, 1, nil); err != nil {
				return err
			}
		}
		due, err := g.box.Due(ctx, time.Unix(0, 0), time.Now().Add(time.Minute), 100)
		ids := make([]string, len(due))
		for i, row := range due {
			ids[i] = surreal.FormatID(row.ID)
		}
		if len(ids) != 30 || !slices.IsSorted(ids) {
			t.Errorf("the ids are %q", ids)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

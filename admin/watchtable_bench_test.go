package admin

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
)

// BenchmarkWatchedWrites measures writes of one job each, eight at a time, of a table that nobody watches, that is
// listened to, and that [Cluster.Changes] watches.
func BenchmarkWatchedWrites(b *testing.B) {
	for name, watch := range map[string]func(context.Context, *surreal.Client) error{
		"nobody": func(ctx context.Context, _ *surreal.Client) error { <-ctx.Done(); return ctx.Err() },
		"LIVE": func(ctx context.Context, db *surreal.Client) error {
			feed, err := listen(ctx, db, surreal.LiveConfig{Statement: "LIVE SELECT id FROM job"})
			if err != nil {
				return err
			}
			defer closeFeed(ctx, feed)
			return follow(ctx, db, "job", feed, func(surreal.Event) error { return nil })
		},
		"changes": func(ctx context.Context, db *surreal.Client) error {
			return NewCluster(ClusterConfig{DB: db, Tables: []string{"job"}}).Changes(ctx, "job", func(TableChange) error { return nil })
		},
	} {
		b.Run(name, func(b *testing.B) {
			db := populated(b, 0, 0)
			ctx, stop := context.WithCancel(b.Context())
			var beside errgroup.Group
			beside.Go(func() error { return watch(ctx, db) })
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := surreal.Exec(ctx, db, "CREATE job SET path = '/work', payload = {} RETURN NONE", nil); err != nil {
						b.Error(err)
					}
				}
			})
			stop()
			if err := beside.Wait(); !errors.Is(err, context.Canceled) {
				b.Error(err)
			}
		})
	}
}

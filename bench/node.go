package bench

import (
	"context"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/ssp"
)

// whileRunning measures while a node runs: from when it is ready, and stops it then.
func whileRunning(ctx context.Context, node *ssp.Node, measure func(context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return node.Run(running) })
	group.Go(func() error {
		defer stop()
		select {
		case <-node.Ready():
			return measure(running)
		case <-running.Done():
			return context.Cause(running)
		}
	})
	return group.Wait()
}

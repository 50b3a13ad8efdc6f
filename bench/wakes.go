package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// Instances sleep for at least sleepLeast, and wake within sleepSpread of each other.
const (
	sleepLeast  = 4 * time.Second
	sleepSpread = 6 * time.Second
)

// A WakesReport is what [Wakes] measured.
type WakesReport struct {
	Count int `json:"count"`
	// Late is from the moment at which an instance is to wake until the code after its sleep runs.
	Late Spread `json:"late_ms"`
}

// Wakes measures how late instances wake that sleep, Count of them.
func Wakes(ctx context.Context, o WorkflowOptions) (WakesReport, error) {
	o, err := o.withDefaults(1)
	if err != nil {
		return WakesReport{}, err
	}
	report := WakesReport{Count: o.Count}
	err = o.with(ctx, func(ctx context.Context, b *workflowBench) (err error) {
		report.Late, err = b.wakes(ctx)
		return err
	})
	return report, err
}

func (b *workflowBench) wakes(ctx context.Context) (Spread, error) {
	b.say("wake-ups")
	late := make([]time.Duration, b.Count)
	group, ctx := errgroup.WithContext(ctx)
	for i := range late {
		group.Go(func() (err error) {
			late[i], err = b.oneWake(ctx)
			return err
		})
	}
	err := group.Wait()
	return spread(late), err
}

func (b *workflowBench) oneWake(ctx context.Context) (time.Duration, error) {
	at := time.Now().Add(sleepLeast + rand.N(sleepSpread)) //nolint:gosec // no secret
	instance, err := b.flow.Create(ctx, work{Wake: at})
	if err != nil {
		return 0, err
	}
	woke, err := first(ctx, b.moments.expect(instance.ID(), resumed), "the code after the sleep")
	return woke.Sub(at), err
}

// Write prints the report for people.
func (r WakesReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "wake-ups      %d late by p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms\n", r.Count, r.Late.P50, r.Late.P90, r.Late.P99, r.Late.Max)
	return err
}

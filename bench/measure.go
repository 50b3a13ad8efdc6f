package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
)

// patience bounds the wait for one thing that must happen.
const patience = time.Minute

func (b *jobsBench) newID() surreal.RecordID {
	return surreal.RecordID{Table: b.table, ID: rand.Text()}
}

func (b *jobsBench) create(ctx context.Context, id surreal.RecordID) error {
	return surreal.Exec(ctx, b.client.Retrying(), "CREATE $id SET path = '/noop', payload = { n: 1 } RETURN NONE", map[string]any{"id": id})
}

// paced calls do n times at the measured rate, one after another.
func (b *jobsBench) paced(ctx context.Context, n int, do func(context.Context) (time.Duration, error)) (Spread, error) {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / b.Rate))
	defer ticker.Stop()
	times := make([]time.Duration, 0, n)
	for range n {
		took, err := do(ctx)
		if err != nil {
			return Spread{}, err
		}
		times = append(times, took)
		select {
		case <-ctx.Done():
			return Spread{}, ctx.Err()
		case <-ticker.C:
		}
	}
	return spread(times), nil
}

// latency measures from just before the insert until the backend has the request.
func (b *jobsBench) latency(ctx context.Context) (err error) {
	course := newCourse("inserted", "announced, claimed and sent")
	b.report.Latency, err = b.paced(ctx, b.Samples, func(ctx context.Context) (time.Duration, error) { return b.oneJob(ctx, course) })
	b.report.LatencyLegs = course.legs()
	return err
}

func (b *jobsBench) oneJob(ctx context.Context, c *course) (time.Duration, error) {
	id := b.newID()
	arrives := b.backend.await(url.PathEscape(surreal.FormatID(id)))
	started := c.start()
	if err := b.create(ctx, id); err != nil {
		return 0, err
	}
	c.reached("inserted", time.Now())
	err := c.follow(ctx, []stop{{"announced, claimed and sent", arrives}})
	return c.last.Sub(started), err
}

func (b *jobsBench) warmUp(ctx context.Context) error {
	for range 50 {
		if _, err := b.oneJob(ctx, newCourse()); err != nil {
			return err
		}
	}
	return nil
}

// bareLive measures what the database alone takes to tell of an insert.
func (b *jobsBench) bareLive(ctx context.Context) error {
	client, hangUp, err := surreal.Connect(ctx, b.DB)
	if err != nil {
		return err
	}
	live, err := client.Live(ctx, surreal.LiveConfig{Table: b.table, Statement: "LIVE SELECT id FROM `" + b.table + "`"})
	if err == nil {
		b.report.Live, err = b.paced(ctx, b.Samples, func(ctx context.Context) (time.Duration, error) {
			started := time.Now()
			if err := b.create(ctx, b.newID()); err != nil {
				return 0, err
			}
			if _, err := first(ctx, live.C(), "a notification"); err != nil {
				return 0, err
			}
			took := time.Since(started)
			live.Take()
			return took, live.Err()
		})
		live.Close(ctx)
	}
	if closeErr := hangUp(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return surreal.Exec(ctx, b.client.Retrying(), "DELETE `"+b.table+"` WHERE run_at > $past AND run_at <= $soon RETURN NONE",
		map[string]any{"past": time.Unix(0, 0), "soon": time.Now().Add(time.Minute)})
}

// throughput measures from the first of many inserts to the last success.
func (b *jobsBench) throughput(ctx context.Context) error {
	started := time.Now()
	requests := b.backend.requests.Load()
	b.backend.peak.Store(0)
	group, inserting := errgroup.WithContext(ctx)
	var written atomic.Int64
	for range b.Inserters {
		group.Go(func() error {
			for {
				from := int(written.Add(int64(b.Batch))) - b.Batch
				if from >= b.Count {
					return nil
				}
				if err := b.insertOnce(inserting, min(b.Batch, b.Count-from), nil); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	b.report.Inserts = float64(b.Count) / time.Since(started).Seconds()
	if err := b.untilDone(ctx, b.backend, requests+int64(b.Count), b.Count); err != nil {
		return err
	}
	b.report.Throughput = float64(b.Count) / time.Since(started).Seconds()
	b.report.Requests = b.backend.requests.Load() - requests
	b.report.SlotsUsedPeak = b.backend.peak.Load()
	if b.report.Requests != int64(b.Count) {
		return fmt.Errorf("%d requests for %d jobs", b.report.Requests, b.Count)
	}
	return nil
}

// drain measures how fast a backlog of the same size goes.
func (b *jobsBench) drain(ctx context.Context) error {
	started, requests := time.Now(), b.backend.requests.Load()
	if err := b.insert(ctx, b.Count, nil); err != nil {
		return err
	}
	if err := b.untilDone(ctx, b.backend, requests+int64(b.Count), b.Count); err != nil {
		return err
	}
	b.report.DrainPerSecond = float64(b.Count) / time.Since(started).Seconds()
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func first[T any](ctx context.Context, from <-chan T, what string) (T, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case got := <-from:
		return got, nil
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case <-timer.C:
		var none T
		return none, fmt.Errorf("%s did not come within %s", what, patience)
	}
}

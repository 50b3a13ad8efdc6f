package bench

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

const ceilingBatch = 50

// A jobsBench is one run.
type jobsBench struct {
	Options
	*ground
	report  Report
	backend *backend
}

// Jobs measures the way of a job: throughput against the ceiling that the database sets, latency
// against a bare LIVE SELECT, and what an idle node costs.
func Jobs(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	b := &jobsBench{Options: o}
	b.report = Report{Count: o.Count, Concurrency: o.Concurrency, Inserters: o.Inserters, Batch: o.Batch, Backlog: o.Backlog, Rate: o.Rate}
	err = onGround(ctx, o.DB, func(ctx context.Context, g *ground) error {
		b.ground = g
		g.tenants = o.Partitions
		return b.run(ctx)
	})
	return b.report, err
}

func (b *jobsBench) run(ctx context.Context) (err error) {
	if b.backend, err = newBackend(); err != nil {
		return err
	}
	defer b.backend.close()
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{{"backlog", b.fill}, {"ceiling", b.ceiling}, {"bare LIVE", b.bareLive}, {"node", b.withNode}} {
		b.say(part.name)
		if err := part.do(ctx); err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	b.report.OfCeiling = b.report.Throughput / b.report.Ceiling
	b.report.OfLive = b.report.Latency.P50 / b.report.Live.P50
	return nil
}

func (b *jobsBench) say(what string) { _, _ = fmt.Fprintf(b.Progress, "measuring: %s\n", what) }

// fill writes the rows that must not matter.
func (b *jobsBench) fill(ctx context.Context) error {
	if b.Backlog == 0 {
		return nil
	}
	if err := b.insert(ctx, b.Backlog, map[string]any{"delay": 24 * 60 * 60 * 1000}); err != nil {
		return err
	}
	return b.insert(ctx, b.Backlog, map[string]any{"status": "success"})
}

// ceiling claims and completes rows with nothing in between: no queue, no HTTP, nobody listening.
func (b *jobsBench) ceiling(ctx context.Context) error {
	if err := b.insert(ctx, b.Count, nil); err != nil {
		return err
	}
	due, err := b.box.Due(ctx, time.Unix(0, 0), time.Now().Add(time.Minute), b.Count)
	if err != nil {
		return err
	}
	if len(due) != b.Count {
		return fmt.Errorf("%d rows are due, %d were written", len(due), b.Count)
	}
	started := time.Now()
	for len(due) > 0 {
		n := min(len(due), ceilingBatch)
		if err := b.claimAndComplete(ctx, due[:n]); err != nil {
			return err
		}
		due = due[n:]
	}
	b.report.Ceiling = float64(b.Count) / time.Since(started).Seconds()
	return b.clear(ctx)
}

func (b *jobsBench) claimAndComplete(ctx context.Context, due []outbox.Due) error {
	ids := make([]surreal.RecordID, len(due))
	for i, row := range due {
		ids[i] = row.ID
	}
	jobs, _, err := b.box.Claim(ctx, "bench", ids)
	if err != nil {
		return err
	}
	if len(jobs) != len(ids) {
		return fmt.Errorf("claimed %d of %d rows", len(jobs), len(ids))
	}
	outcomes := make([]outbox.Outcome, len(jobs))
	for i, job := range jobs {
		outcomes[i] = outbox.Outcome{ID: job.ID, Epoch: job.Epoch, Status: outbox.Success, Result: map[string]any{"ok": true}}
	}
	_, err = b.box.Settle(ctx, outcomes)
	return err
}

// clear removes the jobs that were measured; the backlog stays.
func (b *jobsBench) clear(ctx context.Context) error {
	if b.Backlog > 0 {
		return nil // finished rows are part of the backlog
	}
	return surreal.Exec(ctx, b.client.Retrying(), "DELETE `"+b.table+"` RETURN NONE", nil)
}

// withNode measures what needs a running node.
func (b *jobsBench) withNode(ctx context.Context) error {
	base, err := url.Parse(b.backend.url)
	if err != nil {
		return err
	}
	backend := config.Backend{Name: "bench", BaseURL: base, Table: b.table, Concurrency: b.Concurrency, Timeout: 10 * time.Second}
	if b.Partitions > 0 {
		backend.PartitionBy = "payload"
	}
	node, err := ssp.New(ssp.Config{DB: b.DB, Version: "bench", Logger: b.Logger, Backends: []config.Backend{backend}})
	if err != nil {
		return err
	}
	return whileRunning(ctx, node, func(ctx context.Context) error { return b.measureNode(ctx, node) })
}

func (b *jobsBench) measureNode(ctx context.Context, node *ssp.Node) error {
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"warm-up", b.warmUp},
		{"latency", b.latency},
		{"idle", func(ctx context.Context) error { return b.idle(ctx, node) }},
		{"throughput", b.throughput},
		{"drain", b.drain},
	} {
		b.say(part.name)
		if err := part.do(ctx); err != nil {
			return fmt.Errorf("measure %s: %w", part.name, err)
		}
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	b.report.HeapMiB = float64(mem.HeapAlloc) / (1 << 20)
	return nil
}

// idle counts what a node without work asks of the database.
func (b *jobsBench) idle(ctx context.Context, node *ssp.Node) error {
	if b.Idle < 0 {
		return nil
	}
	before := node.Statements()
	if err := pause(ctx, b.Idle); err != nil {
		return err
	}
	b.report.IdleSeconds = b.Idle.Seconds()
	b.report.IdleStatements = float64(node.Statements()-before) / b.Idle.Seconds()
	return nil
}

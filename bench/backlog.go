package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// BacklogOptions are those of [Backlog].
type BacklogOptions struct {
	ProcessOptions
	// Rows is the largest backlog; it is measured at a thousand, and at each ten times as many up to it. Defaults
	// to 100,000.
	Rows int
	// Watch is how long a node is looked at beside each backlog. Defaults to 5 s.
	Watch time.Duration
	// Ordered gives the jobs ids that grow, as `CREATE job:ulid()` does, instead of random ones.
	Ordered bool
}

const (
	// claimSamples claims and looks are timed at each size, fewer where there are not enough jobs.
	claimSamples = 24
	claimSize    = 64
	lookSize     = 1000
	// drained jobs are let through at each size to see how fast they go.
	drained = 2000
)

// A BacklogReport is what [Backlog] measured.
type BacklogReport struct {
	// Idle is the node beside an empty table.
	Idle Quiet `json:"idle"`
	// Sizes are the backlogs, all of them due, the smallest first.
	Sizes []BacklogSize `json:"sizes"`
	// ClaimGrowth and LookGrowth are the last size's times by the first one's.
	ClaimGrowth float64 `json:"claim_growth"`
	LookGrowth  float64 `json:"look_growth"`
}

// A BacklogSize is one backlog of due jobs.
type BacklogSize struct {
	Rows int `json:"rows"`
	// Look is one look for due jobs that reads a thousand, Claim one claim of 64 jobs, in milliseconds: the
	// fastest of some, for what else goes on on the machine grows with nothing that is measured here.
	Look  float64 `json:"look_ms"`
	Claim float64 `json:"claim_ms"`
	// Full is the node while all of it is due and every slot is taken by a request that hangs.
	Full Quiet `json:"full"`
	// PerSecond is how fast the first of it go once the requests end.
	PerSecond float64 `json:"jobs_per_second"`
}

// A backlogBench is one run.
type backlogBench struct {
	BacklogOptions
	*ground
	backend *backend
	report  BacklogReport
}

// Backlog measures what a growing backlog of due jobs costs: the database's looks and claims, and a node's
// memory, CPU and statements, which it should not change.
func Backlog(ctx context.Context, o BacklogOptions) (BacklogReport, error) {
	var err error
	if o.ProcessOptions, err = o.ProcessOptions.withDefaults(); err != nil {
		return BacklogReport{}, err
	}
	if o.Rows == 0 {
		o.Rows = 100_000
	}
	if o.Rows < 2*claimSize || o.Watch < 0 {
		return BacklogReport{}, fmt.Errorf("a backlog has %d rows at least, and times must not be negative", 2*claimSize)
	}
	if o.Watch == 0 {
		o.Watch = 5 * time.Second
	}
	b := &backlogBench{BacklogOptions: o}
	err = onGround(ctx, o.DB, func(ctx context.Context, g *ground) error {
		b.ground, g.ordered = g, b.Ordered
		return b.run(ctx)
	})
	return b.report, err
}

func (b *backlogBench) run(ctx context.Context) (err error) {
	if b.backend, err = newBackend(); err != nil {
		return err
	}
	defer b.backend.close()
	b.say("a node with nothing to do")
	err = b.withNode(ctx, func(ctx context.Context, n *childNode) (err error) {
		b.report.Idle, err = n.watch(ctx, b.Watch)
		return err
	})
	if err != nil {
		return err
	}
	have := 0
	for _, size := range sizes(b.Rows) {
		b.say(fmt.Sprintf("%d rows", size))
		if err := b.insert(ctx, size-have, nil); err != nil {
			return err
		}
		one := BacklogSize{Rows: size}
		if err := b.measure(ctx, &one); err != nil {
			return fmt.Errorf("measure %d rows: %w", size, err)
		}
		b.report.Sizes = append(b.report.Sizes, one)
		have = size - min(drained, size)
	}
	first, last := b.report.Sizes[0], b.report.Sizes[len(b.report.Sizes)-1]
	b.report.ClaimGrowth, b.report.LookGrowth = last.Claim/first.Claim, last.Look/first.Look
	return nil
}

// sizes are a thousand, ten thousand and so on up to rows, and rows.
func sizes(rows int) []int {
	var all []int
	for size := 1000; size < rows; size *= 10 {
		all = append(all, size)
	}
	return append(all, rows)
}

func (b *backlogBench) withNode(ctx context.Context, measure func(context.Context, *childNode) error) error {
	return withChild(ctx, b.ProcessOptions, b.table, b.backend.url, measure)
}

func (b *backlogBench) measure(ctx context.Context, size *BacklogSize) error {
	if err := b.bare(ctx, size); err != nil {
		return err
	}
	release := b.backend.hold()
	defer release()
	return b.withNode(ctx, func(ctx context.Context, n *childNode) (err error) {
		if err := b.until(ctx, func() bool { return b.backend.now.Load() >= int64(min(b.Concurrency, size.Rows)) }); err != nil {
			return fmt.Errorf("wait until all slots are taken: %w", err)
		}
		if size.Full, err = n.watch(ctx, b.Watch); err != nil {
			return err
		}
		jobs, from, started := int64(min(drained, size.Rows)), b.backend.requests.Load()-b.backend.now.Load(), time.Now()
		release()
		if err := b.until(ctx, func() bool { return b.backend.requests.Load() >= from+jobs }); err != nil {
			return fmt.Errorf("wait for the first jobs: %w", err)
		}
		size.PerSecond = float64(jobs) / time.Since(started).Seconds()
		return nil
	})
}

func (b *backlogBench) until(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !holds() {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// bare times looks and claims without any node. What is claimed is given back, to the end of the line.
func (b *backlogBench) bare(ctx context.Context, size *BacklogSize) error {
	samples := min(claimSamples, size.Rows/2/claimSize)
	looks, claims := make([]time.Duration, 0, samples), make([]time.Duration, 0, samples)
	after, until := time.Unix(0, 0), time.Now().Add(time.Minute)
	for range samples {
		started := time.Now()
		due, err := b.box.Due(ctx, after, until, lookSize)
		if err != nil {
			return err
		}
		looks = append(looks, time.Since(started))
		if len(due) < claimSize {
			return fmt.Errorf("%d rows are due, want %d at least", len(due), claimSize)
		}
		due = due[:claimSize]
		after = due[len(due)-1].RunAt
		took, err := b.claimAndRelease(ctx, due)
		if err != nil {
			return err
		}
		claims = append(claims, took)
	}
	size.Look, size.Claim = least(looks), least(claims)
	return nil
}

func (b *backlogBench) claimAndRelease(ctx context.Context, due []outbox.Due) (time.Duration, error) {
	ids := make([]surreal.RecordID, len(due))
	for i, row := range due {
		ids[i] = row.ID
	}
	started := time.Now()
	jobs, _, err := b.box.Claim(ctx, "bench", ids)
	took := time.Since(started)
	if err != nil {
		return 0, err
	}
	outcomes := make([]outbox.Outcome, len(jobs))
	for i, job := range jobs {
		outcomes[i] = outbox.Outcome{ID: job.ID, Epoch: job.Epoch, Status: outbox.Pending}
	}
	_, err = b.box.Settle(ctx, outcomes)
	return took, err
}

// least is in milliseconds.
func least(times []time.Duration) float64 { return float64(slices.Min(times).Microseconds()) / 1000 }

// Write prints the report for people.
func (r BacklogReport) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(format string, values ...any) { _, _ = fmt.Fprintf(t, format+"\t\n", values...) } // Flush tells
	line("due jobs\tlook ms\tclaim of 64 ms\tjobs/s\tnode RSS MiB\theap MiB\tnode CPU %%\tdatabase CPU %%\tstatements/s")
	line("none, idle\t\t\t\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f", r.Idle.RSSMiB, r.Idle.HeapMiB, r.Idle.NodeCPU, r.Idle.DatabaseCPU, r.Idle.Statements)
	for _, s := range r.Sizes {
		line("%d\t%.2f\t%.2f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f", s.Rows, s.Look, s.Claim, s.PerSecond,
			s.Full.RSSMiB, s.Full.HeapMiB, s.Full.NodeCPU, s.Full.DatabaseCPU, s.Full.Statements)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "a claim costs %.2f times as much at the end as at the beginning, a look %.2f times; nodes are measured while all slots are taken\n",
		r.ClaimGrowth, r.LookGrowth)
	return err
}

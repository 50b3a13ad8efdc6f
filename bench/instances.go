package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// An InstancesReport is what [Instances] measured. Rates are per second, times are milliseconds.
type InstancesReport struct {
	Count       int `json:"count"`
	Steps       int `json:"steps"`
	Concurrency int `json:"concurrency"`
	// PerSecond is instances from the first creation to the last end.
	PerSecond      float64 `json:"instances_per_second"`
	StepsPerSecond float64 `json:"steps_per_second"`
	// Ceiling is the same writes made by as many bare loops of protocol calls.
	Ceiling   float64 `json:"ceiling_per_second"`
	OfCeiling float64 `json:"of_ceiling"`
	// Together is one instance's time while the others run, Alone without them.
	Together Spread `json:"together_ms"`
	Alone    Spread `json:"alone_ms"`
	// BareAlone is one of the bare loops without the others.
	BareAlone Spread `json:"bare_alone_ms"`
	// Counted is what one instance costs; the transactions are those of the engine in this process, and
	// 0 for another backend.
	Counted Counted `json:"counted"`
}

// Instances measures many instances of a few steps each, at the same time and one alone.
func Instances(ctx context.Context, o WorkflowOptions) (InstancesReport, error) {
	o, err := o.withDefaults(5)
	if err != nil {
		return InstancesReport{}, err
	}
	report := InstancesReport{Count: o.Count, Steps: o.Steps, Concurrency: o.Concurrency}
	err = o.with(ctx, func(ctx context.Context, b *workflowBench) error { return b.instances(ctx, &report) })
	return report, err
}

func (b *workflowBench) instances(ctx context.Context, report *InstancesReport) error {
	b.say("ceiling")
	if err := b.bareTable(ctx); err != nil {
		return err
	}
	started := time.Now()
	if _, err := b.many(ctx, func(ctx context.Context) (time.Duration, error) { return 0, b.bare(ctx, b.Steps) }); err != nil {
		return err
	}
	report.Ceiling = float64(b.Count) / time.Since(started).Seconds()
	b.say("alone")
	bare := make([]time.Duration, b.Samples)
	for i := range bare {
		started := time.Now()
		if err := b.bare(ctx, b.Steps); err != nil {
			return err
		}
		bare[i] = time.Since(started)
	}
	report.BareAlone = spread(bare)
	before := b.requests()
	alone := make([]time.Duration, b.Samples)
	for i := range alone {
		took, err := b.once(ctx, work{Steps: b.Steps})
		if err != nil {
			return err
		}
		alone[i] = took
	}
	report.Alone = spread(alone)
	report.Counted.TransactionsAlone = b.requestsEach(before, b.Samples)
	b.say("together")
	before = b.requests()
	started = time.Now()
	times, err := b.many(ctx, func(ctx context.Context) (time.Duration, error) { return b.once(ctx, work{Steps: b.Steps}) })
	if err != nil {
		return err
	}
	report.PerSecond = float64(b.Count) / time.Since(started).Seconds()
	report.StepsPerSecond = report.PerSecond * float64(b.Steps)
	report.OfCeiling = report.PerSecond / report.Ceiling
	report.Together = spread(times)
	report.Counted.TransactionsTogether = b.requestsEach(before, b.Count)
	b.say("row writes")
	if report.Counted.RowWrites, err = b.countWrites(ctx); err != nil {
		return err
	}
	return b.complete(ctx, b.Count+b.Samples+countedInstances)
}

// many makes do Count times, Concurrency at once.
func (b *workflowBench) many(ctx context.Context, do func(context.Context) (time.Duration, error)) ([]time.Duration, error) {
	times := make([]time.Duration, b.Count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.Concurrency)
	for i := range times {
		group.Go(func() (err error) {
			times[i], err = do(ctx)
			return err
		})
	}
	return times, group.Wait()
}

// bareTable is an outbox that no node looks at.
func (b *workflowBench) bareTable(ctx context.Context) error {
	const like = "DEFINE TABLE OVERWRITE `{{table}}` SCHEMALESS PERMISSIONS NONE; DEFINE INDEX OVERWRITE due ON `{{table}}` FIELDS run_at, status;"
	return surreal.Exec(ctx, b.client.Retrying(), strings.ReplaceAll(like, "{{table}}", b.table+"_bare"), nil)
}

func (b *workflowBench) say(what string) { _, _ = fmt.Fprintf(b.Progress, "measuring: %s\n", what) }

// Write prints the report for people.
func (r InstancesReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `instances     %d of %d steps, %d at a time
throughput    %.0f instances/s, %.0f steps/s
ceiling       %.0f instances/s, the same writes by bare calls; throughput is %.2f of it
together      p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms
alone         p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms; the same writes by bare calls p50 %.2f ms
counted       %.1f transactions each alone, %.1f together; %.1f row writes
`, r.Count, r.Steps, r.Concurrency, r.PerSecond, r.StepsPerSecond, r.Ceiling, r.OfCeiling,
		r.Together.P50, r.Together.P90, r.Together.P99, r.Together.Max, r.Alone.P50, r.Alone.P90, r.Alone.P99, r.Alone.Max, r.BareAlone.P50,
		r.Counted.TransactionsAlone, r.Counted.TransactionsTogether, r.Counted.RowWrites)
	return err
}

// A StepsReport is what [Steps] measured, in milliseconds.
type StepsReport struct {
	Steps int `json:"steps"`
	// Run is one instance with that many steps one after the other, Bare as many commits alone.
	Run    float64 `json:"run_ms"`
	Bare   float64 `json:"bare_ms"`
	OfBare float64 `json:"of_bare"`
	// Event is from just before an event is sent until the code after the wait runs.
	Event Spread `json:"event_ms"`
}

// Steps measures one instance with many steps, and how fast an event wakes an instance.
func Steps(ctx context.Context, o WorkflowOptions) (StepsReport, error) {
	o, err := o.withDefaults(200)
	if err != nil {
		return StepsReport{}, err
	}
	report := StepsReport{Steps: o.Steps}
	err = o.with(ctx, func(ctx context.Context, b *workflowBench) error { return b.steps(ctx, &report) })
	return report, err
}

func (b *workflowBench) steps(ctx context.Context, report *StepsReport) error {
	b.say("bare commits")
	if err := b.bareTable(ctx); err != nil {
		return err
	}
	if err := b.bare(ctx, 1); err != nil { // warm
		return err
	}
	started := time.Now()
	if err := b.bare(ctx, b.Steps); err != nil {
		return err
	}
	report.Bare = float64(time.Since(started).Microseconds()) / 1000
	b.say("steps")
	if _, err := b.once(ctx, work{Steps: 1}); err != nil { // warm
		return err
	}
	took, err := b.once(ctx, work{Steps: b.Steps})
	if err != nil {
		return err
	}
	report.Run = float64(took.Microseconds()) / 1000
	report.OfBare = report.Run / report.Bare
	b.say("events")
	report.Event, err = b.events(ctx)
	return err
}

func (b *workflowBench) events(ctx context.Context) (Spread, error) {
	times := make([]time.Duration, b.Samples)
	for i := range times {
		took, err := b.oneEvent(ctx)
		if err != nil {
			return Spread{}, err
		}
		times[i] = took
	}
	return spread(times), nil
}

func (b *workflowBench) oneEvent(ctx context.Context) (time.Duration, error) {
	instance, err := b.flow.Create(ctx, work{Event: true})
	if err != nil {
		return 0, err
	}
	for { // until it waits
		report, err := instance.Status(ctx)
		if err != nil {
			return 0, err
		}
		if report.Status == wf.Waiting {
			break
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return 0, err
		}
	}
	resumed := b.expect(b.resumed, instance.ID())
	started := time.Now()
	if err := instance.SendEvent(ctx, "go", nil); err != nil {
		return 0, err
	}
	at, err := first(ctx, resumed, "the code after the wait")
	return at.Sub(started), err
}

// Write prints the report for people.
func (r StepsReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `steps         %d one after the other: %.0f ms; bare commits: %.0f ms; ratio %.2f
event         p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms, sent to workflow goes on
`, r.Steps, r.Run, r.Bare, r.OfBare, r.Event.P50, r.Event.P90, r.Event.P99, r.Event.Max)
	return err
}

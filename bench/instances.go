package bench

import (
	"context"
	"crypto/rand"
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
	// AloneLegs are the parts of Alone.
	AloneLegs []Leg `json:"alone_legs"`
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
	var err error
	if report.Alone, report.AloneLegs, err = b.alone(ctx); err != nil {
		return err
	}
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

// alone runs instances one after the other.
func (b *workflowBench) alone(ctx context.Context) (Spread, []Leg, error) {
	times := make([]time.Duration, b.Samples)
	course := newCourse("created", "announced, claimed and sent", "acquired", "steps", "finished")
	for i := range times {
		took, err := b.oneAlone(ctx, course)
		if err != nil {
			return Spread{}, nil, err
		}
		times[i] = took
	}
	return spread(times), course.legs(), nil
}

func (b *workflowBench) oneAlone(ctx context.Context, c *course) (time.Duration, error) {
	id := rand.Text()
	at := func(which moment) <-chan time.Time { return b.moments.expect(id, which) }
	stops := []stop{{"announced, claimed and sent", at(requested)}}
	if b.Backend == nil { // of another process only its requests and answers are seen
		stops = append(stops, stop{"acquired", at(began)}, stop{"steps", at(stepped)})
	}
	stops = append(stops, stop{"finished", at(ended)})
	started := c.start()
	if _, err := b.flow.Create(ctx, work{Steps: b.Steps}, wf.ID(id)); err != nil {
		return 0, err
	}
	c.reached("created", time.Now())
	err := c.follow(ctx, stops)
	return c.last.Sub(started), err
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
of that       %s ms
counted       %.1f transactions each alone, %.1f together; %.1f row writes
`, r.Count, r.Steps, r.Concurrency, r.PerSecond, r.StepsPerSecond, r.Ceiling, r.OfCeiling,
		r.Together.P50, r.Together.P90, r.Together.P99, r.Together.Max, r.Alone.P50, r.Alone.P90, r.Alone.P99, r.Alone.Max, r.BareAlone.P50, legLine(r.AloneLegs),
		r.Counted.TransactionsAlone, r.Counted.TransactionsTogether, r.Counted.RowWrites)
	return err
}

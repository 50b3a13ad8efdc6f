package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// A StepsReport is what [Steps] measured, in milliseconds.
type StepsReport struct {
	Steps int `json:"steps"`
	// Run is one instance with that many steps one after the other, Bare as many commits alone.
	Run    float64 `json:"run_ms"`
	Bare   float64 `json:"bare_ms"`
	OfBare float64 `json:"of_bare"`
	// Empty is one call of the database that does nothing: what each of the others pays as well.
	Empty Spread `json:"empty_call_ms"`
	// Event is from just before an event is sent until the code after the wait runs.
	Event Spread `json:"event_ms"`
	// EventLegs are the parts of Event.
	EventLegs []Leg `json:"event_legs"`
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
	var err error
	if report.Empty, err = b.empty(ctx); err != nil {
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
	report.Event, report.EventLegs, err = b.events(ctx)
	return err
}

// empty times calls that do nothing.
func (b *workflowBench) empty(ctx context.Context) (Spread, error) {
	times := make([]time.Duration, b.Steps)
	for i := range times {
		started := time.Now()
		if err := surreal.Exec(ctx, b.client, "RETURN NONE", nil); err != nil {
			return Spread{}, err
		}
		times[i] = time.Since(started)
	}
	return spread(times), nil
}

func (b *workflowBench) events(ctx context.Context) (Spread, []Leg, error) {
	times := make([]time.Duration, b.Samples)
	course := newCourse("sent", "announced, claimed and sent on", "acquired", "went on")
	for i := range times {
		took, err := b.oneEvent(ctx, course)
		if err != nil {
			return Spread{}, nil, err
		}
		times[i] = took
	}
	return spread(times), course.legs(), nil
}

func (b *workflowBench) oneEvent(ctx context.Context, c *course) (time.Duration, error) {
	instance, err := b.flow.Create(ctx, work{Event: true})
	if err != nil {
		return 0, err
	}
	if err := untilWaiting(ctx, instance); err != nil {
		return 0, err
	}
	at := func(which moment) <-chan time.Time { return b.moments.expect(instance.ID(), which) }
	stops := []stop{{"announced, claimed and sent on", at(requested)}, {"acquired", at(began)}, {"went on", at(resumed)}}
	started := c.start()
	if err := instance.SendEvent(ctx, "go", nil); err != nil {
		return 0, err
	}
	c.reached("sent", time.Now())
	err = c.follow(ctx, stops)
	return c.last.Sub(started), err
}

func untilWaiting(ctx context.Context, instance *wf.Instance) error {
	for {
		report, err := instance.Status(ctx)
		if err != nil || report.Status == wf.Waiting {
			return err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// Write prints the report for people.
func (r StepsReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `steps         %d one after the other: %.0f ms; bare commits: %.0f ms; ratio %.2f
empty call    p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms
event         p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms, sent to workflow goes on
of that       %s ms
`, r.Steps, r.Run, r.Bare, r.OfBare, r.Empty.P50, r.Empty.P90, r.Empty.P99, r.Empty.Max, r.Event.P50, r.Event.P90, r.Event.P99, r.Event.Max, legLine(r.EventLegs))
	return err
}

package wf

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Spans go to OpenTelemetry's global provider, which is the program's to set; until then they cost next
// to nothing, and those of steps nothing at all. A span is made of each creation, of each run, and of
// each step that executes: a step that is replayed is none, only counted by its run.

// tracerName is the scope of the engine's spans.
const tracerName = "sp00ky.cloud/spky/wf"

func tracer() trace.Tracer { return otel.GetTracerProvider().Tracer(tracerName) }

// traceCreation begins the span of a creation, and notes it on the new rows: the runs go on from it.
func traceCreation(ctx context.Context, binding string, rows ...map[string]any) (context.Context, trace.Span) {
	ctx, span := tracer().Start(ctx, "create "+binding, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attribute.String("spky.binding", binding)))
	if !span.SpanContext().IsValid() {
		return ctx, span
	}
	if id, ok := rows[0]["id"].(string); ok && len(rows) == 1 {
		span.SetAttributes(attribute.String("spky.instance", id))
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	for _, row := range rows {
		row["traceparent"] = carrier["traceparent"]
	}
	return ctx, span
}

// asked is a request's context with the trace that the request names; a span that the backend has begun
// for it already counts more.
func asked(r *http.Request) context.Context {
	ctx := r.Context()
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
}

// A runTrace is the span of a run. A nil one is tracing that is off.
type runTrace struct {
	tracer trace.Tracer
	span   trace.Span
}

type runTraceKey struct{}

// traceRun begins the span of a run below what its caller does. The context that it answers with lives
// as long as life.
func traceRun(life, caller context.Context, i protocol.Instance) (context.Context, *runTrace) {
	t := &runTrace{tracer: tracer()}
	ctx, span := t.tracer.Start(trace.ContextWithSpan(life, trace.SpanFromContext(caller)), "run "+i.Binding, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			attribute.String("spky.binding", i.Binding), attribute.String("spky.instance", i.ID),
			attribute.Int("spky.run", i.Runs), attribute.Int("spky.incarnation", i.Incarnation),
		))
	if !span.IsRecording() {
		return ctx, nil
	}
	t.span = span
	return context.WithValue(ctx, runTraceKey{}, t), t
}

// end ends the run's span with what the run came to.
func (t *runTrace) end(r *run, res result) {
	if t == nil {
		return
	}
	r.mu.Lock()
	replayed := 0
	for _, s := range r.stored {
		if s.reached && s.Done() {
			replayed++
		}
	}
	r.mu.Unlock()
	t.span.SetAttributes(attribute.String("spky.state", res.State), attribute.Int("spky.steps_replayed", replayed))
	if res.Error != "" {
		t.span.SetStatus(codes.Error, res.Error)
	}
	t.span.End()
}

// A stepTrace is the span of a step that executes. A nil one is tracing that is off.
type stepTrace struct{ span trace.Span }

// traceStep begins the span of a step. The context that it answers with is for the step's function.
func (r *run) traceStep(ctx context.Context, key stepKey) (context.Context, *stepTrace) {
	t, ok := r.ctx.Value(runTraceKey{}).(*runTrace)
	if !ok {
		return ctx, nil
	}
	if !trace.SpanContextFromContext(ctx).IsValid() { // a context of the workflow's own making
		ctx = trace.ContextWithSpan(ctx, t.span)
	}
	ctx, span := t.tracer.Start(ctx, "step "+key.name, trace.WithAttributes(
		attribute.String("spky.step", key.name), attribute.Int("spky.occurrence", key.occurrence),
		attribute.String("spky.instance", r.instance.ID),
	))
	return ctx, &stepTrace{span}
}

// failed notes an attempt that failed and is not the last.
func (t *stepTrace) failed(attempt int, e *protocol.Error) {
	if t == nil {
		return
	}
	t.span.AddEvent("attempt failed", trace.WithAttributes(
		attribute.Int("spky.attempt", attempt), attribute.String("exception.type", e.Name), attribute.String("exception.message", e.Message),
	))
}

// end ends the step's span with what it came to: its error, or that it waits for its next attempt.
func (t *stepTrace) end(a *attempts, wait *protocol.Wait, err error) {
	if t == nil {
		return
	}
	t.span.SetAttributes(attribute.Int("spky.attempts", a.step.Tried()))
	var failure *StepError
	switch {
	case errors.As(err, &failure):
		t.span.SetAttributes(attribute.String("exception.type", failure.Name))
		t.span.SetStatus(codes.Error, failure.Message)
	case err != nil:
		t.span.SetStatus(codes.Error, err.Error())
	case wait != nil:
		t.span.SetAttributes(attribute.String("spky.state", "retrying"))
	}
	t.span.End()
}

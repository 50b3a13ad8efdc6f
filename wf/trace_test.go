package wf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// traced keeps the spans of whatever runs meanwhile: the provider is the process's.
func traced(t *testing.T) *tracetest.InMemoryExporter {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)))
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	return kept
}

// tracedEngine has the workflow PAY and an instance of it named one.
func tracedEngine(t *testing.T, code func(context.Context, *Step) error) http.Handler {
	t.Helper()
	store := memory.New(time.Now())
	e, err := New(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), kit: protocol.Kit{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	Register(e, "PAY", func(ctx context.Context, _ Event[any], step *Step) (int, error) { return 0, code(ctx, step) })
	if !store.Create("one", "PAY", []byte("{}")) {
		t.Fatal("no instance")
	}
	return e.Handler(http.NotFoundHandler())
}

// ask asks for a run and answers with the spans that came of it, by their names.
func ask(t *testing.T, h http.Handler, kept *tracetest.InMemoryExporter, ctx context.Context, traceparent string) map[string]tracetest.SpanStub { //nolint:revive // the context is what varies
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, route+"PAY", strings.NewReader(`{"instance": "one"}`))
	r.Header.Set("Traceparent", traceparent)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	spans := map[string]tracetest.SpanStub{}
	for _, s := range kept.GetSpans() {
		spans[s.Name] = s
	}
	return spans
}

func attributes(s tracetest.SpanStub) string {
	var all []string
	for _, kv := range s.Attributes {
		all = append(all, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

const attemptSpan = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestSpansTellWhatAStepCameTo has a step fail twice, and its workflow with it.
func TestSpansTellWhatAStepCameTo(t *testing.T) { //nolint:paralleltest // the provider is the process's
	kept := traced(t)
	h := tracedEngine(t, func(ctx context.Context, step *Step) error {
		_, err := Do(context.Background(), step, "card", func(context.Context) (int, error) { return 0, errors.New("refused") }, Retry(1, 0, Constant))
		if trace.SpanContextFromContext(ctx).TraceID().String() != attemptSpan[3:35] {
			t.Error("the workflow's context is in no trace")
		}
		return err
	})
	spans := ask(t, h, kept, t.Context(), attemptSpan)
	run, step := spans["run PAY"], spans["step card"]
	if run.Parent.SpanID().String() != attemptSpan[36:52] || step.Parent.SpanID() != run.SpanContext.SpanID() || step.SpanContext.TraceID().String() != attemptSpan[3:35] {
		t.Errorf("the step is below %v, the run below %v", step.Parent, run.Parent)
	}
	if want := "spky.binding=PAY spky.incarnation=0 spky.instance=one spky.run=1 spky.state=errored spky.steps_replayed=0"; attributes(run) != want || run.Status.Code != codes.Error {
		t.Errorf("the run: %s, %v", attributes(run), run.Status)
	}
	if want := "exception.type=Error spky.attempts=2 spky.instance=one spky.occurrence=1 spky.step=card"; attributes(step) != want ||
		step.Status.Description != "refused" || len(step.Events) != 1 || step.Events[0].Name != "attempt failed" {
		t.Errorf("the step: %s, %v, %v", attributes(step), step.Status, step.Events)
	}
}

// TestASpanOfTheBackendsOwnComesFirst is about middleware that has begun one for the request.
func TestASpanOfTheBackendsOwnComesFirst(t *testing.T) { //nolint:paralleltest // the provider is the process's
	kept := traced(t)
	h := tracedEngine(t, func(context.Context, *Step) error { return nil })
	ctx, own := otel.Tracer("test").Start(t.Context(), "POST")
	defer own.End()
	if run := ask(t, h, kept, ctx, attemptSpan)["run PAY"]; run.Parent.SpanID() != own.SpanContext().SpanID() {
		t.Errorf("the run is below %v", run.Parent)
	}
}

// TestAnyTraceparentIsHarmless sends what is none.
func TestAnyTraceparentIsHarmless(t *testing.T) { //nolint:paralleltest // the provider is the process's
	for _, text := range []string{"", "x", strings.Repeat("0", 55), "00-" + strings.Repeat("0", 32) + "-" + strings.Repeat("0", 16) + "-01", strings.Repeat("x", 1<<16), attemptSpan[:54] + "g"} {
		kept := traced(t)
		run := ask(t, tracedEngine(t, func(context.Context, *Step) error { return nil }), kept, t.Context(), text)["run PAY"]
		if run.Parent.IsValid() || !run.SpanContext.IsValid() {
			t.Errorf("%.80q: the run is %v below %v", text, run.SpanContext, run.Parent)
		}
	}
}

// TestACreationIsNotedOnTheRow is what runs find their trace by.
func TestACreationIsNotedOnTheRow(t *testing.T) { //nolint:paralleltest // the provider is the process's
	otel.SetTracerProvider(noop.NewTracerProvider())
	row := map[string]any{"id": "one"}
	if _, span := traceCreation(t.Context(), "PAY", row); span.IsRecording() || row["traceparent"] != nil {
		t.Errorf("without a provider: %v", row)
	}
	kept := traced(t)
	ctx, above := otel.Tracer("test").Start(t.Context(), "request")
	_, span := traceCreation(ctx, "PAY", row)
	span.End()
	made := kept.GetSpans()[0]
	if want := fmt.Sprintf("00-%s-%s-01", above.SpanContext().TraceID(), made.SpanContext.SpanID()); row["traceparent"] != want || made.Name != "create PAY" {
		t.Errorf("%s: %v, want %s", made.Name, row, want)
	}
}

// TestTracingThatIsOffCostsAStepNothing counts what a step allocates for it.
func TestTracingThatIsOffCostsAStepNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	r := &run{ctx: t.Context()}
	a := &attempts{}
	key := stepKey{nameKey{"do", "x"}, 1}
	if n := testing.AllocsPerRun(1000, func() {
		_, span := r.traceStep(r.ctx, key)
		span.failed(1, nil)
		span.end(a, nil, nil)
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// BenchmarkStepSpan measures that with a provider and without.
func BenchmarkStepSpan(b *testing.B) {
	key := stepKey{nameKey{"do", "x"}, 1}
	for name, tp := range map[string]trace.TracerProvider{"off": nil, "on": sdktrace.NewTracerProvider()} {
		b.Run(name, func(b *testing.B) {
			r := &run{ctx: b.Context()}
			if tp != nil {
				tracer := tp.Tracer("test")
				ctx, span := tracer.Start(b.Context(), "run")
				r.ctx = context.WithValue(ctx, runTraceKey{}, &runTrace{tracer: tracer, span: span})
			}
			b.ReportAllocs()
			for b.Loop() {
				_, span := r.traceStep(r.ctx, key)
				span.end(&attempts{}, nil, nil)
			}
		})
	}
}

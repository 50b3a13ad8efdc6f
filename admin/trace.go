package admin

import (
	"context"
	"regexp"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced notes on a new job or instance what its creator is doing, where ctx carries a span: the spans of
// attempts and runs go on from there.
func traced(ctx context.Context, row map[string]any) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	row["traceparent"] = carrier["traceparent"]
}

// traceParent is the W3C's form: version, trace, span, flags.
var traceParent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceID is the trace that a row names, "" where it names none: anybody may have written it.
func traceID(traceparent any) string {
	if m := traceParent.FindStringSubmatch(textIn(traceparent)); m != nil {
		return m[1]
	}
	return ""
}

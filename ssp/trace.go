package ssp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// tracerName is the scope of the node's spans.
const tracerName = "sp00ky.cloud/spky/ssp"

// An identity is the place of a job in its trace. It follows from the job's row alone, so that all
// nodes that attempt the job agree on it.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
	// parent is what the job's creator was doing; not valid where he has not said.
	parent trace.SpanContext
}

// identity places a job: in its creator's trace; else in one of the workflow instance that it runs, or
// of its own.
func (n *Node) identity(job outbox.Job) identity {
	own := sha256.Sum256([]byte(surreal.FormatID(job.ID) + job.CreatedAt.UTC().Format(time.RFC3339Nano)))
	id := identity{trace: trace.TraceID(own[:16]), span: trace.SpanID(own[16:24])}
	if parent, ok := parseTraceparent(job.Traceparent); ok {
		id.trace, id.parent = parent.TraceID(), parent
		return id
	}
	if instance := instanceOf(job); instance != "" {
		whole := sha256.Sum256([]byte(strings.Join([]string{"instance", n.cfg.DB.Namespace, n.cfg.DB.Database, instance}, "\x00")))
		id.trace = trace.TraceID(whole[:16])
	}
	return id
}

// instanceOf names the workflow instance that a job runs, "" where it runs none.
func instanceOf(job outbox.Job) string {
	payload, ok := job.Payload.(map[string]any)
	if !job.Platform || !ok {
		return ""
	}
	instance, _ := payload["instance"].(string)
	return instance
}

// parseTraceparent reads a W3C trace context, which anybody may have written. What is not exactly one
// of version 00 is none.
func parseTraceparent(text string) (trace.SpanContext, bool) {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' || strings.ToLower(text) != text {
		return trace.SpanContext{}, false
	}
	var raw [25]byte // trace, span, flags
	for _, part := range []struct {
		into []byte
		text string
	}{{raw[:16], text[3:35]}, {raw[16:24], text[36:52]}, {raw[24:], text[53:]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return trace.SpanContext{}, false
		}
	}
	found := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(raw[:16]), SpanID: trace.SpanID(raw[16:24]), TraceFlags: trace.TraceFlags(raw[24]) & trace.FlagsSampled, Remote: true,
	})
	return found, found.IsValid()
}

// traceparent is what an attempt sends: its span's context. Without tracing it is what the job's creator
// was doing, or a span of its own in the job's trace.
func (n *Node) traceparent(ctx context.Context, job outbox.Job) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		id := n.identity(job)
		if span = id.parent; !span.IsValid() {
			var one trace.SpanID
			_, _ = rand.Read(one[:]) // crypto/rand never fails
			span = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id.trace, SpanID: one, TraceFlags: trace.FlagsSampled})
		}
	}
	traceID, spanID := span.TraceID(), span.SpanID()
	var text [55]byte
	copy(text[:], "00-")
	hex.Encode(text[3:], traceID[:])
	text[35] = '-'
	hex.Encode(text[36:], spanID[:])
	copy(text[52:], "-00")
	if span.IsSampled() {
		text[54] = '1'
	}
	return string(text[:])
}

// A flightTrace is the spans of one attempt: of the job, which only the node ends that writes the job's
// end, and of the attempt. A nil one is tracing that is off.
type flightTrace struct {
	job, attempt trace.Span
}

// trace begins the spans of an attempt. The context that it answers with carries the attempt's.
func (l *lane) trace(ctx context.Context, job outbox.Job) (context.Context, *flightTrace) {
	tracer := l.node.tracer
	if tracer == nil {
		return ctx, nil
	}
	id := l.node.identity(job)
	root := trace.ContextWithSpanContext(ctx, id.parent)
	shared := []attribute.KeyValue{
		attribute.String("spky.job", surreal.FormatID(job.ID)), attribute.String("spky.backend", l.backend.Name), attribute.String("spky.table", l.backend.Table),
	}
	if instance := instanceOf(job); instance != "" {
		shared = append(shared, attribute.String("spky.instance", instance))
	}
	_, whole := tracer.Start(context.WithValue(root, identityKey{}, id), "job "+l.backend.Table,
		trace.WithTimestamp(job.CreatedAt.Add(-l.node.clock.offset())), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(shared...))
	path, _, _ := strings.Cut(job.Path, "?") // what follows may be a secret
	ctx, attempt := tracer.Start(trace.ContextWithSpan(ctx, whole), "attempt "+l.backend.Name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(shared...), trace.WithAttributes(
			attribute.String("spky.node", l.node.cfg.ID), attribute.Int("spky.attempt", job.Attempt()), attribute.Int64("spky.epoch", job.Epoch),
			attribute.String("http.request.method", "POST"), attribute.String("url.path", cut(path, maxReport)),
		))
	if !job.DueAt.IsZero() {
		attempt.SetAttributes(attribute.Int64("spky.late_ms", max(l.node.clock.now().Sub(job.DueAt), 0).Milliseconds()))
	}
	return ctx, &flightTrace{job: whole, attempt: attempt}
}

// judged ends the attempt's span with what it came to.
func (f *flightTrace) judged(v verdict, mask func() *redact.Mask) {
	if f == nil {
		return
	}
	f.attempt.SetAttributes(attribute.String("spky.outcome", string(v.status)))
	if code, ok := v.code.(int); ok && code > 0 {
		f.attempt.SetAttributes(attribute.Int("http.response.status_code", code))
	}
	if v.status == outbox.Failed || v.unreachable != nil {
		f.attempt.SetStatus(codes.Error, said(mask, v.reason, maxReport))
	}
	f.attempt.End()
}

// settled ends the job's span where the job has ended.
func (f *flightTrace) settled(o outbox.Outcome) {
	if f == nil || !o.Status.Terminal() {
		return
	}
	f.job.SetAttributes(attribute.String("spky.status", string(o.Status)))
	if o.Status == outbox.Failed {
		f.job.SetStatus(codes.Error, "")
	}
	f.job.End()
}

type identityKey struct{}

// JobIDs makes the ids of spans. It is an IDGenerator of OpenTelemetry's SDK, and the provider that
// [Config.TracerProvider] names has to be made with it: a job's span gets an id that follows from the
// job's row, so that attempts on several nodes are one tree. Other spans get random ids.
type JobIDs struct{}

// NewIDs makes the ids of a span that begins a trace.
func (JobIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if id, ok := ctx.Value(identityKey{}).(identity); ok {
		return id.trace, id.span
	}
	var traceID trace.TraceID
	binary.NativeEndian.PutUint64(traceID[:], mathrand.Uint64())    //nolint:gosec // an id, no secret
	binary.NativeEndian.PutUint64(traceID[8:], mathrand.Uint64()|1) //nolint:gosec // likewise; never all zero
	return traceID, randomSpan()
}

// NewSpanID makes the id of a span within a trace.
func (JobIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(identityKey{}).(identity); ok {
		return id.span
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], mathrand.Uint64()|1) //nolint:gosec // an id, no secret; never all zero
	return id
}

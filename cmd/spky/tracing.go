package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"sp00ky.cloud/spky/ssp"
)

const (
	// lastSpans is how long a program that ends waits for its last spans to be taken.
	lastSpans = 5 * time.Second
	// traceTroubleEvery bounds how often is said that spans are not taken.
	traceTroubleEvery = time.Minute
)

// traced runs something with spans sent to where the environment says, by OpenTelemetry's own variables:
// OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, turns it on. The last spans are
// sent before it returns. A collector that is away holds nothing up.
func (p *program) traced(ctx context.Context, do func(context.Context) error) error {
	endpoint, err := p.traceEndpoint()
	switch {
	case err != nil:
		return err
	case endpoint == "":
		return do(ctx)
	}
	provider, err := newTracerProvider(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	log, err := p.logger("warn", nil)
	if err != nil {
		return err
	}
	otel.SetErrorHandler(tellTraceTrouble(log, endpoint))
	p.tracing = provider
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := provider.Shutdown(end); err != nil {
			log.Warn("the last spans were not taken", "endpoint", endpoint, "error", err)
		}
	}()
	return do(ctx)
}

// traceEndpoint is where spans go, "" for nowhere.
func (p *program) traceEndpoint() (string, error) {
	env := func(name string) string { text, _ := p.env(name); return text }
	name, endpoint, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if endpoint == "" {
		name, endpoint, path = "OTEL_EXPORTER_OTLP_ENDPOINT", env("OTEL_EXPORTER_OTLP_ENDPOINT"), "v1/traces"
	}
	if endpoint == "" || env("OTEL_SDK_DISABLED") == "true" || env("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	for _, protocol := range []string{env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL")} {
		if protocol != "" && protocol != "http/protobuf" {
			return "", usagef("OTEL_EXPORTER_OTLP_PROTOCOL is %q; allowed: http/protobuf, which collectors take on port 4318", protocol)
		}
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", usagef("%s is no http or https URL, such as http://127.0.0.1:4318", name)
	}
	return at.JoinPath(path).String(), nil
}

func newTracerProvider(ctx context.Context, endpoint string) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "spky"), attribute.String("service.version", buildVersion().Version)),
		resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	if err != nil && about == nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ssp.JobIDs{})), nil
}

// tellTraceTrouble tells of spans that were not taken, now and then.
func tellTraceTrouble(log *slog.Logger, endpoint string) otel.ErrorHandlerFunc {
	var told atomic.Pointer[time.Time]
	return func(err error) {
		now := time.Now()
		if last := told.Load(); last != nil && now.Sub(*last) < traceTroubleEvery || !told.CompareAndSwap(told.Load(), &now) {
			return
		}
		log.Warn("spans were not taken; jobs run all the same", "endpoint", endpoint, "error", err)
	}
}

// tracerProvider is where a node's spans go; nil for nowhere.
func (p *program) tracerProvider() trace.TracerProvider {
	if p.tracing == nil {
		return nil
	}
	return p.tracing
}

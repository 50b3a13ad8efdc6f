package main

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sp00ky.cloud/spky/wf"
)

// A traceCollector takes spans as a collector does: OTLP over HTTP, in protobuf.
type traceCollector struct {
	*httptest.Server

	mu    sync.Mutex
	spans map[string]*tracepb.Span // by span id
	by    map[string]string        // service.name by span id
}

func newTraceCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{spans: map[string]*tracepb.Span{}, by: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			t.Errorf("collector: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *traceCollector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return errors.New(r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type"))
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range request.GetResourceSpans() {
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := hex.EncodeToString(span.GetSpanId())
				c.spans[id], c.by[id] = span, text(from.GetResource().GetAttributes(), "service.name")
			}
		}
	}
	return nil
}

// text is an attribute.
func text(attributes []*commonpb.KeyValue, key string) string {
	for _, kv := range attributes {
		if kv.GetKey() == key {
			return kv.GetValue().GetStringValue()
		}
	}
	return ""
}

// paths are the spans of a trace, each with the names of those above it.
func (c *traceCollector) paths(trace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) != trace {
			continue
		}
		path := []string{span.GetName()}
		for len(span.GetParentSpanId()) > 0 {
			above, ok := c.spans[hex.EncodeToString(span.GetParentSpanId())]
			if !ok {
				path = append(path, "?")
				break
			}
			path, span = append(path, above.GetName()), above
		}
		slices.Reverse(path)
		all = append(all, strings.Join(path, " > "))
	}
	slices.Sort(all)
	return all
}

// TestATraceIsOneTree creates an instance within a span of a program's own, and lets `spky run` and a
// backend send what they do to a collector.
func TestATraceIsOneTree(t *testing.T) { //nolint:paralleltest // the backend's provider is the process's
	c := newTraceCollector(t)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(c.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)
	t.Cleanup(func() {
		otel.SetTracerProvider(noop.NewTracerProvider())
		_ = provider.Shutdown(context.WithoutCancel(t.Context()))
	})

	server := httptest.NewUnstartedServer(nil)
	p := newProject(t, "http://"+server.Listener.Addr().String())
	p.set("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	p.must("migrate")
	engine, err := wf.New(t.Context(), wf.Config{DB: p.db().Retrying(), OutboxTable: "job", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	flow := wf.Register(engine, "GREET", tracedFlow)
	server.Config.Handler = engine.Handler(http.NotFoundHandler())
	server.Start()
	t.Cleanup(func() {
		server.Close()
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := engine.Close(end); err != nil {
			t.Error(err)
		}
	})
	stop := p.runner()

	ctx, span := otel.Tracer("test").Start(t.Context(), "request")
	i, err := flow.Create(ctx, "you", wf.ID("one"))
	if err != nil {
		t.Fatal(err)
	}
	span.End()
	trace := span.SpanContext().TraceID().String()
	p.must("workflows", "instances", "watch", "GREET", i.ID())
	if code := stop(); code != exitOK { // sends the node's last spans
		t.Errorf("spky run ended with %d", code)
	}
	if err := provider.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := "request > create GREET > job job > attempt api > run GREET"
	want := []string{
		"request", "request > create GREET", "request > create GREET > job job", "request > create GREET > job job",
		"request > create GREET > job job > attempt api", "request > create GREET > job job > attempt api",
		job, job, job + " > step after", job + " > step before", job + " > step before > inner",
	}
	if got := c.paths(trace); !slices.Equal(got, want) {
		t.Errorf("the trace is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c.services(t, trace)
}

// services checks who has sent what, and that a replayed step is only counted.
func (c *traceCollector) services(t *testing.T, trace string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var replayed []int64
	for id, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) != trace {
			continue
		}
		ours := strings.HasPrefix(span.GetName(), "job ") || strings.HasPrefix(span.GetName(), "attempt ")
		if (c.by[id] == "spky") != ours {
			t.Errorf("%s was sent by %s", span.GetName(), c.by[id])
		}
		for _, kv := range span.GetAttributes() {
			if kv.GetKey() == "spky.steps_replayed" {
				replayed = append(replayed, kv.GetValue().GetIntValue())
			}
		}
	}
	slices.Sort(replayed)
	if !slices.Equal(replayed, []int64{0, 1}) { // the step before; the sleep is done in the second run
		t.Errorf("steps replayed: %v", replayed)
	}
}

// tracedFlow runs twice: before a sleep, and after it.
func tracedFlow(ctx context.Context, ev wf.Event[string], step *wf.Step) (string, error) {
	_, err := wf.Do(ctx, step, "before", func(ctx context.Context) (int, error) {
		_, span := otel.Tracer("test").Start(ctx, "inner")
		defer span.End()
		return 1, nil
	})
	if err != nil {
		return "", err
	}
	if err := step.Sleep(ctx, "between", 50*time.Millisecond); err != nil {
		return "", err
	}
	return wf.Do(ctx, step, "after", func(context.Context) (string, error) { return "hello " + ev.Payload, nil })
}

func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	const base, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		env          map[string]string
		want, refuse string
	}{
		{env: nil},
		{env: map[string]string{base: "http://x:4318"}, want: "http://x:4318/v1/traces"},
		{env: map[string]string{base: "https://x/otlp/"}, want: "https://x/otlp/v1/traces"},
		{env: map[string]string{base: "http://x:4318", own: "http://y/in"}, want: "http://y/in"},
		{env: map[string]string{base: "http://x:4318", "OTEL_SDK_DISABLED": "true"}},
		{env: map[string]string{base: "http://x:4318", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{base: "x:4317"}, refuse: base},
		{env: map[string]string{own: "ftp://x"}, refuse: own},
		{env: map[string]string{base: "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, refuse: "http/protobuf"},
	} {
		p := &program{env: func(name string) (string, bool) { text, ok := c.env[name]; return text, ok }}
		got, err := p.traceEndpoint()
		if got != c.want || (err != nil) != (c.refuse != "") || err != nil && !strings.Contains(err.Error(), c.refuse) {
			t.Errorf("%v: %q, %v", c.env, got, err)
		}
	}
}

// TestACollectorThatIsAwayHoldsNothingUp sends traces to where nobody listens.
func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	p.set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	stop := p.runner()
	p.must("jobs", "create", "--path", "/echo", "--payload", "1", "--wait")
	if code := stop(); code != exitOK {
		t.Errorf("spky run ended with %d", code)
	}
}

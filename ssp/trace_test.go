package ssp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// traced is a configuration whose spans are kept.
func traced(opts ...sdktrace.TracerProviderOption) (*tracetest.InMemoryExporter, func(*Config)) {
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(JobIDs{}))...)
	return kept, func(c *Config) { c.TracerProvider = provider }
}

// named are the spans of a name.
func named(spans tracetest.SpanStubs, name string) tracetest.SpanStubs {
	var found tracetest.SpanStubs
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func value(s tracetest.SpanStub, key string) string {
	for _, kv := range s.Attributes {
		if kv.Key == attribute.Key(key) {
			return kv.Value.String()
		}
	}
	return ""
}

const creator = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestAttemptsOfSeveralNodesAreOneTree lets a first node fail and a second succeed.
func TestAttemptsOfSeveralNodesAreOneTree(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"with a creator": creator, "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			fails := true
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if fails {
					fails = false
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusBadGateway)
				}
			})
			first, toFirst := traced()
			n := r.start(s.backends(), toFirst)
			columns := map[string]any{}
			if from != "" {
				columns["traceparent"] = from
			}
			id := r.job("x", "/x?key=hidden", columns)
			r.await(id, "tried", func(j jobRow) bool { return j.Retries == 1 })
			n.stop()
			second, toSecond := traced()
			r.start(s.backends(), toSecond)
			r.settled(id, "success")
			var spans tracetest.SpanStubs
			r.eventually("the job's span ends", func() bool {
				spans = append(first.GetSpans(), second.GetSpans()...)
				return len(named(spans, "job job")) > 0
			})
			oneTree(t, spans, s.requests(), from)
		})
	}
}

func oneTree(t *testing.T, spans tracetest.SpanStubs, requests []request, from string) {
	t.Helper()
	jobs, attempts := named(spans, "job job"), named(spans, "attempt api")
	if len(jobs) != 1 || len(attempts) != 2 || len(spans) != 3 || len(requests) != 2 {
		t.Fatalf("%d jobs, %d attempts, %d requests; %+v", len(jobs), len(attempts), len(requests), spans)
	}
	job := jobs[0]
	if parent, ok := parseTraceparent(from); ok && (job.Parent.SpanID() != parent.SpanID() || job.SpanContext.TraceID() != parent.TraceID()) {
		t.Errorf("the job's span is %v below %v", job.SpanContext, job.Parent)
	} else if !ok && job.Parent.IsValid() {
		t.Errorf("the job's parent is %v", job.Parent)
	}
	for i, a := range attempts {
		if a.Parent.SpanID() != job.SpanContext.SpanID() || a.SpanContext.TraceID() != job.SpanContext.TraceID() {
			t.Errorf("attempt %d is below %v, not below %v", i, a.Parent, job.SpanContext)
		}
		want := fmt.Sprintf("00-%s-%s-01", a.SpanContext.TraceID(), a.SpanContext.SpanID())
		if got := requests[i].Header.Get("Traceparent"); got != want {
			t.Errorf("attempt %d sends %s, want %s", i, got, want)
		}
		if value(a, "spky.attempt") != fmt.Sprint(i+1) || value(a, "url.path") != "/x" || value(a, "spky.job") != "job:x" {
			t.Errorf("attempt %d has %v", i, a.Attributes)
		}
	}
	if value(attempts[0], "http.response.status_code") != "502" || attempts[0].Status.Code.String() != "Error" || value(job, "spky.status") != "success" {
		t.Errorf("attempt %+v of job %+v", attempts[0], job)
	}
	if job.StartTime.After(attempts[0].StartTime) || job.EndTime.Before(attempts[1].EndTime) {
		t.Errorf("the job's span from %s to %s does not hold its attempts", job.StartTime, job.EndTime)
	}
}

// TestWithoutTracingTheCreatorsContextIsPassedOn shows so, and that what is none does no harm.
func TestWithoutTracingTheCreatorsContextIsPassedOn(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends())
	zeros := strings.Repeat("0", 40)
	for i, hostile := range []any{
		"", "nonsense", creator + "x", strings.ToUpper(creator), "01" + creator[2:], "00-" + zeros[:32] + creator[35:], creator[:36] + zeros[:16] + "-01",
		creator[:53] + "zz", "00-0af7651916cd43dd8448eb211c80319c\r\nX-Evil: 1\r\n\r\n-01", strings.Repeat("x", 1<<20), 7, true,
		map[string]any{"a": 1},
		[]any{creator},
		surreal.None,
	} {
		id := r.job(i, "/x", map[string]any{"traceparent": hostile})
		r.settled(id, "success")
		if _, ok := parseTraceparent(s.requests()[i].Header.Get("Traceparent")); !ok || strings.Contains(fmt.Sprint(s.requests()[i].Header), "Evil") {
			t.Errorf("%.80v: sent %v", hostile, s.requests()[i].Header)
		}
		if got := s.requests()[i].Header.Get("Traceparent"); strings.Contains(got, creator[3:35]) {
			t.Errorf("%.80v: sent %s", hostile, got)
		}
	}
	unsampled := creator[:54] + "0"
	for _, whole := range []string{creator, unsampled} {
		r.settled(r.job(whole, "/y", map[string]any{"traceparent": whole}), "success")
		seen := s.requests("/y")
		if got := seen[len(seen)-1].Header.Get("Traceparent"); got != whole {
			t.Errorf("%s was sent on as %s", whole, got)
		}
	}
}

// TestASamplerDecidesForTheWholeJob drops everything: nothing is kept, and backends are told.
func TestASamplerDecidesForTheWholeJob(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	kept, to := traced(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	r.start(s.backends(), to)
	r.settled(r.job("x", "/x", nil), "success")
	if got := s.requests()[0].Header.Get("Traceparent"); !strings.HasSuffix(got, "-00") || len(kept.GetSpans()) != 0 {
		t.Errorf("sent %s, kept %d spans", got, len(kept.GetSpans()))
	}
}

// TestACancelledJobsSpanEndsToo cancels one while it runs.
func TestACancelledJobsSpanEndsToo(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	kept, to := traced()
	r.start(s.backends(), to)
	id := r.job("x", "/x", nil)
	r.eventually("it runs", func() bool { return g.inside.Load() == 1 })
	r.cancel(id)
	r.settled(id, "cancelled")
	r.eventually("the job's span ends", func() bool {
		jobs := named(kept.GetSpans(), "job job")
		return len(jobs) == 1 && value(jobs[0], "spky.status") == "cancelled"
	})
}

// TestTracingThatIsOffAllocatesNothing is about what every attempt goes through.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	l := &lane{node: &Node{}}
	job := outbox.Job{ID: surreal.NewRecordID("job", "x"), CreatedAt: time.Now()}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		_, spans := l.trace(ctx, job)
		spans.judged(verdict{status: outbox.Failed}, nil)
		spans.settled(outbox.Outcome{Status: outbox.Failed})
	}); n != 0 {
		t.Errorf("%v allocations an attempt", n)
	}
}

func FuzzTraceparent(f *testing.F) {
	for _, text := range []string{creator, "", creator[:54] + "f", "00-" + strings.Repeat("0", 52)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, ok := parseTraceparent(text)
		if !ok {
			return
		}
		n := &Node{}
		back := n.traceparent(trace.ContextWithSpanContext(context.Background(), found), outbox.Job{})
		if back[:53] != text[:53] || len(text) != 55 {
			t.Errorf("%q came back as %q", text, back)
		}
	})
}

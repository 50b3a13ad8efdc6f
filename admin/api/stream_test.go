package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// A heard is one event of a stream.
type heard struct{ name, id, data string }

// listen opens a stream; the function it returns gives the next event, and an empty one at the end.
func (r *rig) listen(path string, header ...string) (next func() heard, stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/admin/api"+path, nil)
	r.check(err)
	request.Header.Set("Authorization", "Bearer "+readSecret)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	r.check(err)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("%s: %d %s", path, answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 10<<20)
	stop = sync.OnceFunc(func() { cancel(); answer.Body.Close() })
	r.t.Cleanup(stop)
	return func() heard {
		var e heard
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				e.name = value
			case name == "id":
				e.id = value
			case name == "data":
				e.data = value
			case lines.Text() == "" && e.name != "":
				return e
			}
		}
		return heard{}
	}, stop
}

// event is what the document says of an event.
func (d document) event(operation string, e heard) {
	d.t.Helper()
	for _, operations := range d.Paths {
		for _, op := range operations {
			if op.OperationID == operation {
				schema, ok := op.Responses["200"].Content["text/event-stream"].Events[e.name]
				if !ok {
					d.t.Fatalf("%s: the document has no event %s", operation, e.name)
				}
				d.validate(operation+" "+e.name, schema, e.data)
			}
		}
	}
}

func threeSteps(ctx context.Context, _ wf.Event[any], step *wf.Step) (string, error) {
	for n := range 3 {
		if _, err := wf.Do(ctx, step, fmt.Sprint("step ", n), func(context.Context) (int, error) { return n, nil }); err != nil {
			return "", err
		}
	}
	_, err := wf.WaitForEvent[any](ctx, step, "be told", "go")
	return "done", err
}

// TestAnInstanceStreamsUntilItEnds follows one from its beginning to its end, and every event is as the
// document says.
func TestAnInstanceStreamsUntilItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	r.instance("moving")
	next, _ := r.listen("/durable/instances/moving/stream", "Last-Event-ID", "nonsense")
	first := next()
	if d.event("streamInstance", first); !strings.Contains(first.data, `"status":"queued"`) {
		t.Fatalf("the first event is %+v", first)
	}
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", threeSteps) })
	steps := map[string]string{}
	told, sent := 0, false
	for {
		e := next()
		if e.name == "end" {
			break
		}
		if e.name != "instance" {
			t.Fatalf("event %+v", e)
		}
		d.event("streamInstance", e)
		var p Progress
		r.check(json.Unmarshal([]byte(e.data), &p))
		for _, s := range p.Steps {
			steps[s.Name] = s.Status
			told++
		}
		if !sent && p.Instance.Status == "waiting" {
			sent = true
			if got := r.post("/durable/instances/moving/events/go", ""); got.status != http.StatusOK {
				t.Fatal(got.text)
			}
		}
		first = e
	}
	if !strings.Contains(first.data, `"status":"complete"`) {
		t.Errorf("the last event is %+v", first)
	}
	for _, name := range []string{"step 0", "step 1", "step 2", "be told"} {
		if steps[name] != "complete" {
			t.Errorf("%s is told as %q", name, steps[name])
		}
	}
	if told > 12 { // each is told when it changes, not with every event
		t.Errorf("%d steps were told", told)
	}
	if e := next(); e != (heard{}) {
		t.Errorf("after the end comes %+v", e)
	}
}

func TestAJobStreamsUntilItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	id := r.job("moving")
	next, _ := r.listen("/jobs/" + id + "/stream")
	e := next()
	if d.event("streamJob", e); !strings.Contains(e.data, `"status":"pending"`) {
		t.Fatalf("the first event is %+v", e)
	}
	if got := r.post("/jobs/"+id+"/cancel", ""); got.status != http.StatusOK {
		t.Fatal(got.text)
	}
	e = next()
	if d.event("streamJob", e); !strings.Contains(e.data, `"status":"cancelled"`) {
		t.Errorf("then comes %+v", e)
	}
	if e = next(); e.name != "end" {
		t.Errorf("then comes %+v", e)
	}
}

// TestAllJobsStream: jobs are made until one is told, because nobody says when the feed listens.
func TestAllJobsStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	next, _ := r.listen("/jobs/stream?table=job")
	ctx, stop := context.WithCancel(r.ctx)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	writer.Go(func() {
		for tick := time.Tick(20 * time.Millisecond); ctx.Err() == nil; <-tick {
			if _, err := r.jobs.Create(ctx, admin.NewJob{Path: "/work"}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		e := next()
		if e.name != "jobs" {
			t.Fatalf("event %+v", e)
		}
		d.event("streamJobs", e)
		if !strings.Contains(e.data, `"path":"/work"`) || strings.Contains(e.data, "payload") {
			t.Errorf("event %+v", e)
		}
	}
	if got := r.get("/jobs/stream?table=nothing"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("another table: %d %s", got.status, got.text)
	}
}

func TestTheLogStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	r.api.log.Info("one")
	r.api.log.Warn("two")
	next, _ := r.listen("/logs?level=info&limit=2")
	one, two := next(), next()
	d.event("streamLogs", one)
	if !strings.Contains(one.data, `"one"`) || !strings.Contains(two.data, `"two"`) {
		t.Errorf("%+v %+v", one, two)
	}
	r.api.log.Error("three")
	if e := next(); !strings.Contains(e.data, `"three"`) {
		t.Errorf("then %+v", e)
	}
	again, _ := r.listen("/logs?level=info", "Last-Event-ID", one.id)
	if e := again(); e != two {
		t.Errorf("after coming back: %+v, want %+v", e, two)
	}
	for _, nonsense := range []string{"-1", "x", "99999999999999999999999"} {
		if next, _ := r.listen("/logs?level=info", "Last-Event-ID", nonsense); next().name != "log" {
			t.Errorf("Last-Event-ID: %s does harm", nonsense)
		}
	}
}

func gauge(g prometheus.Gauge) float64 {
	var m dto.Metric
	if err := g.Write(&m); err != nil {
		panic(err)
	}
	return m.GetGauge().GetValue()
}

// TestStreamsEndWithTheirClients opens streams, leaves them, and waits until nothing is watched any more.
func TestStreamsEndWithTheirClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.instance("watched")
	var stops []func()
	for range 20 {
		next, stop := r.listen("/durable/instances/watched/stream")
		if e := next(); e.name != "instance" {
			t.Fatalf("%+v", e)
		}
		stops = append(stops, stop)
	}
	r.api.instances.mu.Lock()
	watched := len(r.api.instances.of)
	r.api.instances.mu.Unlock()
	if open := gauge(r.api.metrics.streams); open != 20 || watched != 1 {
		t.Errorf("%v streams are open, %d instances watched", open, watched)
	}
	for _, stop := range stops {
		stop()
	}
	for range stops {
		select {
		case <-r.left: // nothing else is asked for in this test
		case <-r.ctx.Done():
			t.Fatal("a stream goes on without its client")
		}
	}
	if open := gauge(r.api.metrics.streams); open != 0 {
		t.Errorf("%v streams are still open", open)
	}
	r.api.tasks.end() // what fed them has ended, too
}

// TestStalledReadersHoldUpNobody has clients that never read what is more than their connections hold, and
// one that does.
func TestStalledReadersHoldUpNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		conn, err := (&net.Dialer{}).DialContext(r.ctx, "tcp", strings.TrimPrefix(r.url, "http://"))
		r.check(err)
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "GET /admin/api/logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", readSecret)
		r.check(err)
		_, err = conn.Read(make([]byte, 1)) // it has begun
		r.check(err)
	}
	next, _ := r.listen("/logs?q=line")
	long := slog.New(r.ring.Handler(slog.NewTextHandler(io.Discard, nil)))
	for range 20_000 {
		long.Info(strings.Repeat("x", 2000))
	}
	long.Info("the last line")
	if e := next(); !strings.Contains(e.data, "the last line") {
		t.Errorf("who reads is told %+v", e)
	}
}

func TestStreamsAreCountedAndEndWithTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.MaxStreams = 2 })
	r.instance("watched")
	const path = "/durable/instances/watched/stream"
	first, stop := r.listen(path)
	second, _ := r.listen("/logs")
	_ = first()
	got := r.get(path)
	if f := got.fault(t); got.status != http.StatusServiceUnavailable || f.Code != "too_many_streams" {
		t.Errorf("the third: %d %+v", got.status, f)
	}
	stop()
	for r.get("/durable/instances/nobody/stream").status != http.StatusNotFound { // there is room again
		r.check(r.ctx.Err())
	}
	r.api.Close()
	for e := second(); e != (heard{}); e = second() {
		if e.name == "end" || e.name == "error" {
			t.Errorf("the end of the server is told as %+v", e)
		}
	}
}

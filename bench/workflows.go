package bench

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// WorkflowOptions are what [Steps] and [Instances] share.
type WorkflowOptions struct {
	// DB is the database to measure; see [Options.DB].
	DB surreal.Config
	// Count of instances, for Instances. Defaults to 500.
	Count int
	// Steps of an instance. Defaults to 5, for Steps to 200.
	Steps int
	// Concurrency is how many instances are under way at once. Defaults to 50.
	Concurrency int
	// Samples is how often a single instance, and an event, is measured. Defaults to 50.
	Samples int
	// Backend is a process on the same database that serves the workflow BENCH, which makes as many steps as its
	// params {"steps": n} say. It is measured instead of an engine in this process; what comes on top is a proxy that
	// sees when runs end. For Instances only.
	Backend *url.URL
	// Progress is told what is being measured. Defaults to io.Discard.
	Progress io.Writer
	// Logger of the node and the engine under test. Defaults to one that discards.
	Logger *slog.Logger
}

func (o WorkflowOptions) withDefaults(steps int) (WorkflowOptions, error) {
	if o.Count < 0 || o.Steps < 0 || o.Concurrency < 0 || o.Samples < 0 {
		return o, errors.New("counts must not be negative")
	}
	for v, otherwise := range map[*int]int{&o.Count: 500, &o.Steps: steps, &o.Concurrency: 50, &o.Samples: 50} {
		if *v == 0 {
			*v = otherwise
		}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

//go:embed surql/clean.surql
var cleanUp string

// work is what the measured workflow does: so many steps that take no time, and before them a wait
// for an event or a sleep where asked for.
type work struct {
	Steps int       `json:"steps"`
	Event bool      `json:"event"`
	Wake  time.Time `json:"wake,omitzero"`
}

// A workflowBench is a database, a node and a backend with an engine in this process.
type workflowBench struct {
	WorkflowOptions
	client *surreal.Client
	table  string
	flow   *wf.Workflow[work]
	node   *ssp.Node

	moments moments
}

// with runs measure with everything up.
func (o WorkflowOptions) with(ctx context.Context, measure func(context.Context, *workflowBench) error) error {
	client, hangUp, err := surreal.Connect(ctx, o.DB)
	if err != nil {
		return err
	}
	b := &workflowBench{
		WorkflowOptions: o, client: client, table: "spky_bench_" + strings.ToLower(rand.Text()[:8]),
	}
	err = b.run(ctx, measure)
	return errors.Join(err, hangUp())
}

func (b *workflowBench) run(ctx context.Context, measure func(context.Context, *workflowBench) error) (err error) {
	if _, err := schema.Apply(ctx, b.client); err != nil {
		return err
	}
	if err := surreal.Exec(ctx, b.client.Retrying(), strings.ReplaceAll(tableDDL, "{{table}}", b.table), nil); err != nil {
		return fmt.Errorf("define the bench's table: %w", err)
	}
	if _, err := schema.PrepareOutbox(ctx, b.client, b.table); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.clean(ctx)) }()
	return sparingRetention(ctx, b.client, func() error { return b.withEngine(ctx, measure) })
}

func (b *workflowBench) withEngine(ctx context.Context, measure func(context.Context, *workflowBench) error) (err error) {
	engine, err := wf.New(ctx, wf.Config{DB: b.client.Retrying(), OutboxTable: b.table, Backend: b.table, Logger: b.Logger})
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, engine.Close(end))
	}()
	b.flow = wf.Register(engine, "BENCH", b.code)
	return b.serve(ctx, engine, measure)
}

// clean removes the bench's tables and instances.
func (b *workflowBench) clean(ctx context.Context) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	vars := map[string]any{"backend": b.table, "bare": b.table + "_bare"}
	if err := surreal.Exec(end, b.client.Retrying(), strings.ReplaceAll(cleanUp, "{{table}}", b.table), vars); err != nil {
		return fmt.Errorf("remove the bench's rows: %w", err)
	}
	return nil
}

// serve runs the engine's handler and a node that sends it jobs.
func (b *workflowBench) serve(ctx context.Context, engine *wf.Engine, measure func(context.Context, *workflowBench) error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return err
	}
	runs := engine.Handler(http.NotFoundHandler())
	if b.Backend != nil {
		runs = newProxy(b.Backend, b.Concurrency)
	}
	server := &http.Server{Handler: b.observe(runs), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { _ = server.Close(); <-served }()
	base := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	node, err := ssp.New(ssp.Config{DB: b.DB, Version: "bench", Logger: b.Logger, Backends: []config.Backend{
		{Name: "bench", BaseURL: base, Table: b.table, Concurrency: b.Concurrency, Timeout: 10 * time.Second},
	}})
	if err != nil {
		return err
	}
	b.node = node
	return whileRunning(ctx, node, func(ctx context.Context) error { return measure(ctx, b) })
}

func (b *workflowBench) code(ctx context.Context, ev wf.Event[work], s *wf.Step) (int, error) {
	b.moments.happened(ev.InstanceID, began)
	if ev.Payload.Event {
		if _, err := wf.WaitForEvent[any](ctx, s, "go", "go"); err != nil {
			return 0, err
		}
		b.moments.happened(ev.InstanceID, resumed)
	}
	if at := ev.Payload.Wake; !at.IsZero() {
		if err := s.SleepUntil(ctx, "nap", at); err != nil {
			return 0, err
		}
		b.moments.happened(ev.InstanceID, resumed)
	}
	for i := range ev.Payload.Steps {
		if _, err := wf.Do(ctx, s, "step", func(context.Context) (int, error) { return i, nil }); err != nil {
			return 0, err
		}
	}
	b.moments.happened(ev.InstanceID, stepped)
	return ev.Payload.Steps, nil
}

// newProxy hands requests to another process, on connections that last.
func newProxy(to *url.URL, connections int) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{MaxIdleConnsPerHost: connections},
	}
}

// observe tells when an instance's run is asked for and when it has answered.
func (b *workflowBench) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		_, id, _ := strings.Cut(string(body), `"instance":"`)
		id, _, _ = strings.Cut(id, `"`)
		b.moments.happened(id, requested)
		next.ServeHTTP(w, r)
		b.moments.happened(id, ended)
	})
}

// once runs one instance and answers how long it took, from its creation to the end of its run.
func (b *workflowBench) once(ctx context.Context, w work) (time.Duration, error) {
	id := rand.Text()
	end := b.moments.expect(id, ended)
	started := time.Now()
	if _, err := b.flow.Create(ctx, w, wf.ID(id)); err != nil {
		return 0, err
	}
	at, err := first(ctx, end, "the end of an instance")
	return at.Sub(started), err
}

// complete fails unless exactly count instances of the bench are complete.
func (b *workflowBench) complete(ctx context.Context, count int) error {
	type answer struct {
		Count int `json:"count"`
	}
	found, err := surreal.First[[]answer](ctx, b.client, "SELECT count() FROM _00_wf_instance WHERE backend = $backend AND status = 'complete' GROUP ALL", map[string]any{"backend": b.table})
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0].Count != count {
		return fmt.Errorf("%v instances are complete, not %d", found, count)
	}
	return nil
}

// callBare makes a protocol call as any client would.
func (b *workflowBench) callBare(ctx context.Context, call string, vars map[string]any) error {
	return surreal.Exec(ctx, b.client.Retrying(), "RETURN fn::spky::wf::"+call, vars)
}

// bare makes the writes of one instance and nothing else.
func (b *workflowBench) bare(ctx context.Context, steps int) error {
	id := rand.Text()
	vars := map[string]any{"id": id, "ttl": surreal.Duration(15 * time.Second), "new": map[string]any{
		"id": id, "binding": "BENCH", "params": work{Steps: steps}, "owner": surreal.None, "backend": b.table + "_bare", "job_table": b.table + "_bare", "version": surreal.None,
	}}
	if err := b.callBare(ctx, "create($new)", vars); err != nil {
		return err
	}
	if err := b.callBare(ctx, "acquire($id, 'BENCH', NONE, $id, $ttl)", vars); err != nil {
		return err
	}
	for i := range steps {
		if err := b.bareCommit(ctx, id, i); err != nil {
			return err
		}
	}
	return b.callBare(ctx, "finish($op)", map[string]any{"op": map[string]any{"id": id, "fence": 1, "status": "complete", "output": steps}})
}

func (b *workflowBench) bareCommit(ctx context.Context, id string, i int) error {
	now := time.Now()
	instance := surreal.NewRecordID("_00_wf_instance", id)
	row := map[string]any{
		"id": surreal.NewRecordID("_00_wf_step", []any{id, 0, "do", "step", i + 1}), "instance": instance, "finished_at": now,
		"seq": i + 1, "kind": "do", "name": "step", "occurrence": i + 1, "status": "complete",
		"attempts": []any{map[string]any{"started_at": now, "ended_at": now}}, "output": i, "started_at": now,
		"config": map[string]any{"timeout": 600000, "retries": map[string]any{"limit": 5, "delay": 10000, "backoff": "exponential"}},
	}
	op := map[string]any{"instance": instance, "fence": 1, "ttl": surreal.Duration(15 * time.Second), "name": "step"}
	return b.callBare(ctx, "commit_steps([$op], [$row])", map[string]any{"op": op, "row": row})
}

package ssp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// A rig is a database of a test's own and a connection to it that no node uses.
type rig struct {
	tb  testing.TB
	ctx context.Context
	cfg surreal.Config
	db  *surreal.Client
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	target := devdbtest.Fresh(tb)
	r := &rig{tb: tb, ctx: testContext(tb), cfg: surreal.Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	}}
	db, stop, err := surreal.Connect(r.ctx, r.cfg)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = stop() })
	r.db = db
	return r
}

// newJobs is a rig with an outbox table named job, as `spky add api` writes it.
func newJobs(tb testing.TB) *rig {
	tb.Helper()
	r := newRig(tb)
	r.outbox("job")
	return r
}

func (r *rig) outbox(table string) {
	r.tb.Helper()
	ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
	if err != nil {
		r.tb.Fatal(err)
	}
	r.exec(ddl, nil)
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.tb.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		r.tb.Fatalf("%.200s: %v", surql, err)
	}
}

// job writes a job with the key and the columns beside path. The answer is its id.
func (r *rig) job(key any, path string, columns map[string]any) surreal.RecordID {
	r.tb.Helper()
	return r.jobIn("job", key, path, columns)
}

func (r *rig) jobIn(table string, key any, path string, columns map[string]any) surreal.RecordID {
	r.tb.Helper()
	id := surreal.NewRecordID(table, key)
	content := map[string]any{"path": path}
	for name, value := range columns {
		content[name] = value
	}
	r.exec("CREATE $id CONTENT $content RETURN NONE", map[string]any{"id": id, "content": content})
	return id
}

// A jobRow is what tests look at of a job.
type jobRow struct {
	Status    string     `json:"status"`
	Retries   int        `json:"retries"`
	Errors    []jobError `json:"errors"`
	Result    any        `json:"result"`
	RunAt     *time.Time `json:"run_at"`
	CreatedAt *time.Time `json:"created_at"`
	Assignee  string     `json:"assignee"`
	Epoch     int64      `json:"lease_epoch"`
}

type jobError struct {
	Code    any       `json:"code"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
}

// codes are the codes of the row's errors as texts.
func (j jobRow) codes() string {
	all := make([]string, len(j.Errors))
	for i, e := range j.Errors {
		all[i] = fmt.Sprint(e.Code)
	}
	return strings.Join(all, " ")
}

func (r *rig) row(id surreal.RecordID) (jobRow, bool) {
	r.tb.Helper()
	rows, err := surreal.First[[]jobRow](r.ctx, r.db, "SELECT * OMIT payload FROM $id", map[string]any{"id": id})
	if err != nil {
		r.tb.Fatalf("read %s: %v", surreal.FormatID(id), err)
	}
	if len(rows) == 0 {
		return jobRow{}, false
	}
	return rows[0], true
}

// await reads the job until it is as wanted.
func (r *rig) await(id surreal.RecordID, what string, want func(jobRow) bool) jobRow {
	r.tb.Helper()
	var last jobRow
	r.eventually(fmt.Sprintf("%s is %s", surreal.FormatID(id), what), func() bool {
		last, _ = r.row(id)
		return want(last)
	}, func() string { return fmt.Sprintf("%+v", last) })
	return last
}

// ended waits until the job runs no more.
func (r *rig) ended(id surreal.RecordID) jobRow {
	r.tb.Helper()
	return r.await(id, "finished", func(j jobRow) bool { return j.Status != "pending" && j.Status != "processing" })
}

// settled waits until the job is finished with this status.
func (r *rig) settled(id surreal.RecordID, status string) jobRow {
	r.tb.Helper()
	row := r.ended(id)
	if row.Status != status {
		r.tb.Errorf("%s ended as %+v, want %s", surreal.FormatID(id), row, status)
	}
	return row
}

// count counts rows of a table with this status.
func (r *rig) count(table, status string) int {
	r.tb.Helper()
	n, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM type::table($table) WHERE status = $status", map[string]any{"table": table, "status": status})
	if err != nil {
		r.tb.Fatal(err)
	}
	return len(n)
}

// eventually asks until the condition holds.
func (r *rig) eventually(what string, holds func() bool, state ...func() string) {
	r.tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			for _, tell := range state {
				what += ": " + tell()
			}
			r.tb.Fatalf("did not happen: %s", what)
		}
	}
}

// backend describes a backend at the URL for the table job.
func backend(at string, change ...func(*config.Backend)) config.Backend {
	base, err := url.Parse(at)
	if err != nil {
		panic(err)
	}
	b := config.Backend{Name: "api", BaseURL: base, Table: "job", Concurrency: 16, RetryOn: config.RetryAll, Timeout: 10 * time.Second}
	for _, apply := range change {
		apply(&b)
	}
	return b
}

// A running node.
type running struct {
	*Node
	tb     testing.TB
	log    *logBook
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs a node and waits until it is ready. It stops at the test's end.
func (r *rig) start(backends []config.Backend, change ...func(*Config)) *running {
	r.tb.Helper()
	n := r.launch(backends, change...)
	n.awaitReady(r.ctx)
	return n
}

// launch is start without the wait.
func (r *rig) launch(backends []config.Backend, change ...func(*Config)) *running {
	r.tb.Helper()
	book := &logBook{}
	cfg := Config{DB: r.cfg, Backends: backends, Jitter: -1, Logger: slog.New(slog.NewTextHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, apply := range change {
		apply(&cfg)
	}
	node, err := New(cfg)
	if err != nil {
		r.tb.Fatalf("new node: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &running{Node: node, tb: r.tb, log: book, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		n.err = node.Run(ctx)
	}()
	r.tb.Cleanup(func() {
		n.stop()
		if r.tb.Failed() {
			r.tb.Logf("log of node %s:\n%s", node.ID(), book.tail(16<<10))
		}
	})
	return n
}

func (n *running) awaitReady(ctx context.Context) {
	n.tb.Helper()
	select {
	case <-n.Ready():
	case <-n.done:
		n.tb.Fatalf("the node ended before it was ready: %v", n.err)
	case <-ctx.Done():
		n.tb.Fatalf("the node did not become ready: %v", n.troubles())
	}
}

// stop ends the node and waits; Run must answer nil.
func (n *running) stop() {
	n.tb.Helper()
	n.cancel()
	select {
	case <-n.done:
	case <-time.After(patience):
		n.tb.Fatal("the node does not stop")
	}
	if n.err != nil {
		n.tb.Errorf("Run answered %v, want nil", n.err)
	}
}

// metric is the value of a counter or gauge whose labels have all the given values.
func (n *running) metric(name string, labels ...string) float64 {
	n.tb.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		n.tb.Fatalf("gather metrics: %v", err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if labelled(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func labelled(m *dto.Metric, want []string) bool {
	have := map[string]bool{}
	for _, pair := range m.GetLabel() {
		have[pair.GetValue()] = true
	}
	for _, value := range want {
		if !have[value] {
			return false
		}
	}
	return true
}

// A logBook collects a log.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBook) tail(n int) string {
	text := b.String()
	return text[max(0, len(text)-n):]
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/admintest"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// The secrets that the tests' servers know, each told from all other text.
const (
	fullSecret = "full-sesame-4711"
	readSecret = "read-sesame-0815"
)

// A rig is an admin API on a database of its own.
type rig struct {
	t       *testing.T
	ctx     context.Context
	cfg     surreal.Config
	db      *surreal.Client
	durable *admin.Durable
	jobs    *admin.Jobs
	tokens  *admin.Tokens
	ring    *logs.Ring
	api     *Server
	url     string
	log     *watchedLog
	left    chan string // the paths of requests that have been answered to their end
}

// A watchedLog is a log that can be read while it is written.
type watchedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *watchedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *watchedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func configured() []config.Backend {
	return []config.Backend{
		{Name: "api", Table: "job", Workflows: []config.Workflow{{Binding: "ALPHA", Class: "Alpha"}, {Binding: "BETA", Class: "Beta"}}},
	}
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, log: &watchedLog{}}
	db, at := admintest.Connect(ctx, t, devdbtest.Fresh(t))
	r.db, r.cfg = db, at
	r.durable = admin.NewDurable(admin.DurableConfig{DB: db, Backends: configured()})
	r.jobs = admin.NewJobs(admin.JobsConfig{DB: db, Backends: configured()})
	r.tokens = admin.NewTokens(db)
	r.ring = logs.NewRing(0)
	cfg := Config{
		Durable: r.durable, Jobs: r.jobs, Explainer: admin.NewExplainer(admin.ExplainConfig{DB: db, Backends: configured()}),
		Schedules: admin.NewSchedules(db, redact.Rules{}), DAGs: admin.NewDAGs(db, redact.Rules{}), Cluster: admin.NewCluster(admin.ClusterConfig{DB: db, Backends: configured()}), Tokens: r.tokens, Audit: admin.NewAudit(db),
		Logs: r.ring, Version: "1.2.3",
		Logger:  slog.New(r.ring.Handler(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		Secrets: []Secret{{"root", scopeFull, fullSecret}, {"viewer", scopeRead, readSecret}},
	}
	for _, c := range change {
		c(&cfg)
	}
	r.serve(cfg)
	return r
}

func (r *rig) serve(cfg Config) {
	r.t.Helper()
	s, err := New(cfg)
	r.check(err)
	r.left = make(chan string, 1000)
	handler := s.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer func() {
			select {
			case r.left <- q.URL.Path:
			default: // nobody asks
			}
		}()
		handler.ServeHTTP(w, q)
	}))
	r.api, r.url = s, server.URL
	r.t.Cleanup(func() { s.Close(); server.Close() })
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) exec(surql string, vars map[string]any) {
	r.t.Helper()
	if err := surreal.Exec(r.ctx, r.db.Retrying(), surql, vars); err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
}

func (r *rig) instance(id string) string {
	r.t.Helper()
	id, err := r.durable.Create(r.ctx, admin.NewInstance{Binding: "ALPHA", ID: id, Params: json.RawMessage(`{"hidden": "params-are-not-listed"}`)})
	r.check(err)
	return id
}

// job writes a job that nobody runs.
func (r *rig) job(id string) string {
	r.t.Helper()
	id, err := r.jobs.Create(r.ctx, admin.NewJob{ID: id, Path: "/work", Payload: json.RawMessage(`{"hidden": "payload-is-not-listed"}`)})
	r.check(err)
	return id
}

// An answered is an answer that was read to its end.
type answered struct {
	status int
	header http.Header
	text   string
}

// fault is what an answer that says no holds.
func (a answered) fault(t *testing.T) fault {
	t.Helper()
	var f fault
	if err := json.Unmarshal([]byte(a.text), &f); err != nil || f.Code == "" || f.Message == "" || f.Hint == "" {
		t.Fatalf("an answer of status %d is no {code, message, hint}: %s (%v)", a.status, a.text, err)
	}
	return f
}

// A asked is a request to be made.
type asked struct {
	method, path, token, body, media string
}

func (r *rig) ask(q asked) answered {
	r.t.Helper()
	var content io.Reader
	if q.body != "" {
		content = strings.NewReader(q.body)
	}
	request, err := http.NewRequestWithContext(r.ctx, q.method, r.url+q.path, content)
	r.check(err)
	if q.token != "" {
		request.Header.Set("Authorization", "Bearer "+q.token)
	}
	switch {
	case q.media != "":
		request.Header.Set("Content-Type", q.media)
	case q.body != "":
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultTransport.RoundTrip(request) // redirects are shown
	r.check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	r.check(err)
	return answered{answer.StatusCode, answer.Header, string(text)}
}

func (r *rig) get(path string) answered {
	return r.ask(asked{method: http.MethodGet, path: "/admin/api" + path, token: readSecret})
}

func (r *rig) post(path, body string) answered {
	return r.ask(asked{method: http.MethodPost, path: "/admin/api" + path, token: fullSecret, body: body})
}

// running starts a backend that runs register's workflows, and a node beside it.
func (r *rig) running(register func(*wf.Engine)) *ssp.Node {
	r.t.Helper()
	return admintest.Backend{DB: r.db, Cfg: r.cfg, Register: register}.Run(r.ctx, r.t)
}

// json is what a statement answers with.
func (r *rig) json(surql string, vars map[string]any) string {
	r.t.Helper()
	value, err := surreal.First[any](r.ctx, r.db, surql, vars)
	if err != nil {
		r.t.Fatalf("%s: %v", surql, err)
	}
	text, err := surreal.ToJSON(value)
	r.check(err)
	return string(text)
}

// http404 stands for a handler that nobody asks.
type http404 struct{}

func (http404) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/admintest"
	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	if code == 0 {
		if err := goleak.Find(devdbtest.Leftovers()...); err != nil {
			_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
			code = 1
		}
	}
	os.Exit(code)
}

// patience is how long a test waits for what must happen.
const patience = 100 * time.Second

// The secrets that the tests' servers know.
const (
	fullSecret = "full-sesame-4711"
	readSecret = "read-sesame-0815"
)

// A rig is a dashboard on a database of its own, with an outbox table named job, whose backend has the workflows
// INGEST and MAIL.
type rig struct {
	t         testing.TB
	ctx       context.Context
	cfg       surreal.Config
	db        *surreal.Client
	durable   *admin.Durable
	jobs      *admin.Jobs
	schedules *admin.Schedules
	dags      *admin.DAGs
	tokens    *admin.Tokens
	audit     *admin.Audit
	api       *api.Server
	pages     *Dashboard
	server    *httptest.Server
	url       string
	cluster   *admin.Cluster
	redact    []string
	ran       string // a run of the DAG nightly, of a busy rig
}

func configured(base *url.URL) []config.Backend {
	return []config.Backend{{
		Name: "api", Table: "job", BaseURL: base, Concurrency: 8, Timeout: time.Minute, RetryOn: config.RetryAll,
		Workflows: []config.Workflow{{Binding: "INGEST", Class: "Ingest"}, {Binding: "MAIL", Class: "Mail"}},
	}}
}

func newRig(t testing.TB, hidden ...string) *rig {
	t.Helper()
	return rigOn(t, devdbtest.Fresh(t), hidden...)
}

// rigOn is a rig on a database that is told.
func rigOn(t testing.TB, target devdbtest.Target, hidden ...string) *rig {
	t.Helper()
	long := 3 * patience
	if _, ok := t.(*testing.B); ok {
		long = 10 * patience
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), long)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, redact: hidden}
	r.db, r.cfg = admintest.Connect(ctx, t, target)
	r.serve()
	return r
}

// serve starts the admin API and the pages.
func (r *rig) serve() {
	r.t.Helper()
	base, err := url.Parse("http://127.0.0.1:4000")
	r.check(err)
	backends, hidden := configured(base), redact.New(r.redact)
	r.durable = admin.NewDurable(admin.DurableConfig{DB: r.db, Backends: backends, Redact: hidden})
	r.jobs = admin.NewJobs(admin.JobsConfig{DB: r.db, Backends: backends, Redact: hidden})
	r.schedules, r.dags, r.tokens, r.audit = admin.NewSchedules(r.db, hidden), admin.NewDAGs(r.db, hidden), admin.NewTokens(r.db), admin.NewAudit(r.db)
	explainer := admin.NewExplainer(admin.ExplainConfig{DB: r.db, Backends: backends, Redact: hidden})
	r.cluster = admin.NewCluster(admin.ClusterConfig{DB: r.db, Backends: backends})
	log := slog.New(slog.NewTextHandler(r.t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	r.api, err = api.New(api.Config{
		Durable: r.durable, Jobs: r.jobs, Explainer: explainer, Cluster: r.cluster, Schedules: r.schedules, DAGs: r.dags, Tokens: r.tokens, Audit: r.audit, Logger: log,
		Secrets: []api.Secret{{Name: "root", Scope: "full", Token: fullSecret}, {Name: "viewer", Scope: "read", Token: readSecret}},
	})
	r.check(err)
	r.pages, err = New(Config{
		API: r.api, Durable: r.durable, Jobs: r.jobs, Explainer: explainer, Cluster: r.cluster, Schedules: r.schedules, DAGs: r.dags, Audit: r.audit,
		TraceURL: "https://traces.example.com/trace/{trace}", Version: "1.2.3", Logger: log,
	})
	r.check(err)
	r.api.Mount("/admin/", r.pages.Handler())
	r.server = httptest.NewServer(r.api.Handler())
	r.url = r.server.URL
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.pages.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		r.check(<-ended)
		r.api.Close()
		r.server.Close()
	})
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

func (r *rig) create(binding, id, params string) {
	r.t.Helper()
	_, err := r.durable.Create(r.ctx, admin.NewInstance{Binding: binding, ID: id, Params: json.RawMessage(params)})
	r.check(err)
}

func (r *rig) job(n admin.NewJob) string {
	r.t.Helper()
	id, err := r.jobs.Create(r.ctx, n)
	r.check(err)
	return id
}

// status waits until an instance is in a state.
func (r *rig) status(id string, want ...wf.Status) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	got, err := r.durable.Watch(ctx, id, func(p admin.Progress) error {
		for _, one := range want {
			if p.Instance.Status == one {
				cancel()
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil || r.ctx.Err() != nil {
		r.t.Fatalf("instance %s is %s, want %v: %v", id, got.Instance.Status, want, err)
	}
}

// ended waits until a job is in a state.
func (r *rig) ended(id string, want admin.JobStatus) {
	r.t.Helper()
	got, err := r.jobs.Watch(r.ctx, id, func(admin.Job) error { return nil })
	if err != nil || got.Status != want {
		r.t.Fatalf("job %s is %s, want %s: %v", id, got.Status, want, err)
	}
}

// runEnded waits until a run of a DAG has ended.
func (r *rig) runEnded(id string) {
	r.t.Helper()
	over := errors.New("it has ended")
	err := r.cluster.Changes(r.ctx, admin.TableRuns, func(admin.TableChange) error {
		run, err := r.dags.Run(r.ctx, id)
		if err == nil && run.FinishedAt != nil {
			return over
		}
		return err
	})
	if !errors.Is(err, over) {
		r.t.Fatalf("run %s: %v", id, err)
	}
}

// running starts a backend that runs register's workflows and answers with serve, and a node beside it.
func (r *rig) running(register func(*wf.Engine), serve http.HandlerFunc, schedules ...schedule.Spec) {
	r.t.Helper()
	b := admintest.Backend{DB: r.db, Cfg: r.cfg, Register: register, Configured: configured, Node: ssp.Config{ID: "node-1", Schedules: schedules}}
	if serve != nil {
		b.App = serve
	}
	b.Run(r.ctx, r.t)
}

// A client is a browser without scripts.
type client struct {
	*rig

	http *http.Client
}

// An answered is an answer that was read to its end.
type answered struct {
	status int
	header http.Header
	text   string
}

// ask sends a request; a form where there is one.
func (c *client) ask(method, path string, form url.Values, header ...string) answered {
	c.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(c.ctx, method, c.url+path, body)
	c.check(err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := c.http.Do(request)
	c.check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	c.check(err)
	return answered{answer.StatusCode, answer.Header, string(text)}
}

func (c *client) get(path string) answered { return c.ask(http.MethodGet, path, nil) }

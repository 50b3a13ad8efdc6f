package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// The tokens of a stage's admin API.
const (
	fullToken = "full-token-of-the-stage"
	readToken = "read-token-of-the-stage"
)

// A stage is a project in a directory of its own, its database, and its backend, which has the workflow
// INGEST: a step, a wait for the event approved, another step.
type stage struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	env     []string // of programs of the project
	db      *surreal.Client
	durable *admin.Durable
	jobs    *admin.Jobs
	api     string // the admin API's address, once the daemon runs
}

func newStage(t *testing.T) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	target := devdbtest.Fresh(t)
	s := &stage{t: t, ctx: ctx, dir: t.TempDir()}
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	})
	check(t, err)
	t.Cleanup(func() { check(t, stop()) })
	s.db = db
	_, err = schema.Apply(ctx, db)
	check(t, err)
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	check(t, err)
	check(t, surreal.Exec(ctx, db, ddl, nil))
	_, err = schema.PrepareOutbox(ctx, db, "job")
	check(t, err)
	backends := []config.Backend{{Name: "api", Table: "job", Workflows: []config.Workflow{{Binding: "INGEST", Class: "Ingest"}}}}
	s.durable = admin.NewDurable(admin.DurableConfig{DB: db, Backends: backends})
	s.jobs = admin.NewJobs(admin.JobsConfig{DB: db, Backends: backends})
	s.env = append(os.Environ(), "SPKY_DB_URL="+target.Endpoint, "SPKY_DB_NS="+target.Namespace, "SPKY_DB_NAME="+target.Database,
		"SPKY_DB_USER="+target.User, "SPKY_DB_PASS="+target.Password, "USER=tester")
	s.project(ddl, s.backend())
	return s
}

// project writes the project's files.
func (s *stage) project(ddl, backend string) {
	s.t.Helper()
	for name, text := range map[string]string{
		"job.surql":   ddl,
		"openapi.yml": "openapi: 3.1.0\ninfo: {title: api, version: '1'}\npaths:\n  /work: {post: {responses: {'200': {description: done}}}}\n",
		"sp00ky.yml": fmt.Sprintf(`surrealdb: {hosting: external, endpoint: "${SPKY_DB_URL}"}
apps:
  api:
    type: backend
    spec: openapi.yml
    baseUrl: %s
    method: {type: outbox, table: job, schema: job.surql}
    workflows: [{binding: INGEST, class: Ingest}]
admin:
  tokens:
    - {label: reader, scope: read, token: %s}
    - {label: operator, scope: full, token: %s}
`, backend, readToken, fullToken),
	} {
		check(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
}

// backend starts the backend, and gives its address.
func (s *stage) backend() string {
	s.t.Helper()
	engine, err := wf.New(s.ctx, wf.Config{DB: s.db.Retrying(), OutboxTable: "job", Logger: slog.New(slog.DiscardHandler)})
	check(s.t, err)
	wf.Register(engine, "INGEST", func(ctx context.Context, _ wf.Event[map[string]any], step *wf.Step) (string, error) {
		if _, err := wf.Do(ctx, step, "fetch", func(context.Context) (string, error) { return strings.Repeat("text ", 50_000), nil }); err != nil {
			return "", err
		}
		approval, err := wf.WaitForEvent[string](ctx, step, "approval", "approved")
		if err != nil {
			return "", err
		}
		return "approved by " + approval.Payload, nil
	})
	server := httptest.NewServer(engine.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"done":true}`)
	})))
	s.t.Cleanup(func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
		defer cancel()
		check(s.t, engine.Close(end))
		server.Close()
	})
	return server.URL
}

// daemon starts spky run beside the backend, and waits until its admin API answers.
func (s *stage) daemon() {
	s.t.Helper()
	listen, api := freeAddress(s.t), freeAddress(s.t)
	cmd := exec.CommandContext(s.ctx, spky(s.t), "run", "--listen", listen, "--admin-listen", api)
	log := &lines{}
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = s.dir, s.env, log, patience
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	check(s.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			s.t.Errorf("spky run: %v\n%s", err, log.all())
		}
	})
	s.api = "http://" + api
	s.until("the admin API answers", func() bool {
		select {
		case err := <-ended:
			ended <- err
			s.t.Fatalf("spky run ended: %v\n%s", err, log.all())
		default:
		}
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.api+"/ready", nil)
		check(s.t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().String()
}

// until polls a condition.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			s.t.Fatalf("never: %s", what)
		}
	}
}

// instance creates an instance.
func (s *stage) instance(id string) string {
	s.t.Helper()
	id, err := s.durable.Create(s.ctx, admin.NewInstance{Binding: "INGEST", ID: id})
	check(s.t, err)
	return id
}

// reaches waits until an instance is in a state.
func (s *stage) reaches(id string, status admin.InstanceStatus) {
	s.t.Helper()
	done := errors.New("done")
	last, err := s.durable.Watch(s.ctx, id, func(p admin.Progress) error {
		if p.Instance.Status == status {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		s.t.Fatalf("wait until %s is %s: %v; it is %+v", id, status, err, last.Instance)
	}
}

// job creates a job.
func (s *stage) job() string {
	s.t.Helper()
	id, err := s.jobs.Create(s.ctx, admin.NewJob{Table: "job", Path: "/work", Delay: time.Hour.Milliseconds()})
	check(s.t, err)
	return id
}

package client_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/admintest"
	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

const secret = "sesame-4711"

// A rig is operations, and a client of an admin API on them.
type rig struct {
	t      *testing.T
	ctx    context.Context
	api    api.Config
	ring   *logs.Ring
	db     *surreal.Client
	client *client.Client
	server *httptest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, ring: logs.NewRing(0)}
	db, _ := admintest.Connect(ctx, t, devdbtest.Fresh(t))
	r.db = db
	backends := []config.Backend{{Name: "api", Table: "job", Workflows: []config.Workflow{{Binding: "ALPHA", Class: "Alpha"}}}}
	r.api = api.Config{
		Durable:   admin.NewDurable(admin.DurableConfig{DB: db, Backends: backends}),
		Jobs:      admin.NewJobs(admin.JobsConfig{DB: db, Backends: backends}),
		Explainer: admin.NewExplainer(admin.ExplainConfig{DB: db, Backends: backends}),
		Schedules: admin.NewSchedules(db, redact.Rules{}), DAGs: admin.NewDAGs(db, redact.Rules{}),
		Cluster: admin.NewCluster(admin.ClusterConfig{DB: db, Backends: backends}),
		Tokens:  admin.NewTokens(db), Audit: admin.NewAudit(db), Logs: r.ring, Secrets: []api.Secret{{Name: "root", Scope: "full", Token: secret}},
	}
	s, err := api.New(r.api)
	r.check(err)
	r.server = httptest.NewServer(s.Handler())
	t.Cleanup(func() { s.Close(); r.server.Close() })
	r.client = r.as(secret)
	return r
}

// as is a client with a token.
func (r *rig) as(token string) *client.Client {
	r.t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	r.t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{URL: r.server.URL, Token: token, Via: "cli", Transport: transport})
	r.check(err)
	return c
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// same fails where what came over HTTP is not what the operation gives.
func same[T any](t *testing.T, what string, far T, farErr error, near T, nearErr error) {
	t.Helper()
	if farErr != nil || nearErr != nil {
		t.Errorf("%s: %v over HTTP, %v", what, farErr, nearErr)
		return
	}
	a, _ := json.Marshal(far)
	b, _ := json.Marshal(near)
	if string(a) != string(b) {
		t.Errorf("%s: over HTTP\n%s, else\n%s", what, a, b)
	}
}

func (r *rig) logger() *slog.Logger {
	return slog.New(r.ring.Handler(slog.NewTextHandler(discard{}, nil)))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// counts says whether /metrics has all these lines.
func (r *rig) counts(lines ...string) bool {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.server.URL+"/metrics", nil)
	r.check(err)
	request.Header.Set("Authorization", "Bearer "+secret)
	answer, err := http.DefaultClient.Do(request)
	r.check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	r.check(err)
	for _, line := range lines {
		if !strings.Contains(string(text), line+"\n") {
			return false
		}
	}
	return true
}

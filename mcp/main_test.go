package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// testPatience is how long a test waits for what must happen.
const testPatience = 3 * time.Minute

// A rig is a database of a test's own, with an outbox table named job whose backend has the workflow
// INGEST, and a server beside it.
type rig struct {
	t       *testing.T
	ctx     context.Context
	db      *surreal.Client
	durable *admin.Durable
	jobs    *admin.Jobs
	logs    *logs.Ring
	server  *Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testPatience) // outlasts cleaning up
	t.Cleanup(cancel)
	target := devdbtest.Fresh(t)
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	})
	r := &rig{t: t, ctx: ctx, db: db}
	r.check(err)
	t.Cleanup(func() { r.check(stop()) })
	_, err = schema.Apply(ctx, db)
	r.check(err)
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	r.check(err)
	r.exec(ddl, nil)
	_, err = schema.PrepareOutbox(ctx, db, "job")
	r.check(err)
	backends := []config.Backend{{Name: "api", Table: "job", Workflows: []config.Workflow{{Binding: "INGEST", Class: "Ingest"}}}}
	r.durable = admin.NewDurable(admin.DurableConfig{DB: db, Backends: backends})
	r.jobs = admin.NewJobs(admin.JobsConfig{DB: db, Backends: backends})
	r.logs = logs.NewRing(0)
	r.server = New(Config{
		Instances: r.durable, Jobs: r.jobs, Explainer: admin.NewExplainer(admin.ExplainConfig{DB: db, Backends: backends}), Logs: r.logs, Schedules: admin.NewSchedules(db, redact.Rules{}), DAGs: admin.NewDAGs(db, redact.Rules{}), Cluster: admin.NewCluster(admin.ClusterConfig{DB: db, Backends: backends}), Caller: callerOf,
	})
	t.Cleanup(r.server.Close)
	return r
}

// callerOf is of the scope that a test put into the context.
func callerOf(ctx context.Context) Caller {
	scope, _ := ctx.Value(scopeKey{}).(admin.Scope)
	return Caller{Name: "tester", Scope: scope}
}

type scopeKey struct{}

func scoped(ctx context.Context, scope admin.Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
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

func (r *rig) create(id string) string {
	r.t.Helper()
	id, err := r.durable.Create(r.ctx, admin.NewInstance{Binding: "INGEST", ID: id})
	r.check(err)
	return id
}

// A client is one that speaks to the server on a pair of streams.
type client struct {
	*rig
	session *sdk.ClientSession
	updates chan string // URIs of resources that moved
	hangUp  func()
}

// The protocol's newest version, and the one before, which has sessions.
const newest, legacy = "2026-07-28", "2025-11-25"

// connect makes a client of that scope.
func (r *rig) connect(scope admin.Scope) *client { return r.speaking(scope, newest) }

// speaking makes a client of that scope that speaks a version of the protocol.
func (r *rig) speaking(scope admin.Scope, protocol string) *client {
	r.t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.server.Serve(scoped(r.ctx, scope), fromClient, toClient) }()
	c := &client{rig: r, updates: make(chan string, 100)}
	c.open(&sdk.IOTransport{Reader: fromServer, Writer: toServer}, protocol)
	c.hangUp = sync.OnceFunc(func() {
		_ = c.session.Close()
		if err := <-ended; err != nil && r.server.ctx.Err() == nil {
			r.t.Errorf("serve: %v", err)
		}
	})
	r.t.Cleanup(c.hangUp)
	return c
}

// overHTTP makes a client of that scope that speaks a version of the protocol over HTTP.
func (r *rig) overHTTP(scope admin.Scope, protocol string) *client {
	r.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.server.Handler().ServeHTTP(w, q.WithContext(scoped(q.Context(), scope)))
	}))
	r.t.Cleanup(server.Close)
	c := &client{rig: r, updates: make(chan string, 100)}
	c.open(&sdk.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, protocol)
	c.hangUp = sync.OnceFunc(func() { _ = c.session.Close() })
	r.t.Cleanup(c.hangUp)
	return c
}

func (c *client) open(transport sdk.Transport, version string) {
	c.t.Helper()
	protocol := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { c.updates <- r.Params.URI },
	})
	session, err := protocol.Connect(c.ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	c.check(err)
	c.session = session
}

// An answer is what a tool answered with.
type answer struct {
	c     *client
	tool  string
	size  int // of the whole result, in bytes
	text  string
	json  string // the structured answer
	error bool
}

func (c *client) call(tool string, args map[string]any) answer {
	c.t.Helper()
	result, err := c.session.CallTool(c.ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("call %s: %v", tool, err)
	}
	all, err := json.Marshal(result)
	c.check(err)
	a := answer{c: c, tool: tool, size: len(all), error: result.IsError}
	for _, content := range result.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			a.text += text.Text
		}
	}
	if result.StructuredContent != nil {
		text, err := json.Marshal(result.StructuredContent)
		c.check(err)
		a.json = string(text)
	}
	return a
}

// ok is a call that has to work, and whose answer has to fit the tool's schema.
func (c *client) ok(tool string, args map[string]any, into any) answer {
	c.t.Helper()
	a := c.call(tool, args)
	if a.error {
		c.t.Fatalf("call %s %v: %s", tool, args, a.text)
	}
	c.fits(a)
	if into == nil {
		return a
	}
	text := a.json
	if strings.HasPrefix(a.text, "{") { // as exact as it was sent
		text = a.text
	}
	c.check(json.Unmarshal([]byte(text), into))
	return a
}

// fits holds an answer against the output schema that the server lists.
func (c *client) fits(a answer) {
	c.t.Helper()
	tools, err := c.session.ListTools(c.ctx, nil)
	c.check(err)
	for _, tool := range tools.Tools {
		if tool.Name != a.tool {
			continue
		}
		text, err := json.Marshal(tool.OutputSchema)
		c.check(err)
		var s jsonschema.Schema
		c.check(json.Unmarshal(text, &s))
		var value any
		c.check(json.Unmarshal([]byte(a.json), &value))
		if err := resolved(&s).Validate(value); err != nil {
			c.t.Fatalf("the answer of %s does not fit its schema: %v\n%s", a.tool, err, a.json)
		}
		return
	}
	c.t.Fatalf("%s is not listed", a.tool)
}

// refused is a call that has to fail with an error of the tool.
func (c *client) refused(tool string, args map[string]any, code string, says ...string) fault {
	c.t.Helper()
	a := c.call(tool, args)
	var f fault
	if !a.error || json.Unmarshal([]byte(a.text), &f) != nil {
		c.t.Fatalf("call %s %v: %q, want an error of the tool", tool, args, a.text)
	}
	if f.Code != code {
		c.t.Fatalf("call %s %v: %s, want the code %s", tool, args, a.text, code)
	}
	for _, word := range says {
		if !strings.Contains(f.Message+"\n"+f.Hint, word) {
			c.t.Fatalf("call %s %v: %s, which does not say %q", tool, args, a.text, word)
		}
	}
	return f
}

// moved waits for the news that a resource has changed.
func (c *client) moved(uri string) {
	c.t.Helper()
	select {
	case got := <-c.updates:
		if got != uri {
			c.t.Fatalf("told that %s changed, want %s", got, uri)
		}
	case <-c.ctx.Done():
		c.t.Fatalf("nobody told that %s changed", uri)
	}
}

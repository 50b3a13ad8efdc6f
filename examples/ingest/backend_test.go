package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

const testToken = "test-token"

// A backend is this program on a database of the test's own.
type backend struct {
	tb     testing.TB
	url    string
	client *surreal.Client
	target devdbtest.Target
}

func newBackend(tb testing.TB) *backend {
	tb.Helper()
	target := devdbtest.Fresh(tb)
	client, stop, err := surreal.Connect(tb.Context(), surreal.Config{
		Endpoint: target.Endpoint, Username: target.User, Password: target.Password,
		Namespace: target.Namespace, Database: target.Database,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	b := &backend{tb: tb, client: client, target: target}
	b.applySchema()
	quiet := slog.New(slog.DiscardHandler)
	engine, err := wf.New(tb.Context(), wf.Config{DB: client.Retrying(), OutboxTable: "job", AuthToken: testToken, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(newServer(&store{client: client, table: "job"}, engine, testToken, quiet))
	tb.Cleanup(func() {
		server.Close()
		if err := engine.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	b.url = server.URL
	return b
}

// applySchema applies the platform's schema and the files, as `spky migrate apply` would.
func (b *backend) applySchema() {
	b.tb.Helper()
	if _, err := schema.Apply(b.tb.Context(), b.client); err != nil {
		b.tb.Fatal(err)
	}
	for _, file := range []string{"schema/schema.surql", "schema/job.surql"} {
		content, err := os.ReadFile(file)
		if err != nil {
			b.tb.Fatal(err)
		}
		if err := surreal.Exec(b.tb.Context(), b.client, string(content), nil); err != nil {
			b.tb.Fatalf("apply %s: %v", file, err)
		}
	}
	if _, err := schema.PrepareOutbox(b.tb.Context(), b.client, "job"); err != nil {
		b.tb.Fatal(err)
	}
}

func (b *backend) exec(surql string, vars map[string]any) {
	b.tb.Helper()
	if err := surreal.Exec(b.tb.Context(), b.client, surql, vars); err != nil {
		b.tb.Fatalf("%s: %v", surql, err)
	}
}

// rows is what a SELECT finds as a system user, as JSON.
func (b *backend) rows(surql string) string {
	b.tb.Helper()
	found, err := surreal.First[any](b.tb.Context(), b.client, surql, nil)
	if err != nil {
		b.tb.Fatalf("%s: %v", surql, err)
	}
	text, err := surreal.ToJSON(found)
	if err != nil {
		b.tb.Fatal(err)
	}
	return string(text)
}

// A request is one attempt as spky would make it.
type request struct {
	path, body   string
	job, attempt string
	token        string // Defaults to the right one
}

// post makes a request and answers with the status and the body.
func (b *backend) post(r request) (int, string) {
	b.tb.Helper()
	req, err := http.NewRequestWithContext(b.tb.Context(), http.MethodPost, b.url+r.path, bytes.NewReader([]byte(r.body)))
	if err != nil {
		b.tb.Fatal(err)
	}
	if r.token == "" {
		r.token = testToken
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	if r.job != "" {
		req.Header.Set("Spky-Job-Id", url.PathEscape(r.job))
		req.Header.Set("Idempotency-Key", url.PathEscape(r.job))
	}
	if r.attempt != "" {
		req.Header.Set("Spky-Attempt", r.attempt)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// must makes a request that has to succeed.
func (b *backend) must(r request, into any) {
	b.tb.Helper()
	status, body := b.post(r)
	if status != http.StatusOK {
		b.tb.Fatalf("POST %s %s: %d %s", r.path, r.body, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		b.tb.Fatalf("POST %s: %v in %s", r.path, err, body)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// TestMain also plays the backend of the tests that start a whole project.
func TestMain(m *testing.M) {
	if os.Getenv(backendRole) != "" {
		os.Exit(playBackend())
	}
	code := m.Run()
	if dir := builtDir(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

const testSpec = `openapi: 3.1.0
info: {title: test, version: "1"}
paths:
  /echo: {post: {requestBody: {content: {application/json: {example: {n: 1}}}}, responses: {"200": {description: ok}}}}
  /fail: {post: {responses: {"200": {description: ok}}}}
  /crash: {post: {responses: {"200": {description: ok}}}}
`

// A project is a directory with sp00ky.yml, a database, and the environment
// that names it.
type project struct {
	t      *testing.T
	dir    string
	config string
	target devdbtest.Target
	mu     sync.Mutex
	env    map[string]string
}

// newProject makes a project with one backend at an address, and a fresh
// database.
func newProject(t *testing.T, baseURL string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), target: devdbtest.Fresh(t)}
	p.config = filepath.Join(p.dir, "sp00ky.yml")
	p.env = map[string]string{
		"SPKY_DB_URL": p.target.Endpoint, "SPKY_DB_NS": p.target.Namespace, "SPKY_DB_NAME": p.target.Database,
		"SPKY_DB_USER": p.target.User, "SPKY_DB_PASS": p.target.Password, "SPKY_SSP_LISTEN_ADDR": "127.0.0.1:0",
		"SPKY_ADMIN_PORT": "0",
	}
	p.write("openapi.yml", testSpec)
	p.write("sp00ky.yml", "# a test\n")
	if code, _, stderr := p.run("add", "api", "--spec", "openapi.yml", "--base-url", baseURL); code != exitOK {
		t.Fatalf("add api: %d %s", code, stderr)
	}
	return p
}

// migrated is a project whose database is up to date.
func migrated(t *testing.T, baseURL string) *project {
	t.Helper()
	p := newProject(t, baseURL)
	p.must("migrate")
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) read(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

func (p *project) lookup(name string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, ok := p.env[name]
	return value, ok
}

// set sets a variable; "" unsets it.
func (p *project) set(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.env[name] = value; value == "" {
		delete(p.env, name)
	}
}

// run executes a command line in this process.
func (p *project) run(args ...string) (code int, stdout, stderr string) {
	return p.runWith(p.t.Context(), "", args...)
}

func (p *project) runWith(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = p.start(ctx, strings.NewReader(stdin), &out, &err, args...)
	return code, out.String(), err.String()
}

func (p *project) start(ctx context.Context, stdin io.Reader, out, err io.Writer, args ...string) int {
	program := &program{in: stdin, out: out, err: err, env: p.lookup}
	return program.run(ctx, append([]string{"--config", p.config}, args...))
}

// must executes a command line that has to work, and answers with its output.
func (p *project) must(args ...string) string {
	p.t.Helper()
	code, stdout, stderr := p.run(args...)
	if code != exitOK {
		p.t.Fatalf("spky %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// want executes a command line that has to end with an exit code and to say
// something on standard error.
func (p *project) want(code int, says string, args ...string) {
	p.t.Helper()
	got, stdout, stderr := p.run(args...)
	if got != code || !strings.Contains(stderr, says) {
		p.t.Errorf("spky %s: exit code %d, want %d and %q in\n%s%s", strings.Join(args, " "), got, code, says, stdout, stderr)
	}
}

// decode executes a command line whose output is JSON.
func decode[T any](p *project, args ...string) T {
	p.t.Helper()
	var value T
	_, stdout, stderr := p.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &value); err != nil {
		p.t.Fatalf("spky %s --json: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return value
}

func (p *project) db() *surreal.Client {
	p.t.Helper()
	db, stop, err := surreal.Connect(p.t.Context(), surreal.Config{
		Endpoint: p.target.Endpoint, Namespace: p.target.Namespace,
		Database: p.target.Database, Username: p.target.User, Password: p.target.Password,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = stop() })
	return db
}

// query runs SurrealQL on the project's database.
func (p *project) query(surql string, vars map[string]any) []any {
	p.t.Helper()
	values, err := p.db().Values(p.t.Context(), surql, vars)
	if err != nil {
		p.t.Fatalf("%s: %v", surql, err)
	}
	return values
}

// echoServer is a backend: /echo answers with what it got, /fail fails.
func echoServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(serveTest))
	t.Cleanup(server.Close)
	return server.URL
}

func serveTest(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/echo":
		w.Header().Set("Content-Type", "application/json")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"echo": %s}`, body)
	case "/healthz":
	default:
		http.Error(w, "not today", http.StatusInternalServerError)
	}
}

// runner runs `spky run` beside the test, until the end of the test or stop.
func (p *project) runner() (stop func() int) {
	p.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	log := newWatched()
	ended := make(chan int, 1)
	go func() { ended <- p.start(ctx, strings.NewReader(""), io.Discard, log, "run") }()
	stop = sync.OnceValue(func() int {
		cancel(errInterrupted)
		return <-ended
	})
	p.t.Cleanup(func() { stop() })
	select {
	case <-log.saw(`"msg":"ready"`):
	case code := <-ended:
		ended <- code
		p.t.Fatalf("spky run ended with %d before it was ready:\n%s", code, log)
	}
	return stop
}

// watched is an output that can be waited for.
type watched struct {
	mu      sync.Mutex
	text    bytes.Buffer
	waiting map[string]chan struct{}
}

func newWatched() *watched { return &watched{waiting: map[string]chan struct{}{}} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	for text, ch := range w.waiting {
		if strings.Contains(w.text.String(), text) {
			close(ch)
			delete(w.waiting, text)
		}
	}
	return len(p), nil
}

// saw is closed once a text has been written.
func (w *watched) saw(text string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch, ok := w.waiting[text]
	if !ok {
		ch = make(chan struct{})
	}
	if strings.Contains(w.text.String(), text) {
		close(ch)
		return ch
	}
	w.waiting[text] = ch
	return ch
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// hangingServer is a backend that answers nobody before release is closed.
func hangingServer(t *testing.T, release <-chan struct{}) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// The server notices the client's leaving only once the body has been read.
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

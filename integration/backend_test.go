package integration_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// A call is a request that a backend got.
type call struct {
	Job     string // the id as text
	Attempt int
	Node    string // which node sent it: its version, for nodes are started with their name as version
	Path    string
	Body    string
	At      time.Time
	// Gone is closed when the node has given the request up.
	Gone <-chan struct{}
}

// A backend keeps a journal of all its calls.
type backend struct {
	tb     testing.TB
	server *httptest.Server
	// answer decides what a call gets: a status and a body. It may block.
	answer func(c call) (int, any)

	mu    sync.Mutex
	calls []call
}

// newBackend answers every call with 200, its job and its attempt, unless answer says otherwise.
func newBackend(tb testing.TB, answer func(c call) (int, any)) *backend {
	tb.Helper()
	b := &backend{tb: tb, answer: answer}
	if answer == nil {
		b.answer = func(c call) (int, any) { return http.StatusOK, map[string]any{"job": c.Job, "by": c.Node} }
	}
	b.server = httptest.NewServer(b)
	tb.Cleanup(b.server.Close)
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the node gave up while it wrote
	}
	if r.Method == http.MethodGet { // a health check
		return
	}
	job, err := url.PathUnescape(r.Header.Get("Spky-Job-Id"))
	if err != nil {
		b.tb.Errorf("Spky-Job-Id: %v", err)
	}
	attempt, err := strconv.Atoi(r.Header.Get("Spky-Attempt"))
	if err != nil {
		b.tb.Errorf("Spky-Attempt: %v", err)
	}
	c := call{
		Job: job, Attempt: attempt, Node: strings.TrimPrefix(r.UserAgent(), "spky/"),
		Path: r.URL.RequestURI(), Body: string(body), At: time.Now(), Gone: r.Context().Done(),
	}
	b.mu.Lock()
	b.calls = append(b.calls, c)
	b.mu.Unlock()
	status, value := b.answer(c)
	if wait, ok := value.(retryAfter); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the node may be gone
}

// retryAfter is an answer that asks for a pause of so many seconds.
type retryAfter int

// journal is what has been called so far.
func (b *backend) journal() []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]call(nil), b.calls...)
}

// byJob is the journal, by job.
func (b *backend) byJob() map[string][]call {
	jobs := map[string][]call{}
	for _, c := range b.journal() {
		jobs[c.Job] = append(jobs[c.Job], c)
	}
	return jobs
}

// reached waits until the backend has been called so often.
func (b *backend) reached(n int) {
	b.tb.Helper()
	eventually(b.tb, "the backend is called "+strconv.Itoa(n)+" times", func() (bool, any) {
		calls := len(b.journal())
		return calls >= n, calls
	})
}

// serving is a configured backend at url, for the table job, with the values of the specification.
func serving(tb testing.TB, where string) config.Backend {
	tb.Helper()
	base, err := url.Parse(where)
	if err != nil {
		tb.Fatal(err)
	}
	return config.Backend{Name: "api", BaseURL: base, Table: "job", Concurrency: 16, RetryOn: config.RetryAll, Timeout: 30 * time.Second}
}

func (b *backend) config() config.Backend { return serving(b.tb, b.server.URL) }

// A gate holds calls until it is opened.
type gate struct {
	once sync.Once
	open chan struct{}
}

// newGate is opened at the test's end at the latest, for a server waits for the calls it serves.
func newGate(tb testing.TB) *gate {
	g := &gate{open: make(chan struct{})}
	tb.Cleanup(g.Open)
	return g
}

func (g *gate) Open() { g.once.Do(func() { close(g.open) }) }

// wait holds a call until the gate opens; false where its node gave it up before.
func (g *gate) wait(c call) bool {
	select {
	case <-g.open:
		return true
	case <-c.Gone:
		return false
	}
}

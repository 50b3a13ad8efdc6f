package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

// A logbook keeps what a node logged and shows its end where the test failed.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// shown is how much of a log a failed test shows, in bytes.
const shown = 6 << 10

func newLogbook(tb testing.TB, name string) *logbook {
	l := &logbook{}
	tb.Cleanup(func() {
		if tb.Failed() {
			text := l.telling()
			tb.Logf("the end of the log of %s:\n%s", name, text[max(0, len(text)-shown):])
		}
	})
	return l
}

// telling is the log without what goes well.
func (l *logbook) telling() string {
	var lines []string
	for line := range strings.Lines(l.String()) {
		if !strings.Contains(line, `"msg":"job done"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A node runs in this process.
type node struct {
	*ssp.Node
	tb    testing.TB
	log   *logbook
	ended chan struct{}
	stop  func() // ends it and waits
}

// start runs a node in this process until the test's end and waits until it works. Its name is its
// version too, so that backends know who calls. change may alter its configuration.
func start(tb testing.TB, name string, db surreal.Config, b config.Backend, change ...func(*ssp.Config)) *node {
	tb.Helper()
	n := begin(tb, name, db, b, change...)
	n.works()
	return n
}

// begin is start without waiting.
func begin(tb testing.TB, name string, db surreal.Config, b config.Backend, change ...func(*ssp.Config)) *node {
	tb.Helper()
	log := newLogbook(tb, name)
	cfg := ssp.Config{
		DB: db, Backends: []config.Backend{b}, ID: name, Version: name, Jitter: -1,
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, alter := range change {
		alter(&cfg)
	}
	made, err := ssp.New(cfg)
	if err != nil {
		tb.Fatalf("make node: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{Node: made, tb: tb, log: log, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		if err := made.Run(ctx); err != nil {
			tb.Errorf("node %s: %v", name, err)
		}
	}()
	n.stop = sync.OnceFunc(func() {
		cancel()
		<-n.ended
	})
	tb.Cleanup(n.stop)
	return n
}

// works waits until the node is ready for the first time.
func (n *node) works() {
	n.tb.Helper()
	eventually(n.tb, "node "+n.ID()+" works", func() (bool, any) {
		select {
		case <-n.Ready():
			return true, nil
		case <-n.ended:
			n.tb.Fatal("the node ended before it worked")
			return false, nil
		default:
			_, body := n.get("/ready")
			return false, body
		}
	})
}

// get asks the node's own HTTP server.
func (n *node) get(path string) (int, string) {
	recorder := httptest.NewRecorder()
	n.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

// health is the node's status in its own words, after a check that it says so with 200.
func (n *node) health() string {
	n.tb.Helper()
	code, body := n.get("/health")
	var answer struct{ Status string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		n.tb.Errorf("health: %d %s", code, body)
	}
	return answer.Status
}

// says waits until /ready answers so, and /health goes along with it.
func (n *node) says(ready int, health string) {
	n.tb.Helper()
	eventually(n.tb, "the node is "+health, func() (bool, any) {
		code, body := n.get("/ready")
		status := n.health()
		return code == ready && status == health, body
	})
}

// metric is the value of one of the node's metrics, 0 where it is not there.
func (n *node) metric(name string) float64 {
	n.tb.Helper()
	_, body := n.get("/metrics")
	return metricIn(n.tb, body, name)
}

func metricIn(tb testing.TB, metrics, name string) float64 {
	tb.Helper()
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatalf("metric %s: %v", line, err)
			}
			return v
		}
	}
	return 0
}

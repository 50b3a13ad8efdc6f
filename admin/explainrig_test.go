package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// An explainRig is a rig with an explainer that knows its configuration.
type explainRig struct {
	*rig

	explainer *Explainer
}

func newExplainRig(t *testing.T) *explainRig {
	t.Helper()
	r := newRig(t)
	return &explainRig{rig: r, explainer: NewExplainer(ExplainConfig{DB: r.db, Backends: r.durable.backends})}
}

// job writes a job and answers with its id.
func (r *explainRig) job(key, columns string) string {
	r.t.Helper()
	r.exec("CREATE type::record('job', $key) CONTENT "+columns, map[string]any{"key": key})
	return surreal.FormatID(surreal.NewRecordID("job", key))
}

// explains waits until the causes of a job or an instance are these, in this order, and hands the
// explanation out.
func (r *explainRig) explains(id string, codes ...string) Explanation {
	r.t.Helper()
	return r.explainsWhen(id, fmt.Sprint(codes), func(e Explanation) bool { return slices.Equal(e.codes(), codes) })
}

// explainsWhen waits for an explanation that is as wanted.
func (r *explainRig) explainsWhen(id, what string, wanted func(Explanation) bool) Explanation {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last Explanation
	for {
		e, err := r.explainer.Any(r.ctx, id)
		if r.ctx.Err() != nil {
			r.t.Fatalf("%s is explained by %s, want %s", id, pretty(r.t, last), what)
		}
		r.check(err)
		if wanted(e) {
			r.sound(e)
			return e
		}
		last = e
		select {
		case <-tick.C:
		case <-r.ctx.Done():
		}
	}
}

func (e Explanation) codes() []string {
	codes := make([]string, len(e.Causes))
	for i, c := range e.Causes {
		codes[i] = c.Code
	}
	return codes
}

// sound checks what holds for every explanation.
func (r *explainRig) sound(e Explanation) {
	r.t.Helper()
	for _, c := range e.Causes {
		if !strings.HasSuffix(c.Sentence, ".") || strings.ContainsAny(c.Sentence+c.Remedy, "\n\x1b") || strings.Contains(c.Sentence, "%!") {
			r.t.Errorf("sentence %q, remedy %q", c.Sentence, c.Remedy)
		}
		if !slices.Contains(CauseCodes(), c.Code) {
			r.t.Errorf("the code %s is not among those told", c.Code)
		}
	}
	if !strings.HasPrefix(e.Summary, printable(e.Subject)+" is "+e.State+". ") || !strings.HasSuffix(e.Summary, e.Causes[0].Sentence) {
		r.t.Errorf("summary %q", e.Summary)
	}
	r.t.Log(e.Summary, "|", e.Causes[0].Remedy)
}

// says checks that a cause's sentence, its remedy and its facts hold some words.
func (r *explainRig) says(c Cause, words ...string) {
	r.t.Helper()
	all := c.Sentence + "\n" + c.Remedy + "\n" + fmt.Sprint(c.Facts)
	for _, word := range words {
		if !strings.Contains(all, word) {
			r.t.Errorf("%q is not in %s", word, all)
		}
	}
}

// A stub is a backend whose answer a test decides. With hang it answers nothing until the request or
// the test ends.
type stub struct {
	*httptest.Server

	status atomic.Int32
	header http.Header
	body   string
	seen   atomic.Int32
	over   chan struct{}
}

func newStub(t *testing.T, status int, body string) *stub {
	t.Helper()
	s := &stub{header: http.Header{}, body: body, over: make(chan struct{})}
	s.status.Store(int32(status))
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(func() { close(s.over); s.Close() })
	return s
}

// hang is the status of a backend that does not answer.
const hang = 0

func (s *stub) answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.seen.Add(1)
	status := int(s.status.Load())
	if status == hang {
		select {
		case <-r.Context().Done():
		case <-s.over:
		}
		return
	}
	for name, values := range s.header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s.body)
}

// backend describes what listens at an address as the backend of table job.
func backend(at string, change ...func(*config.Backend)) config.Backend {
	base, err := url.Parse(at)
	if err != nil {
		panic(err)
	}
	b := config.Backend{Name: "api", BaseURL: base, Table: "job", Concurrency: 4, Timeout: time.Hour, RetryOn: config.RetryAll}
	for _, apply := range change {
		apply(&b)
	}
	return b
}

// nowhere is the address of a backend that is down.
func nowhere(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL
}

// node runs a node, whose row is written often, until the test's end or until stop is called.
func (r *explainRig) node(b config.Backend, change ...func(*ssp.Config)) (id string, stop func()) {
	r.t.Helper()
	cfg := ssp.Config{DB: r.cfg, Backends: []config.Backend{b}, Jitter: -1, BeatInterval: 50 * time.Millisecond, ShutdownGrace: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	for _, apply := range change {
		apply(&cfg)
	}
	node, err := ssp.New(cfg)
	r.check(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	ended := make(chan error, 1)
	go func() { ended <- node.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("node: %v", err)
		}
	})
	r.t.Cleanup(stop)
	select {
	case <-node.Ready():
	case <-r.ctx.Done():
		r.t.Fatal("the node did not become ready")
	}
	return node.ID(), stop
}

// engine runs workflows behind a node, and answers with the backend's address.
func (r *explainRig) engine(cfg wf.Config, register func(*wf.Engine)) string {
	r.t.Helper()
	if cfg.DB == nil {
		cfg.DB = r.db.Retrying()
	}
	cfg.OutboxTable, cfg.Backend, cfg.Logger = "job", "api", slog.New(slog.DiscardHandler)
	engine, err := wf.New(r.ctx, cfg)
	r.check(err)
	register(engine)
	server := httptest.NewServer(engine.Handler(http.NotFoundHandler()))
	r.t.Cleanup(func() {
		end, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := engine.Close(end); err != nil {
			r.t.Errorf("engine: %v", err)
		}
		server.Close()
	})
	return server.URL
}

// connect opens one more connection to the database at another address.
func (r *explainRig) connect(endpoint string) *surreal.Client {
	r.t.Helper()
	cfg := r.cfg
	cfg.Endpoint = endpoint
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	r.t.Cleanup(func() { _ = stop() }) // its way to the database may be cut
	return db
}

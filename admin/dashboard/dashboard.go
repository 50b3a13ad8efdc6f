package dashboard

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// Config describes the pages. All operations are needed.
type Config struct {
	// API lends its sign-in, its words for errors and its feeds.
	API *api.Server
	// Durable, Jobs and so on are the operations.
	Durable   *admin.Durable
	Jobs      *admin.Jobs
	Explainer *admin.Explainer
	Cluster   *admin.Cluster
	Schedules *admin.Schedules
	DAGs      *admin.DAGs
	Audit     *admin.Audit
	// TraceURL is where a trace is shown, with {trace} for its id. Defaults to none: only the id is shown.
	TraceURL string
	// Version of the program. Defaults to "dev".
	Version string
	// Timeout bounds the work on a page. Defaults to 15 s.
	Timeout time.Duration
	// SampleEvery is how often the overview's charts get a point. Defaults to 15 s.
	SampleEvery time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// A Dashboard is the pages. Make it with [New], and run it once beside what serves its Handler.
type Dashboard struct {
	cfg      Config
	log      *slog.Logger
	pages    map[string]*template.Template
	assets   assets
	sessions *sessions
	history  history
	sampling sync.Mutex // held while somebody samples
	// seen and wanted say that somebody looks at the overview: to what takes samples, and to what counts hours.
	seen, wanted chan struct{}
	skew         atomic.Int64 // of the database's clock against ours
	handler      http.Handler
}

// New makes them. It opens nothing.
func New(cfg Config) (*Dashboard, error) {
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.SampleEvery <= 0 {
		cfg.SampleEvery = 15 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Dashboard{cfg: cfg, log: cfg.Logger, sessions: newSessions(), seen: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
	d.history.changed = make(chan struct{})
	var err error
	if d.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if d.pages, err = d.parse(); err != nil {
		return nil, err
	}
	d.handler = d.build()
	return d, nil
}

// Handler serves /admin/ and what is below.
func (d *Dashboard) Handler() http.Handler { return d.handler }

// Run takes the samples of which the overview is made, until ctx ends: now and then, and more often while somebody
// looks at it. What finished by the hour is counted beside that, for it can take long.
func (d *Dashboard) Run(ctx context.Context) error {
	var beside errgroup.Group
	beside.Go(func() error { whenever(ctx, nil, d.wanted, d.finished); return nil })
	ticker := time.NewTicker(d.cfg.SampleEvery)
	defer ticker.Stop()
	d.sample(ctx)
	whenever(ctx, ticker.C, d.seen, d.sample)
	return beside.Wait()
}

// whenever does something whenever one of two channels says so, until ctx ends.
func whenever(ctx context.Context, tick <-chan time.Time, signal <-chan struct{}, do func(context.Context)) {
	for {
		select {
		case <-tick:
		case <-signal:
		case <-ctx.Done():
			return
		}
		do(ctx)
	}
}

// looked says that somebody looks at the overview.
func (d *Dashboard) looked() {
	for _, signal := range []chan struct{}{d.seen, d.wanted} {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

// now is the database's clock, as far as it was heard of.
func (d *Dashboard) now() time.Time { return time.Now().Add(time.Duration(d.skew.Load())) }

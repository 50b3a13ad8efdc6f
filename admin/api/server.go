package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
)

// prefix is where the API is.
const prefix = "/admin/api"

// shortSecret is how many characters a secret has that nobody guesses.
const shortSecret = 16

// Config describes a server. All operations are needed.
type Config struct {
	// Listen is the address of Run. Off loopback it needs Secrets.
	Listen string
	// Durable, Jobs and so on are the operations.
	Durable   *admin.Durable
	Jobs      *admin.Jobs
	Explainer *admin.Explainer
	Cluster   *admin.Cluster
	Schedules *admin.Schedules
	DAGs      *admin.DAGs
	Tokens    *admin.Tokens
	Audit     *admin.Audit
	// Logs is the log of this process. Defaults to none.
	Logs Logs
	// Secrets are tokens beside those in the database.
	Secrets []Secret
	// MCP serves /admin/api/mcp, behind the same sign-in; [IdentityOf] says who asks. Defaults to none.
	MCP http.Handler
	// Node answers /health, /ready, /version and /info. Without one there are /health and /version.
	Node http.Handler
	// Metrics are what /metrics shows beside the server's own. Defaults to none.
	Metrics prometheus.Gatherer
	// NoMetrics serves no /metrics.
	NoMetrics bool
	// Version of the program. Defaults to "dev".
	Version string
	// Timeout bounds the work on a request that is no stream. Defaults to 15 s.
	Timeout time.Duration
	// MaxStreams is how many streams there may be at once. Defaults to 200.
	MaxStreams int
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// A Server is the admin API. Make it with [New], run it once; its Handler also works without Run, until
// Close.
type Server struct {
	cfg      Config
	log      *slog.Logger
	secrets  []secret
	attempts *attempts
	metrics  *metrics
	routes   []route
	document []byte
	handler  http.Handler
	mux      *http.ServeMux // in handler
	slots    chan struct{}  // of streams
	ready    chan struct{}
	address  string
	// readTimeout bounds the time that a request may take to arrive, grace what it has left once Run is to
	// end.
	readTimeout, grace time.Duration

	life  context.Context // of what streams watch
	end   context.CancelFunc
	tasks tasks

	instances *hub[admin.Progress]
	jobs      *hub[admin.Job]
	changes   *hub[admin.JobChange]
	all       *hub[admin.InstanceChange]
	tables    *hub[admin.TableChange]
}

// New makes a server. It opens nothing.
func New(cfg Config) (*Server, error) {
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.MaxStreams <= 0 {
		cfg.MaxStreams = 200
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Listen != "" && len(cfg.Secrets) == 0 && !config.IsLoopback(cfg.Listen) {
		return nil, fmt.Errorf("listen on %s: other machines can reach it and there is no secret; set SPKY_AUTH_SECRET or listen on 127.0.0.1", cfg.Listen)
	}
	for _, secret := range cfg.Secrets {
		if len(secret.Token) < shortSecret && cfg.Listen != "" && !config.IsLoopback(cfg.Listen) {
			cfg.Logger.Warn("a secret of the admin API is short, and other machines can try to guess it", "name", secret.Name, "characters", len(secret.Token))
		}
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, secrets: hashed(cfg.Secrets), attempts: newAttempts(), metrics: newMetrics(),
		slots: make(chan struct{}, cfg.MaxStreams), ready: make(chan struct{}), readTimeout: bodyTimeout, grace: shutdownTimeout,
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.watch()
	s.routes = s.table()
	document, err := s.openAPI()
	if err != nil {
		s.end()
		return nil, fmt.Errorf("describe the admin API: %w", err)
	}
	s.document = document
	s.handler = s.build()
	return s, nil
}

// watch makes the hubs that streams read from.
func (s *Server) watch() {
	s.instances = newHub(s.life, &s.tasks, true, func(admin.Progress) string { return "" },
		func(ctx context.Context, id string, tell func(admin.Progress) error) error {
			_, err := s.cfg.Durable.Watch(ctx, id, tell)
			return err
		})
	s.jobs = newHub(s.life, &s.tasks, true, func(admin.Job) string { return "" },
		func(ctx context.Context, id string, tell func(admin.Job) error) error {
			_, err := s.cfg.Jobs.Watch(ctx, id, tell)
			return err
		})
	s.changes = newHub(s.life, &s.tasks, false, func(c admin.JobChange) string { return c.Table + " " + c.ID }, s.cfg.Jobs.Changes)
	s.all = newHub(s.life, &s.tasks, false, func(c admin.InstanceChange) string { return c.ID },
		func(ctx context.Context, _ string, tell func(admin.InstanceChange) error) error {
			return s.cfg.Durable.Changes(ctx, tell)
		})
	s.tables = newHub(s.life, &s.tasks, false, func(c admin.TableChange) string { return c.Table + " " + c.Key }, s.tableChanges)
}

// tableChanges tells of a table, and lets nothing be known of a token that has changed.
func (s *Server) tableChanges(ctx context.Context, table string, tell func(admin.TableChange) error) error {
	return s.cfg.Cluster.Changes(ctx, table, func(c admin.TableChange) error {
		if table == admin.TableTokens {
			s.cfg.Tokens.Forget(c.Key)
		}
		return tell(c)
	})
}

// Handler serves the API, and beside it /health, /ready, /version, /info and /metrics.
func (s *Server) Handler() http.Handler { return s.handler }

// Ready is closed once Run listens.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Address is where Run listens, once it is ready.
func (s *Server) Address() string { return s.address }

// Close ends all streams and waits for what fed them.
func (s *Server) Close() {
	s.end()
	s.tasks.end()
}

// Times of connections.
const (
	headerTimeout   = 5 * time.Second
	bodyTimeout     = 30 * time.Second
	idleTimeout     = time.Minute
	shutdownTimeout = 3 * time.Second
	maxHeader       = 64 << 10
)

// Run listens and serves until ctx ends; then streams end, and what is under way has three seconds.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("admin API: listen on %s: %w", s.cfg.Listen, err)
	}
	s.address = listener.Addr().String()
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: s.readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	close(s.ready)
	s.log.Info("the admin API listens", "address", s.address)
	select {
	case err := <-served:
		return fmt.Errorf("admin API: %w", err)
	case <-ctx.Done():
	}
	s.end() // streams would hold up the shutdown
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // whoever is still connected has had the time
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin API: %w", err)
	}
	return nil
}

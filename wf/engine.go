package wf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"sync"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Config describes an [Engine]. Its zero value takes everything from the environment that
// `spky dev` and the platform give to a backend.
type Config struct {
	// DB is a connection to the database. Defaults to one of the engine's own, to SPKY_DB_URL, in
	// SPKY_DB_NS and SPKY_DB_NAME, as SPKY_DB_USER with SPKY_DB_PASS.
	DB DB
	// OutboxTable is the backend's outbox table, in which runs are written as jobs. Defaults to
	// SPKY_OUTBOX_TABLE, else "job".
	OutboxTable string
	// Backend names the backend on its instances, for operators. Defaults to SPKY_BACKEND.
	Backend string
	// Version names the code's version on new instances.
	Version string
	// AuthToken, when it is set, must come as bearer token with every run: the backend's auth.token.
	AuthToken string
	// Logger defaults to [slog.Default].
	Logger *slog.Logger

	kit protocol.Kit // of package wftest
}

// An Engine runs the durable workflows of one backend process. Any number of processes may run
// engines over the same database; an instance is run by one at a time.
type Engine struct {
	cfg   Config
	log   *slog.Logger
	db    DB
	store protocol.Store

	mu          sync.Mutex
	definitions map[string]definition
	closed      bool

	life     context.Context //nolint:containedctx // the parent of every run, ended by Close
	end      context.CancelCauseFunc
	runs     sync.WaitGroup
	branches sync.WaitGroup
	hangUp   func() error
}

// A definition is a registered workflow.
type definition struct {
	run       func(ctx context.Context, instance protocol.Instance, step *Step) (any, error)
	strict    bool
	stepLimit int
}

var (
	bindingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	instanceID  = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$`)
	tableName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// New makes an engine. It does not wait for the database: what needs it does. ctx only carries
// values; [Engine.Close] ends the engine.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	cfg.OutboxTable = first(cfg.OutboxTable, os.Getenv("SPKY_OUTBOX_TABLE"), "job")
	cfg.Backend = first(cfg.Backend, os.Getenv("SPKY_BACKEND"))
	if !tableName.MatchString(cfg.OutboxTable) {
		return nil, fmt.Errorf("outbox table %q: want lower-case letters, digits and _, starting with a letter", cfg.OutboxTable)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	e := &Engine{
		cfg: cfg, log: cfg.Logger, db: cfg.DB, store: cfg.kit.Store, definitions: map[string]definition{},
		life: life, end: end, hangUp: func() error { return nil },
	}
	if e.store != nil {
		return e, nil
	}
	if e.db == nil {
		if err := e.connect(); err != nil {
			end(nil)
			return nil, err
		}
	}
	e.store = newDatabase(e.db)
	return e, nil
}

// connect opens the engine's own connection.
func (e *Engine) connect() error {
	client, err := surreal.New(surreal.Config{
		Endpoint:  first(os.Getenv("SPKY_DB_URL"), os.Getenv("SPKY_DB_WS"), "ws://127.0.0.1:8666"),
		Namespace: first(os.Getenv("SPKY_DB_NS"), "main"), Database: first(os.Getenv("SPKY_DB_NAME"), "main"),
		Username: first(os.Getenv("SPKY_DB_USER"), "root"), Password: first(os.Getenv("SPKY_DB_PASS"), "root"),
		Name: "workflows", Logger: e.log,
	})
	if err != nil {
		return fmt.Errorf("configure database connection: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.life))
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	e.hangUp = func() error { cancel(); return <-ended }
	e.db = client.Retrying()
	return nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// Close ends the engine: new runs are refused, running steps get their contexts cancelled and their
// attempts taken back, and their instances are handed over to other processes. It waits for all of
// it until ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end(errShutdown)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.runs.Wait()
		e.branches.Wait()
		if d, ok := e.store.(*database); ok {
			d.calls.close()
		}
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("close workflow engine: runs are left, their leases run out: %w", ctx.Err())
	}
	return errors.Join(err, e.hangUp())
}

// database is where instances are; a test's engine has none.
func (e *Engine) database() (*database, error) {
	d, ok := e.store.(*database)
	if !ok {
		return nil, fmt.Errorf("%w: an engine for tests has no database to create instances in", ErrConfig)
	}
	return d, nil
}

func (e *Engine) lookup(binding string) (definition, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	def, ok := e.definitions[binding]
	return def, ok
}

// admit lets a run begin, unless the engine is closed; done must be called at its end.
func (e *Engine) admit() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.runs.Add(1)
	return true
}

// unreachable says whether a store's error is worth another try.
func unreachable(err error) bool {
	return surreal.IsUnreachable(err) || surreal.IsConflict(err)
}

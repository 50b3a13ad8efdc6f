package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/migrate"
	"sp00ky.cloud/spky/cmd/spky/internal/proc"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

// Options say what to run. Config, Out, NewNode and NewLogger are needed.
type Options struct {
	Config *config.Config
	// Out gets everything there is to see.
	Out io.Writer
	// Style colours it.
	Style render.Style
	// NewLogger makes the runner's logger.
	NewLogger func(io.Writer) (*slog.Logger, error)
	// NewNode makes the runner, once the address of the database is known.
	NewNode func(*config.Config, *slog.Logger) (*ssp.Node, error)
	// NewAdmin makes the admin API, with a token beside those it knows; the node may be nil. Defaults to
	// none.
	NewAdmin func(cfg *config.Config, node *ssp.Node, token string, log *slog.Logger) (AdminAPI, error)
	// Environ is the environment that the apps inherit.
	Environ []string
	// Guard is the command line of a program that calls proc.RunGuard. Defaults to no guard.
	Guard []string
	// Command says how a user runs this program against the database at an endpoint, for instance "spky --config x.yml".
	Command func(endpoint string) string
	// DBListen is where a database that is started listens. Defaults to 127.0.0.1:8666.
	DBListen string
	// Clean removes the data of earlier runs first.
	Clean bool
	// FixChecksums accepts migrations that changed after they ran.
	FixChecksums bool
}

// DefaultDBListen is where the development database listens.
const DefaultDBListen = "127.0.0.1:8666"

func hinted(text, format string, args ...any) error {
	return hint.Wrap(fmt.Errorf(format, args...), "%s", text)
}

// Run runs the project until ctx ends, or until something that it cannot do
// without does, which is an error. The end of ctx is none, at any time.
func Run(ctx context.Context, o Options) error {
	if o.DBListen == "" {
		o.DBListen = DefaultDBListen
	}
	s := &session{o: o, cfg: o.Config, sink: proc.NewSink(o.Out)}
	err := s.run(ctx)
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// session is one run.
type session struct {
	o     Options
	cfg   *config.Config
	sink  *proc.Sink
	guard *proc.Guard
	db    *database
	admin AdminAPI
	token string
}

func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.sink, "%s %s\n", s.o.Style.Bold("[spky]"), fmt.Sprintf(format, args...))
}

func (s *session) run(ctx context.Context) error {
	if len(s.o.Guard) > 0 {
		guard, err := proc.StartGuard(s.o.Guard[0], s.o.Guard[1:]...)
		if err != nil {
			return err
		}
		s.guard = guard
		defer func() { _ = guard.Close() }() // it has nothing left to do
	}
	release, err := s.ownProject()
	if err != nil {
		return err
	}
	defer release()
	if err := s.portsFree(); err != nil {
		return err
	}
	if s.o.Clean {
		if err := s.clean(); err != nil {
			return err
		}
	}
	if s.db, err = s.open(ctx); err != nil {
		return err
	}
	defer s.closeDatabase()
	s.cfg.SurrealDB.Endpoint = s.db.endpoint
	if err := s.migrate(ctx); err != nil {
		return err
	}
	return s.operate(ctx)
}

// closeDatabase stops the database, unless it is somebody else's.
func (s *session) closeDatabase() {
	if !s.cfg.SurrealDB.External {
		s.say("stopping the database")
	}
	if err := s.db.close(); err != nil {
		s.say("%v", err)
	}
	s.say("stopped")
}

// migrate applies the project's schema and the platform's.
func (s *session) migrate(ctx context.Context) error {
	db, stop, err := surreal.Connect(ctx, s.surreal())
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	defer func() { _ = stop() }() // it was connected
	return migrate.Apply(ctx, db, migrate.FromConfig(s.cfg), migrate.Options{
		FixChecksums: s.o.FixChecksums,
		Done:         func(i migrate.Item) { s.say("applied %s", i.Name) },
	})
}

func (s *session) surreal() surreal.Config {
	db := s.cfg.SurrealDB
	return surreal.Config{
		Endpoint: db.Endpoint, Namespace: db.Namespace, Database: db.Database,
		Username: db.Username, Password: db.Password.Reveal(),
	}
}

// operate runs runner and apps until ctx ends or one of runner and database
// does.
func (s *session) operate(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log, err := s.o.NewLogger(s.sink.Lines(s.o.Style.Bold("[spky]") + " "))
	if err != nil {
		return err
	}
	var node *ssp.Node
	if len(s.cfg.Runnable()) > 0 {
		if node, err = s.o.NewNode(s.cfg, log); err != nil {
			return err
		}
	}
	if err := s.makeAdmin(node, log); err != nil {
		return err
	}
	running, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNode()
	apps, stopApps := context.WithCancel(context.WithoutCancel(ctx))
	defer stopApps()

	var nodes, children, watchers errgroup.Group
	if s.admin != nil {
		watchers.Go(func() error {
			err := s.admin.Run(ctx)
			cancel(err)
			return err
		})
	}
	if node != nil {
		nodes.Go(func() error {
			err := node.Run(running)
			cancel(err)
			return err
		})
	}
	s.startApps(apps, &children)
	watchers.Go(func() error { s.welcome(ctx, node); return nil })
	watchers.Go(func() error { return s.watchDatabase(ctx, cancel) })

	<-ctx.Done()
	s.say("stopping")
	stopNode() // first of all: nothing more is claimed for apps that are about to end
	stopApps()
	_ = children.Wait() // they end without error
	err = nodes.Wait()
	return errors.Join(err, watchers.Wait())
}

// makeAdmin makes the admin API, where there is to be one.
func (s *session) makeAdmin(node *ssp.Node, log *slog.Logger) (err error) {
	if s.o.NewAdmin == nil || s.cfg.Admin.Listen == "" {
		return nil
	}
	if s.token, err = s.adminToken(); err != nil {
		return err
	}
	s.admin, err = s.o.NewAdmin(s.cfg, node, s.token, log)
	return err
}

// watchDatabase ends everything when the database ends by itself.
func (s *session) watchDatabase(ctx context.Context, cancel context.CancelCauseFunc) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.db.done:
		err := hint.Wrap(fmt.Errorf("dev: the database ended: %w", s.db.err()), "start `spky dev` again, what was committed is kept; if it ends at once, `spky dev --clean` begins with an empty database")
		cancel(err)
		return err
	}
}

// pollEvery is how often something is looked at that cannot say when it is
// ready.
const pollEvery = 100 * time.Millisecond

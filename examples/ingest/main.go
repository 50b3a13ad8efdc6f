package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// stopGrace is how long requests may go on once the process is asked to stop.
const stopGrace = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, os.Getenv, log); err != nil {
		log.Error("ingest ended", "error", err)
		os.Exit(1) //nolint:gocritic // stop has nothing left to do
	}
}

// run serves until ctx ends, lets the requests in flight finish, and closes the database last.
func run(ctx context.Context, env func(string) string, log *slog.Logger) error {
	cfg, err := readSettings(env)
	if err != nil {
		return err
	}
	cfg.db.Logger = log
	client, err := surreal.New(cfg.db)
	if err != nil {
		return err
	}
	engine, err := wf.New(ctx, wf.Config{DB: client.Retrying(), OutboxTable: cfg.table, AuthToken: cfg.token, Logger: log})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.listen, err)
	}
	connected, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	var all errgroup.Group
	all.Go(func() error { return client.Run(connected) })
	all.Go(func() error {
		defer hangUp()
		return work(ctx, listener, newServer(&store{client: client, table: cfg.table}, engine, cfg.token, log), engine, log)
	})
	return all.Wait()
}

// work serves until ctx ends. Then workflows under way are handed over, while other requests may finish.
func work(ctx context.Context, listener net.Listener, handler http.Handler, engine *wf.Engine, log *slog.Logger) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return serve(ctx, listener, handler, log) })
	both.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return engine.Close(grace)
	})
	return both.Wait()
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.Info("listening", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	log.Info("stopped")
	return err
}

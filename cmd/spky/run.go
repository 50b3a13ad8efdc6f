package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal/redact"
)

func newRunCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the jobs of a given database, as a daemon",
		Long: `Run the jobs of a given database, as a daemon.

The configuration has to be free of errors, and the database has to be named: by
--db-url, SPKY_DB_URL, or surrealdb.hosting: external with an endpoint. Nothing
else is started; that is what spky dev is for.

Start as many as you like against one database: they share the work, and each
takes over what a dead one held.

Beside it the admin API is served on 127.0.0.1:9668, unless it is off: for spky
--url, for AI agents at /admin/api/mcp, for programs; and for people the
dashboard, at /admin/. Nothing is told without a token: that of SPKY_AUTH_SECRET,
of the configuration, or of spky token create.

Listening on an address that other machines can reach needs SPKY_AUTH_SECRET.

SIGTERM or Ctrl-C: no more jobs are claimed, requests in flight may finish within
shutdownGrace (30 s), the rest goes back to the queue without losing an attempt,
and the exit code is 0. A second signal ends it at once, with 130.`,
		Example: `  SPKY_DB_URL=ws://db:8000 SPKY_DB_USER=spky SPKY_DB_PASS=… spky run
  spky run --db-url ws://127.0.0.1:8000 --listen 127.0.0.1:9001 --log-level info,ssp=debug`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.traced(cmd.Context(), p.runDaemon) },
	}
}

func (p *program) runDaemon(ctx context.Context) error {
	cfg, err := p.load(config.StageCloud)
	if err != nil {
		return err
	}
	if err := readyToRun(cfg); err != nil {
		return err
	}
	ring := logs.NewRing(0)
	log, err := p.logger(cfg.LogLevel.For(config.StageCloud), ring)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		log.Warn("configuration", "finding", w.String())
	}
	node, err := p.newNode(cfg, log)
	if err != nil {
		return err
	}
	if cfg.Admin.Listen == "" {
		return runNode(ctx, node, log)
	}
	api, err := newAdminAPI(cfg, node, ring, log)
	if err != nil {
		return err
	}
	return runBoth(ctx, node, api, log)
}

// runBoth runs a node and the admin API beside it. The node goes first when ctx ends: the API shows how
// it drains. What one of them fails at ends both.
func runBoth(ctx context.Context, node *ssp.Node, api *adminAPI, log *slog.Logger) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	var beside errgroup.Group
	beside.Go(func() error {
		err := api.Run(serving)
		stop(err)
		return err
	})
	err := runNode(running, node, log)
	stopServing()
	return errors.Join(beside.Wait(), err)
}

// readyToRun refuses a configuration that a daemon cannot run.
func readyToRun(cfg *config.Config) error {
	if open := cfg.CheckExposure(); len(open) > 0 {
		return &config.InvalidError{Report: config.Report{File: cfg.File, Parsed: true, Errors: open}}
	}
	if !cfg.SurrealDB.External {
		return hint.Wrap(errors.New("run: no database is named, and a daemon starts none"),
			"name it with --db-url or SPKY_DB_URL, or with surrealdb.endpoint and hosting: external in %s; for development, `spky dev` starts one", cfg.File)
	}
	if len(cfg.Runnable()) == 0 {
		return hint.Wrap(fmt.Errorf("run: %s has no backend that takes jobs: one with method.table and baseUrl", cfg.File),
			"`spky add api` adds one")
	}
	return nil
}

// nodeName is what SPKY_SSP_ID may be.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,80}$`)

// processID makes a node's configured name the id of this process. Two processes
// of one id would give away each other's jobs, and a name that is set in a
// container's environment is shared by all its replicas.
func processID(name string) (string, error) {
	switch {
	case name == "":
		return "", nil // the node makes one up
	case !nodeName.MatchString(name):
		return "", hint.Wrap(fmt.Errorf("run: SPKY_SSP_ID is %q", name), "allowed: 1 to 80 letters, digits and . _ : -")
	}
	return name + "-" + strings.ToLower(rand.Text()[:8]), nil
}

func (p *program) newNode(cfg *config.Config, log *slog.Logger) (*ssp.Node, error) {
	id, err := processID(cfg.NodeID)
	if err != nil {
		return nil, err
	}
	return ssp.New(ssp.Config{
		DB: database(cfg), Backends: cfg.Runnable(), Schedules: schedule.Specs(cfg), ID: id, Listen: cfg.Listen,
		MetricsListen: cfg.Metrics.Listen, NoMetrics: !cfg.Metrics.Enabled,
		AuthSecret: cfg.AuthSecret.Reveal(), ShutdownGrace: cfg.ShutdownGrace, Retention: cfg.Retention,
		Version: buildVersion().Version, TracerProvider: p.tracerProvider(), Logger: log, Redact: redact.New(cfg.Redact),
	})
}

// runNode runs a node until ctx ends, and tells when it is ready.
func runNode(ctx context.Context, node *ssp.Node, log *slog.Logger) error {
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-node.Ready():
			log.Info("ready", "node", node.ID())
		case <-ended:
		}
	}()
	err := node.Run(ctx)
	close(ended)
	<-told
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

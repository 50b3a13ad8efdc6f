package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/cmd/spky/internal/dev"
	"sp00ky.cloud/spky/cmd/spky/internal/logging"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
)

type devFlags struct {
	dbListen     string
	clean        bool
	fixChecksums bool
}

func newDevCommand(p *program) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run the whole project on this machine: database, schema, runner, apps",
		Long: `Run the whole project on this machine, in one terminal:

  database  the one that sp00ky.yml, SPKY_DB_URL or --db-url names; else surreal
            where it is on PATH; else the embedded one, which needs Node.js
  schema    the project's schema, migrations and outboxes, and the platform's
  runner    on 127.0.0.1:8667
  admin API on 127.0.0.1:9668, with a token that is printed; for spky --url, and
            for AI agents at /admin/api/mcp
  dashboard at /admin/ of the same address, with the same token
  apps      their dev commands, started again when they crash; SPKY_DB_URL,
            SPKY_DB_WS, SPKY_DB_NS, SPKY_DB_NAME, SPKY_DB_USER, SPKY_DB_PASS,
            SPKY_SSP_ADDR, SPKY_BACKEND, SPKY_OUTBOX_TABLE and PORT say where
            everything is

Data stays in .sp00ky beside sp00ky.yml until --clean removes it.

A project beside another has ports of its own: --db-listen, --listen and
--admin-listen. Where one is taken, the error says which are free.

Ctrl-C stops everything, the apps first, and ends with 0. A second one stops at
once. Whatever ends spky, no process that it started goes on.`,
		Example: "  spky dev\n  spky dev --clean\n  spky dev --db-url ws://127.0.0.1:8000",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.traced(cmd.Context(), func(ctx context.Context) error { return p.runDev(ctx, f) })
		},
	}
	cmd.Flags().StringVar(&f.dbListen, "db-listen", dev.DefaultDBListen, "where a database that it starts listens; port 0 takes any free one, with the embedded database")
	cmd.Flags().BoolVar(&f.clean, "clean", false, "remove the development data first")
	cmd.Flags().BoolVar(&f.fixChecksums, "fix-checksums", false, "accept migrations that changed after they ran")
	return cmd
}

func (p *program) runDev(ctx context.Context, f devFlags) error {
	cfg, err := p.load(config.StageDev)
	if err != nil {
		return err
	}
	if open := cfg.CheckExposure(); len(open) > 0 {
		return &config.InvalidError{Report: config.Report{File: cfg.File, Parsed: true, Errors: open}}
	}
	if f.dbListen != dev.DefaultDBListen && !config.IsLoopback(f.dbListen) {
		return usagef("--db-listen %s: the development database listens on loopback only, for instance 127.0.0.1:8676", f.dbListen)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(p.err, "spky: warning: %s\n", w)
	}
	asJSON, err := p.wantsJSONLog()
	if err != nil {
		return err
	}
	self, viaGo := dev.Self()
	if viaGo {
		watched, stop := whileParentLives(ctx)
		defer stop()
		ctx = watched
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	style, ring := render.StyleFor(p.out, p.env), logs.NewRing(0)
	return dev.Run(ctx, dev.Options{
		Config: cfg, Out: p.out, Style: style, Environ: os.Environ(),
		NewLogger: func(w io.Writer) (*slog.Logger, error) {
			return logging.New(w, logging.Options{Keep: ring, Directives: devLevel(cfg), JSON: asJSON, Color: style.On(), Omit: []string{"node"}})
		},
		NewNode: p.newNode,
		NewAdmin: func(cfg *config.Config, node *ssp.Node, token string, log *slog.Logger) (dev.AdminAPI, error) {
			return newAdminAPI(cfg, node, ring, log, api.Secret{Name: "spky dev", Scope: "full", Token: token})
		},
		Guard:    []string{executable, guardCommand},
		Command:  func(endpoint string) string { return p.commandLine(self, cfg, endpoint) },
		DBListen: f.dbListen, Clean: f.clean, FixChecksums: f.fixChecksums,
	})
}

// devLevel is the level of the log; unless somebody chose another, without the
// small talk of the connections.
func devLevel(cfg *config.Config) string {
	level := cfg.LogLevel.For(config.StageDev)
	if level == "info" {
		return "info,surreal=warn"
	}
	return level
}

// commandLine is how this program is run against the same database.
func (p *program) commandLine(self string, cfg *config.Config, endpoint string) string {
	words := []string{self}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, name, shellQuote(value))
		}
	}
	flag("--config", p.flags.config)
	if f := p.flags.db; f.Endpoint != "" || !cfg.SurrealDB.External && !strings.HasSuffix(endpoint, "://"+dev.DefaultDBListen) {
		flag("--db-url", endpoint)
	}
	flag("--ns", p.flags.db.Namespace)
	flag("--db", p.flags.db.Database)
	flag("--db-user", p.flags.db.Username)
	return strings.Join(words, " ")
}

// errOrphaned is the cause of a context whose process lost its parent.
var errOrphaned = errors.New("the process that started this one is gone")

// parentPoll is how often the parent is looked for.
const parentPoll = 500 * time.Millisecond

// whileParentLives ends a context when the process that started this one ends:
// `go run` does not pass on signals, and whoever stops it means this program.
func whileParentLives(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(parentPoll)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if os.Getppid() != parent {
				cancel(errOrphaned)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

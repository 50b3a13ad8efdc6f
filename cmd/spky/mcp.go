package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/mcp"
	"sp00ky.cloud/spky/surreal"
)

func newMCPCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let AI agents look and act, by the Model Context Protocol",
		Long: `Let AI agents look and act, by the Model Context Protocol.

  spky mcp install   prints what to paste into an agent's configuration
  spky mcp serve     is what the agent starts then

A running spky run or spky dev serves the same at /admin/api/mcp, with tokens.`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newMCPServeCommand(p), newMCPInstallCommand(p))
	return cmd
}

func newMCPServeCommand(p *program) *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the protocol on standard input and output",
		Long: `Serve the protocol on standard input and output, for one agent that starts this
command. It ends when its input does.

It works on the database that the configuration names, also while no node runs,
or on an admin API: --url with a token in SPKY_ADMIN_TOKEN, whose scope decides
what may be done. The audit names you as the one who acts, and mcp as the way.

--read-only leaves out every tool that changes something. The log goes to
standard error.`,
		Example: "  spky mcp serve --read-only\n  SPKY_ADMIN_TOKEN=… spky mcp serve --url https://spky.example.com",
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serveMCP(cmd.Context(), readOnly) },
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "offer only tools that change nothing")
	return cmd
}

func (p *program) serveMCP(ctx context.Context, readOnly bool) error {
	who := mcp.Caller{Name: p.user(), Scope: admin.ScopeFull}
	if readOnly {
		who.Scope = admin.ScopeRead
	}
	level := p.flags.db.LogLevel
	if level == "" {
		level = "warn"
	}
	log, err := p.logger(level, nil)
	if err != nil {
		return err
	}
	settings := mcp.Config{Version: buildVersion().Version, Logger: log, Caller: func(context.Context) mcp.Caller { return who }}
	api, err := p.remoteVia("mcp")
	if err != nil {
		return err
	}
	if api != nil {
		if tokenReads(ctx, api) {
			who.Scope = admin.ScopeRead
		}
		return p.speakMCP(ctx, afar(settings, api))
	}
	return p.serveMCPOnDatabase(ctx, settings)
}

// askPatience is how long an admin API may take to say what a token may do.
const askPatience = 3 * time.Second

// tokenReads says whether a token may only read: the agent is offered nothing else then. While nobody
// knows, the agent is offered everything, and the admin API refuses what may not be.
func tokenReads(ctx context.Context, api *client.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	scope, err := api.Scope(ctx)
	return err == nil && scope != admin.ScopeFull
}

// afar makes a server's operations those of an admin API.
func afar(settings mcp.Config, api *client.Client) mcp.Config {
	settings.Instances, settings.Jobs, settings.Explainer = api.Durable(), api.Jobs(), api.Explainer()
	settings.Cluster, settings.Schedules, settings.DAGs, settings.Logs = api.Cluster(), api.Schedules(), api.DAGs(), api.Logs()
	return settings
}

// serveMCPOnDatabase serves beside a connection that comes back by itself: an agent may be there before
// its database.
func (p *program) serveMCPOnDatabase(ctx context.Context, settings mcp.Config) error {
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	target := database(cfg)
	target.Name, target.Logger = "mcp", settings.Logger
	db, err := surreal.New(target)
	if err != nil {
		return err
	}
	operations := operationsOn(db, cfg)
	settings.Instances, settings.Jobs = operations.durable, operations.jobs
	settings.Explainer, settings.Cluster, settings.Schedules, settings.DAGs = operations.explainer, operations.cluster, operations.schedules, operations.dags
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	var connection errgroup.Group
	connection.Go(func() error { return db.Run(connected) })
	err = p.speakMCP(ctx, settings)
	disconnect()
	return errors.Join(err, connection.Wait())
}

// speakMCP serves until the input ends, or a signal ends it: that is how agents end it.
func (p *program) speakMCP(ctx context.Context, settings mcp.Config) error {
	server := mcp.New(settings)
	defer server.Close()
	err := server.Serve(ctx, io.NopCloser(p.in), nopWriteCloser{p.out})
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return hint.Wrap(err, "an agent has to start this command and speak the protocol with it; `spky mcp install` prints how")
}

// A nopWriteCloser is standard output, which others close.
type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

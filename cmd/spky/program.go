package main

import (
	"context"
	"io"
	"log/slog"
	"os/user"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/cmd/spky/internal/logging"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// A program is one invocation: what it can see of the world, and its global
// flags.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) (string, bool)

	flags globalFlags
	// tracing takes the spans of the node that this program runs; nil is off.
	tracing *sdktrace.TracerProvider
}

// globalFlags are the flags that every command takes.
type globalFlags struct {
	config    string
	db        config.Overrides
	logFormat string
	adminURL  string
}

// run executes one command line and answers with the exit code. Whatever went
// wrong has been printed.
func (p *program) run(ctx context.Context, args []string) int {
	root := newRootCommand(p)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	cmd, err := root.ExecuteContextC(admin.WithActor(ctx, admin.Actor{Name: p.user(), Via: "cli"}))
	return p.report(ctx, cmd, err)
}

// user is who types, for the audit.
func (p *program) user() string {
	for _, name := range []string{"USER", "USERNAME"} {
		if value, _ := p.env(name); value != "" {
			return value
		}
	}
	if who, err := user.Current(); err == nil {
		return who.Username
	}
	return ""
}

// options are those of the configuration, as environment and flags have it.
func (p *program) options(stage config.Stage) config.Options {
	return config.Options{Path: p.flags.config, Env: p.env, Overrides: p.flags.db, Stage: stage}
}

// load reads the configuration of a stage. It has to exist.
func (p *program) load(stage config.Stage) (*config.Config, error) {
	return config.Load(p.options(stage))
}

// loadAny reads the configuration of all stages, for commands that can do with
// flags and environment where there is no file.
func (p *program) loadAny() (*config.Config, error) {
	opts := p.options(config.StageAny)
	opts.AllowMissing = p.flags.config == ""
	return config.Load(opts)
}

// database says how to reach the configured database.
func database(cfg *config.Config) surreal.Config {
	db := cfg.SurrealDB
	return surreal.Config{
		Endpoint: db.Endpoint, Namespace: db.Namespace, Database: db.Database,
		Username: db.Username, Password: db.Password.Reveal(),
	}
}

// remote is the admin API that --url or SPKY_ADMIN_URL names, with the token in SPKY_ADMIN_TOKEN; nil
// where neither does, and the command works on the database.
func (p *program) remote() (*client.Client, error) { return p.remoteVia("cli") }

// remoteVia is the same for a surface, which the audit over there names.
func (p *program) remoteVia(surface string) (*client.Client, error) {
	address := p.flags.adminURL
	if address == "" {
		address, _ = p.env("SPKY_ADMIN_URL")
	}
	if address == "" {
		return nil, nil
	}
	token, _ := p.env("SPKY_ADMIN_TOKEN")
	c, err := client.New(client.Config{URL: address, Token: token, Via: surface})
	if err != nil {
		return nil, usagef("--url: %v", err)
	}
	return c, nil
}

// connect opens a connection for one command. The function it returns closes
// it.
func connect(ctx context.Context, cfg *config.Config) (*surreal.Client, func(), error) {
	db, stop, err := surreal.Connect(ctx, database(cfg))
	if err != nil {
		return nil, nil, &connectError{err: err, given: cfg.SurrealDB.External}
	}
	return db, func() { _ = stop() }, nil // it ends without error once it was ready
}

// logger writes the log to standard error: text for people on a terminal, JSON
// for machines, unless --log-format says which. A ring keeps its newest lines.
func (p *program) logger(directives string, ring *logs.Ring) (*slog.Logger, error) {
	format, err := p.logFormat()
	if err != nil {
		return nil, err
	}
	return logging.New(p.err, logging.Options{Keep: ring, Directives: directives, JSON: format == "json" || format == "auto" && !render.IsTerminal(p.err), Color: render.Colors(p.err, p.env)})
}

// logFormat is what flag or environment say: text, json or auto.
func (p *program) logFormat() (string, error) {
	format := p.flags.logFormat
	if format == "" {
		format, _ = p.env("SPKY_LOG_FORMAT")
	}
	switch format {
	case "":
		return "auto", nil
	case "text", "json", "auto":
		return format, nil
	}
	return "", usagef("--log-format is %q; allowed: text, json, auto", format)
}

// wantsJSONLog says whether somebody asked for JSON.
func (p *program) wantsJSONLog() (bool, error) {
	format, err := p.logFormat()
	return format == "json", err
}

package mcp

import (
	"context"
	"log/slog"

	"sp00ky.cloud/spky/admin"
)

// A Caller is who makes a request.
type Caller struct {
	// Name is what the audit calls him.
	Name string
	// Scope is what he may do. Any but [admin.ScopeFull] may read.
	Scope admin.Scope
}

// Config says what a server offers, and to whom. The tools of operations that it does not have are not
// there.
type Config struct {
	Instances Instances
	Jobs      Jobs
	Explainer Explainer
	Cluster   Cluster
	Schedules Schedules
	DAGs      DAGs
	Logs      Logs

	// Caller says who makes a request, by the context that it came with: over HTTP that of the
	// [http.Request], on streams that of [Server.Serve]. Defaults to nobody, who may read.
	Caller func(context.Context) Caller
	// Authenticated says that whoever mounts [Server.Handler] lets only callers through who show a secret.
	// Without it, requests to a loopback address have to name a loopback host, so that no web page can
	// make a browser ask; a proxy on the same machine would name another.
	Authenticated bool
	// Version is told to clients. Defaults to "dev".
	Version string
	// Logger gets what the protocol has to say. Defaults to nobody.
	Logger *slog.Logger
}

func (cfg Config) withDefaults() Config {
	if cfg.Caller == nil {
		cfg.Caller = func(context.Context) Caller { return Caller{} }
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = slog.New(quieter{cfg.Logger.Handler()})
	return cfg
}

// acting is a request's context as operations get it: the audit says who, and that it came this way.
func (cfg Config) acting(ctx context.Context) context.Context {
	return admin.WithActor(ctx, admin.Actor{Name: cfg.Caller(ctx).Name, Via: "mcp"})
}

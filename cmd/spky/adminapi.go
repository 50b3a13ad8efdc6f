package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/admin/dashboard"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/mcp"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// An adminAPI is the admin API of this process, and the dashboard beside it, on a connection of their own:
// what operators ask for holds up no job.
type adminAPI struct {
	db     *surreal.Client
	server *api.Server
	pages  *dashboard.Dashboard
	mcp    *mcp.Server
}

// newAdminAPI makes one beside a node, which may be nil; ring is the log of the process. extra are
// tokens beside those of the configuration and of the database.
func newAdminAPI(cfg *config.Config, node *ssp.Node, ring *logs.Ring, log *slog.Logger, extra ...api.Secret) (*adminAPI, error) {
	target := database(cfg)
	target.Name, target.Logger = "admin", log
	db, err := surreal.New(target)
	if err != nil {
		return nil, fmt.Errorf("admin API: %w", err)
	}
	a := &adminAPI{db: db}
	operations := operationsOn(db, cfg)
	a.mcp = mcp.New(mcp.Config{
		Instances: operations.durable, Jobs: operations.jobs, Explainer: operations.explainer, Cluster: operations.cluster, Schedules: operations.schedules, DAGs: operations.dags, Logs: ring,
		Caller: caller, Authenticated: true, Version: buildVersion().Version, Logger: log,
	})
	settings := api.Config{
		Listen: cfg.Admin.Listen, Durable: operations.durable, Jobs: operations.jobs, Explainer: operations.explainer, Logs: ring,
		Cluster: operations.cluster, Schedules: operations.schedules, DAGs: operations.dags, Tokens: operations.tokens, Audit: operations.audit,
		Secrets: append(secrets(cfg), extra...), MCP: a.mcp.Handler(), NoMetrics: !cfg.Metrics.Enabled, Version: buildVersion().Version, Logger: log,
	}
	if node != nil {
		settings.Node, settings.Metrics = node.Handler(), node.Metrics()
	}
	if a.server, err = api.New(settings); err != nil {
		return nil, err
	}
	a.pages, err = dashboard.New(dashboard.Config{
		API: a.server, Durable: operations.durable, Jobs: operations.jobs, Explainer: operations.explainer, Cluster: operations.cluster,
		Schedules: operations.schedules, DAGs: operations.dags, Audit: operations.audit, TraceURL: cfg.Admin.TraceURL, Version: buildVersion().Version, Logger: log,
	})
	if err != nil {
		a.server.Close()
		return nil, err
	}
	a.server.Mount("/admin/", a.pages.Handler())
	return a, nil
}

// operations are all there are, on one database.
type operations struct {
	durable   *admin.Durable
	jobs      *admin.Jobs
	explainer *admin.Explainer
	cluster   *admin.Cluster
	schedules *admin.Schedules
	dags      *admin.DAGs
	tokens    *admin.Tokens
	audit     *admin.Audit
}

func operationsOn(db *surreal.Client, cfg *config.Config) operations {
	rules := redact.New(cfg.Redact)
	return operations{
		durable:   admin.NewDurable(admin.DurableConfig{DB: db, Backends: cfg.Backends, Redact: rules}),
		jobs:      admin.NewJobs(admin.JobsConfig{DB: db, Backends: cfg.Backends, Redact: rules}),
		explainer: admin.NewExplainer(admin.ExplainConfig{DB: db, Backends: cfg.Backends, Redact: rules}),
		cluster:   admin.NewCluster(admin.ClusterConfig{DB: db, Backends: cfg.Backends}),
		schedules: admin.NewSchedules(db, rules), dags: admin.NewDAGs(db, rules),
		tokens: admin.NewTokens(db),
		audit:  admin.NewAudit(db),
	}
}

// secrets are the tokens that environment and file give.
func secrets(cfg *config.Config) []api.Secret {
	var all []api.Secret
	if !cfg.AuthSecret.IsZero() {
		all = append(all, api.Secret{Name: "SPKY_AUTH_SECRET", Scope: "full", Token: cfg.AuthSecret.Reveal()})
	}
	for i, t := range cfg.Admin.Tokens {
		name := t.Label
		if name == "" {
			name = fmt.Sprintf("admin.tokens[%d]", i)
		}
		all = append(all, api.Secret{Name: name, Scope: t.Scope, Token: t.Token.Reveal()})
	}
	return all
}

// caller tells the MCP server who the admin API let in.
func caller(ctx context.Context) mcp.Caller {
	who := api.IdentityOf(ctx)
	return mcp.Caller{Name: who.Name, Scope: admin.Scope(who.Scope)}
}

// Run serves until ctx ends.
func (a *adminAPI) Run(ctx context.Context) error {
	defer a.mcp.Close()
	defer context.AfterFunc(ctx, a.mcp.Close)()                             // subscriptions would hold up the shutdown
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx)) // as long as there is somebody to answer
	var connection errgroup.Group
	connection.Go(func() error { return a.db.Run(connected) })
	connection.Go(func() error { return a.pages.Run(connected) })
	err := a.server.Run(ctx)
	disconnect()
	err = errors.Join(err, connection.Wait())
	if err != nil && ctx.Err() == nil {
		return hint.Wrap(err, "choose another address with --admin-listen or SPKY_ADMIN_PORT, or do without: `--admin-listen off`")
	}
	return err
}

// Ready is closed once it listens, Address says where.
func (a *adminAPI) Ready() <-chan struct{} { return a.server.Ready() }

// Address is where it listens, once it is ready.
func (a *adminAPI) Address() string { return a.server.Address() }

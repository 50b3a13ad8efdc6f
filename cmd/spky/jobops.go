package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal/redact"
)

// jobOps is what commands on jobs do: on the database, or through an admin API.
type jobOps interface {
	List(ctx context.Context, o admin.JobListOptions) (admin.JobPage, error)
	Get(ctx context.Context, id string) (admin.Job, error)
	Create(ctx context.Context, n admin.NewJob) (string, error)
	Cancel(ctx context.Context, id string) (admin.JobStatus, error)
	Retry(ctx context.Context, id string) (admin.JobStatus, error)
	Clear(ctx context.Context, table string, all bool) (admin.Cleared, error)
	Watch(ctx context.Context, id string, tell func(admin.Job) error) (admin.Job, error)
	Changes(ctx context.Context, table string, tell func(admin.JobChange) error) error
}

// clusterOps is what commands on nodes look at.
type clusterOps interface {
	Nodes(ctx context.Context) ([]admin.Node, error)
	Backends(ctx context.Context) ([]admin.Backend, error)
	Overview(ctx context.Context) (admin.Overview, error)
	Analytics(ctx context.Context, hours int) (admin.Analytics, error)
}

// tokenOps is what commands on tokens do.
type tokenOps interface {
	Create(ctx context.Context, label string, scope admin.Scope, ttl time.Duration) (string, admin.Token, error)
	List(ctx context.Context) ([]admin.Token, error)
	Revoke(ctx context.Context, id string) error
}

// A desk is what the commands on jobs work with.
type desk struct {
	jobs    jobOps
	cluster clusterOps
	tokens  tokenOps
	// table is the one that --table names, tables are all, as far as they are known here.
	table  string
	tables []string
}

// withJobs connects, to the admin API where one is named, else to the database. On the database the
// tables are the named one, or all of the configuration, or, where that has none, those of the ids.
func (p *program) withJobs(ctx context.Context, table string, ids []string, do func(*desk) error) error {
	if table != "" {
		if err := schema.CheckTableName(table); err != nil {
			return usagef("--table: %v", err)
		}
	}
	api, err := p.remote()
	switch {
	case err != nil:
		return err
	case api != nil:
		return do(&desk{jobs: api.Jobs(), cluster: api.Cluster(), tokens: api.Tokens(), table: table})
	}
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	tables, err := jobTables(cfg, table, ids)
	if err != nil {
		return err
	}
	db, closeDB, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	return do(&desk{
		jobs:    admin.NewJobs(admin.JobsConfig{DB: db, Tables: tables, Backends: cfg.Backends, Redact: redact.New(cfg.Redact)}),
		cluster: admin.NewCluster(admin.ClusterConfig{DB: db, Tables: tables, Backends: cfg.Backends}),
		tokens:  admin.NewTokens(db),
		table:   table, tables: tables,
	})
}

// anyTables stands for commands that need no table.
var anyTables = []string{""}

// jobTables are the outbox tables of a command.
func jobTables(cfg *config.Config, table string, ids []string) ([]string, error) {
	tables := outboxTables(cfg)
	if table != "" {
		return []string{table}, nil
	}
	if len(tables) > 0 || slices.Equal(ids, anyTables) {
		return tables, nil
	}
	for _, id := range ids {
		if m := tablePrefix.FindStringSubmatch(id); m != nil && !slices.Contains(tables, m[1]) {
			tables = append(tables, m[1])
		}
	}
	if len(tables) == 0 {
		return nil, hint.Wrap(fmt.Errorf("%s names no outbox table", cfg.File), "name one with --table, or add a backend with `spky add api`")
	}
	return tables, nil
}

// tablePrefix recognises an id that begins with a table.
var tablePrefix = regexp.MustCompile(`^([a-z][a-z0-9_]{0,63}):(.+)$`)

// id is a job's id, in the table that --table names.
func (d *desk) id(text string) string {
	if d.table != "" && text != "" && !strings.HasPrefix(text, d.table+":") {
		return d.table + ":" + text
	}
	return text
}

// remediedJob gives an error its remedy.
func remediedJob(err error) error {
	var refused *admin.StateError
	switch {
	case err == nil || hint.Of(err) != "":
	case errors.As(err, &refused) && len(refused.Possible) == 0:
		return hint.Wrap(err, "nobody but an operator of the database can change that: `spky explain` says how")
	case errors.As(err, &refused):
		return hint.Wrap(err, "possible now: %s", joined(refused.Possible))
	case errors.Is(err, admin.ErrNotFound):
		return hint.Wrap(err, "`spky jobs list` shows the jobs there are")
	}
	return err
}

// each does something with every job named, and goes on where it is refused.
func (p *program) each(ctx context.Context, table string, ids []string, do func(d *desk, id string) error) error {
	return p.withJobs(ctx, table, ids, func(d *desk) error {
		var failed []error
		for _, id := range ids {
			failed = append(failed, remediedJob(do(d, d.id(id))))
		}
		return errors.Join(failed...)
	})
}

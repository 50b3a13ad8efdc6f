package main

import (
	"context"

	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// reach gives a command what it works with: through the admin API where one is named, else on the database.
func reach[T any](ctx context.Context, p *program, afar func(*client.Client) T, here func(*surreal.Client, *config.Config) T, do func(T) error) error {
	api, err := p.remote()
	switch {
	case err != nil:
		return err
	case api != nil:
		return do(afar(api))
	}
	return p.onDatabase(ctx, func(db *surreal.Client, cfg *config.Config) error { return do(here(db, cfg)) })
}

// onDatabase gives a command the configuration, and a connection to the database that it names, which ends with the
// command.
func (p *program) onDatabase(ctx context.Context, do func(*surreal.Client, *config.Config) error) error {
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	db, closeDB, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	return do(db, cfg)
}

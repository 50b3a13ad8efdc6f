package main

import (
	"context"

	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// reach gives a command what it works with: through the admin API where one is named, else on the database that the
// configuration names, whose connection ends with the command.
func reach[T any](ctx context.Context, p *program, afar func(*client.Client) T, here func(*surreal.Client, *config.Config) T, do func(T) error) error {
	api, err := p.remote()
	switch {
	case err != nil:
		return err
	case api != nil:
		return do(afar(api))
	}
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	db, closeDB, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	return do(here(db, cfg))
}

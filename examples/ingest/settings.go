package main

import (
	"cmp"
	"errors"
	"net"

	"sp00ky.cloud/spky/surreal"
)

// settings are what the environment says.
type settings struct {
	listen string
	token  string
	// table is the outbox that the jobs come from.
	table string
	db    surreal.Config
}

func readSettings(env func(string) string) (settings, error) {
	c := settings{
		listen: net.JoinHostPort(cmp.Or(env("HOST"), "127.0.0.1"), cmp.Or(env("PORT"), "3660")),
		token:  env("API_AUTH_TOKEN"),
		table:  cmp.Or(env("SPKY_OUTBOX_TABLE"), "job"),
		db: surreal.Config{
			Endpoint:  cmp.Or(env("SPKY_DB_URL"), env("SPKY_DB_WS"), "ws://127.0.0.1:8666"),
			Namespace: cmp.Or(env("SPKY_DB_NS"), "main"),
			Database:  cmp.Or(env("SPKY_DB_NAME"), "main"),
			Username:  cmp.Or(env("SPKY_DB_USER"), "root"),
			Password:  cmp.Or(env("SPKY_DB_PASS"), "root"),
			Name:      "ingest",
		},
	}
	if c.token == "" {
		return c, errors.New("API_AUTH_TOKEN is not set; give it the value that auth.token has in sp00ky.yml")
	}
	return c, nil
}

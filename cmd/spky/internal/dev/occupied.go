package dev

import (
	"context"
	"net"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// lookTimeout bounds the look at whoever listens where the database should.
const lookTimeout = 2 * time.Second

// portFree is nil where the database can listen, and says who does so where
// it cannot.
func (s *session) portFree() error {
	listener, err := net.Listen("tcp", s.o.DBListen) //nolint:noctx // returns at once
	if err == nil {
		return listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	url := "ws://" + s.o.DBListen
	const elsewhere = "; or let this one's database listen elsewhere: `--db-listen 127.0.0.1:8676`"
	look := s.surreal()
	look.Endpoint, look.Namespace, look.Database = url, "", ""
	db, stop, lookErr := surreal.Connect(ctx, look)
	switch {
	case lookErr == nil:
		defer func() { _ = stop() }()
		if s.isOurs(ctx, db) {
			return hinted("use that one, or stop it; or share its database: `--db-url "+url+" --listen 127.0.0.1:8668`",
				"dev: %s is in use by a database that holds this project's schema: another `spky dev` runs, most likely", s.o.DBListen)
		}
		return hinted("use it: `--db-url "+url+"`; or stop it"+elsewhere,
			"dev: %s is in use by another SurrealDB, which takes the same user and password", s.o.DBListen)
	case surreal.IsAuth(lookErr):
		return hinted("stop it, or use it with its own user and password: `--db-url "+url+"` with SPKY_DB_USER and SPKY_DB_PASS"+elsewhere,
			"dev: %s is in use by a SurrealDB that refuses user %s", s.o.DBListen, s.cfg.SurrealDB.Username)
	}
	return hinted("stop it, or use another database with --db-url"+elsewhere,
		"dev: the database cannot listen on %s: %w", s.o.DBListen, err)
}

// isOurs says whether a database holds the platform's schema in this project's
// namespace and database. It looks without making either.
func (s *session) isOurs(ctx context.Context, db *surreal.Client) bool {
	type names struct {
		Namespaces map[string]any `json:"namespaces"`
		Databases  map[string]any `json:"databases"`
		Tables     map[string]any `json:"tables"`
	}
	root, err := surreal.First[names](ctx, db, "INFO FOR ROOT", nil)
	if _, ok := root.Namespaces[s.cfg.SurrealDB.Namespace]; err != nil || !ok {
		return false
	}
	inside := s.surreal()
	inside.Endpoint, inside.Database = "ws://"+s.o.DBListen, ""
	ns, stop, err := surreal.Connect(ctx, inside)
	if err != nil {
		return false
	}
	defer func() { _ = stop() }()
	found, err := surreal.First[names](ctx, ns, "INFO FOR NS", nil)
	if _, ok := found.Databases[s.cfg.SurrealDB.Database]; err != nil || !ok {
		return false
	}
	inside.Database = s.cfg.SurrealDB.Database
	full, stopFull, err := surreal.Connect(ctx, inside)
	if err != nil {
		return false
	}
	defer func() { _ = stopFull() }()
	tables, err := surreal.First[names](ctx, full, "INFO FOR DB", nil)
	_, ok := tables.Tables["_00_schema"]
	return err == nil && ok
}

package dev

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// lookTimeout bounds the look at whoever listens where the database should.
const lookTimeout = 2 * time.Second

// occupant says who listens where the database should, and what else to do about it, as far as that can be told. It is no
// `spky dev` of this directory: this session holds its lock.
func (s *session) occupant() (who, remedy string) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	url := "ws://" + s.o.DBListen
	look := s.surreal()
	look.Endpoint, look.Namespace, look.Database = url, "", ""
	db, stop, err := surreal.Connect(ctx, look)
	switch {
	case surreal.IsAuth(err):
		return fmt.Sprintf(", by a SurrealDB that refuses user %s", s.cfg.SurrealDB.Username),
			"or use it with its own user and password: `--db-url " + url + "` with SPKY_DB_USER and SPKY_DB_PASS"
	case err != nil:
		return "", "or use another database: `--db-url`"
	}
	defer func() { _ = stop() }()
	named := s.cfg.SurrealDB.Namespace + "/" + s.cfg.SurrealDB.Database
	if s.holdsPlatform(ctx, db) {
		return fmt.Sprintf(", by a SurrealDB whose %s holds the platform's schema: of another project's `spky dev`, most likely, or of another directory of this one", named),
			"or, only where it is this same project's, share its data: `--db-url " + url + "`"
	}
	return fmt.Sprintf(", by another SurrealDB, which takes the same user and password and has no spky in %s", named),
		"or use it: `--db-url " + url + "`"
}

// holdsPlatform says whether a database holds the platform's schema under the names of this project's
// namespace and database, which are most projects'. It looks without making either.
func (s *session) holdsPlatform(ctx context.Context, db *surreal.Client) bool {
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

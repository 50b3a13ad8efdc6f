package migrate

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// DB runs SurrealQL and can decode what it answers.
type DB interface {
	schema.DB
	surreal.Querier
}

// A record is a row of _00_migrations.
type record struct {
	Version   string    `json:"version"`
	Name      string    `json:"name"`
	Checksum  string    `json:"checksum"`
	AppliedAt time.Time `json:"applied_at"`
}

const (
	readRecords = "SELECT version, name, checksum, applied_at FROM _00_migrations"
	// A migration's row is created in its own transaction: the second of two that run it at once finds it there.
	noteMigration = "CREATE type::record('_00_migrations', $_00_version) SET version = $_00_version, name = $_00_name, checksum = $_00_checksum, applied_at = time::now() RETURN NONE"
	noteDeclared  = "UPSERT type::record('_00_migrations', $_00_version) SET version = $_00_version, name = $_00_name, checksum = $_00_checksum, applied_at = time::now() RETURN NONE"
	fixChecksum   = "UPDATE _00_migrations SET checksum = $checksum WHERE version = $version RETURN NONE"
)

// records are the rows of _00_migrations by version; none where the table does
// not exist yet.
func records(ctx context.Context, db DB) (map[string]record, error) {
	rows, err := surreal.First[[]record](ctx, db, readRecords, nil)
	if surreal.IsNotFound(err) {
		return map[string]record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recorded migrations: %w", err)
	}
	found := make(map[string]record, len(rows))
	for _, r := range rows {
		found[r.Version] = r
	}
	return found, nil
}

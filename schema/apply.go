package schema

import (
	"context"
	"fmt"
)

// An Applied says what Apply found and did.
type Applied struct {
	// Version of the schema the database holds now.
	Version int
	// Changed is false where the database already held it.
	Changed bool
	// Newer is true where the database holds a later version than this program's; it was left alone.
	Newer bool
}

const (
	readState  = "SELECT version, checksum, objects FROM ONLY _00_schema:platform"
	writeState = "UPSERT _00_schema:platform SET version = $version, checksum = $checksum, objects = $objects, applied_at = time::now() RETURN NONE"
)

// Apply brings db's platform tables and functions up to this program's version.
func Apply(ctx context.Context, db DB) (Applied, error) {
	have, err := state(ctx, db)
	if err != nil {
		return Applied{}, fmt.Errorf("read schema state: %w", err)
	}
	switch {
	case have.version > Version:
		return Applied{Version: have.version, Newer: true}, nil
	case have.version == Version && have.checksum == Checksum():
		return Applied{Version: Version}, nil
	}
	if err := define(ctx, db, "BEGIN;\n"+Statements()+"COMMIT;"); err != nil {
		return Applied{}, fmt.Errorf("apply schema version %d: %w", Version, err)
	}
	objects, err := snapshot(ctx, db)
	if err != nil {
		return Applied{}, fmt.Errorf("read applied schema: %w", err)
	}
	vars := map[string]any{"version": Version, "checksum": Checksum(), "objects": objects}
	if _, err := db.Values(ctx, writeState, vars); err != nil {
		return Applied{}, fmt.Errorf("write schema state: %w", err)
	}
	return Applied{Version: Version, Changed: true}, nil
}

// A stored is what `_00_schema:platform` says; its zero value is a database never applied to.
type stored struct {
	version  int
	checksum string
	objects  map[string]string
}

func state(ctx context.Context, db DB) (stored, error) {
	info, err := object(ctx, db, "INFO FOR DB")
	if err != nil {
		return stored{}, err
	}
	if _, ok := names(info, "tables")["_00_schema"]; !ok {
		return stored{}, nil
	}
	values, err := db.Values(ctx, readState, nil)
	if err != nil {
		return stored{}, err
	}
	row, ok := values[0].(map[string]any)
	if !ok {
		return stored{}, nil
	}
	checksum, _ := row["checksum"].(string)
	return stored{version: integer(row["version"]), checksum: checksum, objects: names(row, "objects")}, nil
}

func integer(v any) int {
	switch n := v.(type) {
	case uint64:
		return int(n) //nolint:gosec // a schema version
	case int64:
		return int(n)
	}
	return 0
}

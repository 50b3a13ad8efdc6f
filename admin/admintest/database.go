// Package admintest is what the tests of the packages below admin begin with: a database that is ready for jobs and
// instances, and a backend with a node that runs them.
package admintest

import (
	"context"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// Connect writes the platform's schema and an outbox table named job into an empty database. The connection ends with
// the test; the configuration is for further ones.
func Connect(ctx context.Context, tb testing.TB, target devdbtest.Target) (*surreal.Client, surreal.Config) {
	tb.Helper()
	cfg := surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	}
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	db, stop, err := surreal.Connect(ctx, cfg)
	check(err)
	tb.Cleanup(func() { check(stop()) })
	_, err = schema.Apply(ctx, db)
	check(err)
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	check(err)
	check(surreal.Exec(ctx, db, ddl, nil))
	_, err = schema.PrepareOutbox(ctx, db, "job")
	check(err)
	return db, cfg
}

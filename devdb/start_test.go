package devdb_test

import (
	"context"
	"testing"

	surrealdb "github.com/surrealdb/surrealdb.go"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

func TestSDKSignsInAndQueries(t *testing.T) {
	target := devdbtest.Fresh(t)
	ctx := context.Background()
	db, err := surrealdb.FromEndpointURLString(ctx, target.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	if err := db.Use(ctx, target.Namespace, target.Database); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SignIn(ctx, surrealdb.Auth{Username: target.User, Password: target.Password}); err != nil {
		t.Fatal(err)
	}
	res, err := surrealdb.Query[string](ctx, db, "RETURN $session.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := (*res)[0].Result; got != target.Database {
		t.Fatalf("database is %q, want %q", got, target.Database)
	}
}

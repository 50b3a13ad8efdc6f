package devdb_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// sdk connects the official Go SDK as root.
func sdk(t *testing.T, target devdbtest.Target) *surrealdb.DB {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	db, err := surrealdb.FromEndpointURLString(ctx, target.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(ctx) })
	// In this order a client may use a database before it is anybody.
	if err := db.Use(ctx, target.Namespace, target.Database); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SignIn(ctx, surrealdb.Auth{Username: target.User, Password: target.Password}); err != nil {
		t.Fatal(err)
	}
	return db
}

type thing struct {
	ID models.RecordID       `json:"id"`
	At models.CustomDateTime `json:"at"`
	N  int                   `json:"n"`
}

func TestGoSDK(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	db := sdk(t, target)
	ctx := t.Context()
	if _, err := surrealdb.Query[any](ctx, db, "DEFINE TABLE t", nil); err != nil {
		t.Fatal(err)
	}
	id, err := surrealdb.Live(ctx, db, "t", false)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := db.LiveNotifications(id.String())
	if err != nil {
		t.Fatal(err)
	}
	at := models.CustomDateTime{Time: time.Date(2024, 1, 2, 3, 4, 5, 678_901_234, time.UTC)}
	created, err := surrealdb.Query[[]thing](ctx, db, "CREATE t:⟨a b⟩ SET at = $at, n = 1", map[string]any{"at": &at})
	if err != nil {
		t.Fatal(err)
	}
	got := (*created)[0].Result[0]
	if got.ID.ID != "a b" || !got.At.Equal(at.Time) || got.N != 1 {
		t.Errorf("created %+v", got)
	}
	select {
	case n := <-notes:
		if n.Action != connection.CreateAction || n.ID.String() != id.String() {
			t.Errorf("notified of %+v", n)
		}
	case <-time.After(patience):
		t.Fatal("no notification")
	}
	// No Kill: version 1.4 of the SDK closes the channel that a late notification is sent to.
}

func TestGoSDKSessionsAndTransactions(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	db := sdk(t, target)
	ctx := t.Context()
	session, err := db.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := surrealdb.Query[any](ctx, session, "RETURN 1", nil); err == nil {
		t.Error("a new session is somebody already")
	}
	if _, err := session.SignIn(ctx, surrealdb.Auth{Username: target.User, Password: target.Password}); err != nil {
		t.Fatal(err)
	}
	if err := session.Use(ctx, target.Namespace, target.Database); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{true, false} {
		tx, err := session.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := surrealdb.Query[any](ctx, tx, "CREATE t SET n = 1", nil); err != nil {
			t.Fatal(err)
		}
		end := tx.Cancel
		if commit {
			end = tx.Commit
		}
		if err := end(ctx); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := surrealdb.Query[[]thing](ctx, db, "SELECT * FROM t", nil)
	if err != nil || len((*rows)[0].Result) != 1 {
		t.Errorf("one of two transactions was committed, and there is %+v (%v)", rows, err)
	}
	if err := session.Detach(ctx); err != nil {
		t.Error(err)
	}
}

func TestGoSDKErrorsAreTyped(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	db := sdk(t, target)
	_, err := db.SignIn(t.Context(), surrealdb.Auth{Username: target.User, Password: "wrong"})
	var refused *surrealdb.ServerError
	if !errors.As(err, &refused) || refused.Kind != "NotAllowed" {
		t.Errorf("a wrong password is %v", err)
	}
}

func TestJavaScriptSDK(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "jssdk"))); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ENDPOINT="+target.Endpoint, "NAMESPACE="+target.Namespace, "DATABASE="+target.Database,
			"DB_USER="+target.User, "DB_PASS="+target.Password)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	run("npm", "ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund")
	run("node", "check.mjs")
}

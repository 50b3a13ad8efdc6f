package surreal

import (
	"context"
	"errors"
	"testing"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

func openDB(t *testing.T, c *Client) *surrealdb.DB {
	t.Helper()
	db, err := c.DB(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestOfficialSDKOverOurTransport(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	db := openDB(t, c)
	type person struct {
		ID   *models.RecordID `json:"id,omitempty"`
		Name string           `json:"name"`
	}
	created, err := surrealdb.Create[person](ctx, db, NewRecordID("person", "a"), person{Name: "A"})
	if err != nil || created.Name != "A" {
		t.Fatalf("create: %+v, %v", created, err)
	}
	results, err := surrealdb.Query[[]person](ctx, db, "SELECT * FROM person WHERE name = $n", map[string]any{"n": "A"})
	if err != nil || len(*results) != 1 || len((*results)[0].Result) != 1 {
		t.Errorf("query: %+v, %v", results, err)
	}
	if version, err := db.Version(ctx); err != nil || version.Version == "" {
		t.Errorf("version: %+v, %v", version, err)
	}
	_, err = surrealdb.Select[person](ctx, db, NewRecordID("nowhere", "a"))
	var server *connection.ServerError
	if !errors.As(err, &server) || server.Kind != "NotFound" {
		t.Errorf("error: %v", err)
	}
}

func TestOfficialSDKTransaction(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	exec(t, c, "DEFINE TABLE job", nil)
	tx, err := openDB(t, c).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := surrealdb.Query[any](ctx, tx, "CREATE job:1", nil); err != nil {
		t.Fatal(err)
	}
	if n, err := First[[]any](ctx, c, "SELECT * FROM job", nil); err != nil || len(n) != 0 {
		t.Errorf("before the commit: %v, %v", n, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := First[[]any](ctx, c, "SELECT * FROM job", nil); err != nil || len(n) != 1 {
		t.Errorf("after the commit: %v, %v", n, err)
	}
}

func TestOfficialSDKLive(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	exec(t, c, "DEFINE TABLE job", nil)
	db := openDB(t, c)
	id, err := surrealdb.Live(ctx, db, "job", false)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := db.LiveNotifications(id.String())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, "CREATE job:1", nil)
	select {
	case note := <-notes:
		row, _ := note.Result.(map[string]any)
		if note.Action != connection.CreateAction || FormatID(row["id"].(RecordID)) != "job:1" {
			t.Errorf("got %+v", note)
		}
	case <-ctx.Done():
		t.Fatal("no event")
	}
	exec(t, c, "CREATE job:2", nil) // nobody reads it
	if err := db.CloseLiveNotifications(id.String()); err != nil {
		t.Error(err)
	}
	for range notes {
	}
	if _, err := db.LiveNotifications("x"); err == nil {
		t.Error("x is a live query")
	}
	if err := db.CloseLiveNotifications("x"); err == nil {
		t.Error("x is a live query")
	}
}

func TestOfficialSDKCantChangeTheSession(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	db := openDB(t, c)
	exec(t, c, "DEFINE TABLE job", nil)
	id, err := surrealdb.Live(ctx, db, "job", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.LiveNotifications(id.String()); err != nil {
		t.Fatal(err)
	}
	auth := map[string]any{"user": "root", "pass": "root"}
	for name, change := range map[string]func() error{
		"use":                 func() error { return db.Use(ctx, "x", "y") },
		"let":                 func() error { return db.Let(ctx, "x", 1) },
		"unset":               func() error { return db.Unset(ctx, "x") },
		"invalidate":          func() error { return db.Invalidate(ctx) },
		"authenticate":        func() error { return db.Authenticate(ctx, "token") },
		"signin":              func() error { _, err := db.SignIn(ctx, auth); return err },
		"signup":              func() error { _, err := db.SignUp(ctx, auth); return err },
		"signin with refresh": func() error { _, err := db.SignInWithRefresh(ctx, auth); return err },
		"signup with refresh": func() error { _, err := db.SignUpWithRefresh(ctx, auth); return err },
	} {
		if err := change(); !errors.Is(err, errSupervised) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
	if db, err := First[string](ctx, c, "RETURN session::db()", nil); err != nil || db != c.cfg.Database {
		t.Errorf("afterwards: %s, %v", db, err)
	}
}

func TestOfficialSDKAfterTheEnd(t *testing.T) {
	t.Parallel()
	c, stop, err := Connect(testContext(t), testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	db := openDB(t, c)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := surrealdb.Query[any](context.Background(), db, "RETURN 1", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("query: %v", err)
	}
	if _, err := db.LiveNotifications("018e0000-0000-7000-8000-000000000001"); !errors.Is(err, ErrClosed) {
		t.Errorf("live: %v", err)
	}
	if _, err := c.DB(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("DB: %v", err)
	}
}

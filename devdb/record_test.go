package devdb_test

import (
	"slices"
	"testing"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

const accounts = `
	DEFINE ACCESS account ON DATABASE TYPE RECORD
		SIGNUP (CREATE user SET name = $name, pass = crypto::argon2::generate($pass))
		SIGNIN (SELECT * FROM user WHERE name = $name AND crypto::argon2::compare(pass, $pass));
	DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth;
	DEFINE TABLE note PERMISSIONS FOR select, create, update, delete WHERE owner = $auth;
	DEFINE FIELD owner ON note VALUE $before OR $auth;
	DEFINE TABLE secret;
	CREATE secret:s SET text = 'nobody shall see this';`

// user signs up a record user on a connection of its own.
func user(t *testing.T, target devdbtest.Target, name string) *client {
	t.Helper()
	c := dial(t, target.Endpoint)
	c.must("signup", map[string]any{"NS": target.Namespace, "DB": target.Database, "AC": "account", "name": name, "pass": name})
	return c
}

func TestRecordUserSeesItsOwn(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	root := signedIn(t, target)
	root.query(nil, accounts)
	ann, bob := user(t, target, "ann"), user(t, target, "bob")

	ann.query(nil, "CREATE note:a SET text = 'of ann'")
	bob.query(nil, "CREATE note:b SET text = 'of bob'")
	bob.query(nil, "UPDATE note:a SET text = 'changed by bob'")
	for c, want := range map[*client][]string{ann: {"of ann"}, bob: {"of bob"}, root: {"of ann", "of bob"}} {
		var texts []string
		c.query(&texts, "SELECT VALUE text FROM note")
		slices.Sort(texts)
		if !slices.Equal(texts, want) {
			t.Errorf("sees %q, want %q", texts, want)
		}
	}
	var secrets []any
	ann.query(&secrets, "SELECT * FROM secret")
	if len(secrets) > 0 {
		t.Errorf("a record user sees %v", secrets)
	}
	if _, err := ann.rows(ann.call("query", "DEFINE TABLE mine")); err == nil {
		t.Error("a record user defined a table")
	}
	if _, err := ann.rows(ann.call("query", "INFO FOR ROOT")); err == nil {
		t.Error("a record user saw INFO FOR ROOT")
	}

	again := dial(t, target.Endpoint)
	again.must("signin", map[string]any{"NS": target.Namespace, "DB": target.Database, "AC": "account", "name": "ann", "pass": "ann"})
	var texts []string
	again.query(&texts, "SELECT VALUE text FROM note")
	if !slices.Equal(texts, []string{"of ann"}) {
		t.Errorf("after signing in again: %q", texts)
	}
}

func TestRecordUsersCannotReachTheNetwork(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	root := signedIn(t, target)
	root.query(nil, accounts)
	ann := user(t, target, "ann")
	if _, err := ann.rows(ann.call("query", "RETURN http::get('http://127.0.0.1:1/')")); err == nil {
		t.Error("the database made a request")
	}
}

package devdb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// walled are all methods of the protocol but those an anonymous session needs to become somebody.
var walled = []string{
	"query", "select", "create", "insert", "insert_relation", "relate", "update", "upsert", "merge", "patch", "delete", "run",
	"live", "kill", "let", "set", "unset", "begin", "commit", "cancel", "attach", "sessions", "invalidate", "reset",
	"refresh", "revoke", "graphql", "gql", "import", "export", "QUERY", "nonsense", "",
}

func TestAnonymousIsRefused(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := dial(t, target.Endpoint)
	everythingRefused(t, c)
}

// everythingRefused requires a connection's session to be behind the wall.
func everythingRefused(t *testing.T, c *client) {
	t.Helper()
	for _, method := range walled {
		req := request{Method: method, Params: []any{"INFO FOR ROOT"}}
		switch method {
		case "attach":
			req.Session = uuid{1}
		case "commit", "cancel":
			req.Params = []any{uuid{1}}
		}
		_, err := c.do(req)
		switch method {
		case "commit", "cancel":
			// There cannot be a transaction to end.
			refused(t, err, "Validation")
		default:
			refused(t, err, "NotAllowed")
		}
	}
}

func TestAnonymousMaySay(t *testing.T) {
	t.Parallel()
	c := dial(t, devdbtest.Fresh(t).Endpoint)
	c.must("ping")
	var version string
	if err := cbor.Unmarshal(c.must("version"), &version); err != nil || version != "surrealdb-3.0.2" {
		t.Errorf("version is %q (%v)", version, err)
	}
	var used map[string]string
	if err := cbor.Unmarshal(c.must("use", "somewhere", "nowhere"), &used); err != nil {
		t.Fatal(err)
	}
	if used["namespace"] != "somewhere" || used["database"] != "nowhere" {
		t.Errorf("use answered %v", used)
	}
}

func TestFailedSignInStaysAnonymous(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := dial(t, target.Endpoint)
	for _, credentials := range []any{
		map[string]any{"user": target.User, "pass": "wrong"},
		map[string]any{"user": "nobody", "pass": target.Password},
		map[string]any{"user": target.User},
		map[string]any{"NS": "n", "DB": "d", "AC": "none", "user": target.User, "pass": target.Password},
		map[string]any{},
		"root",
	} {
		if _, err := c.call("signin", credentials); err == nil {
			t.Errorf("signed in with %v", credentials)
		}
		if _, err := c.call("signup", credentials); err == nil {
			t.Errorf("signed up with %v", credentials)
		}
	}
	if _, err := c.call("authenticate", "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.eyJJRCI6InJvb3QifQ."); err == nil {
		t.Error("authenticated with an unsigned token")
	}
	everythingRefused(t, c)
}

func TestSessionEndsWithInvalidateAndReset(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	for _, method := range []string{"invalidate", "reset"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			c := signedIn(t, target)
			c.query(nil, "RETURN 1")
			c.must(method)
			everythingRefused(t, c)
			c.must("signin", map[string]any{"user": target.User, "pass": target.Password})
			c.query(nil, "RETURN 1")
		})
	}
}

func TestFailedSignInKeepsTheSession(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := signedIn(t, target)
	if _, err := c.call("signin", map[string]any{"user": target.User, "pass": "wrong"}); err == nil {
		t.Fatal("signed in with a wrong password")
	}
	// The engine keeps who the session was, and the wall follows the engine.
	c.query(nil, "RETURN 1")
}

func TestTokenSignsIn(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	var token string
	c := dial(t, target.Endpoint)
	if err := cbor.Unmarshal(c.must("signin", map[string]any{"user": target.User, "pass": target.Password}), &token); err != nil {
		t.Fatal(err)
	}
	other := dial(t, target.Endpoint)
	other.must("use", target.Namespace, target.Database)
	other.must("authenticate", token)
	var database string
	other.query(&database, "RETURN $session.db")
	if database != target.Database {
		t.Errorf("database is %q, want what was used before signing in, %q", database, target.Database)
	}
}

// A session that has signed in may expire. Then it is the engine that refuses, and says why.
func TestExpiredSessionIsRefused(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	root := signedIn(t, target)
	root.query(nil, "DEFINE USER brief ON DATABASE PASSWORD 'brief' ROLES EDITOR DURATION FOR SESSION 1ms")
	c := dial(t, target.Endpoint)
	c.must("signin", map[string]any{"NS": target.Namespace, "DB": target.Database, "user": "brief", "pass": "brief"})
	root.query(nil, "SLEEP 1100ms") // the engine counts whole seconds
	_, err := c.call("query", "RETURN 1")
	refused(t, err, "NotAllowed")
	if want := "NotAllowed: The session has expired"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// The engine would create a namespace for anyone who uses it.
func TestAnonymousUseCreatesNothing(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := dial(t, target.Endpoint)
	c.must("use", target.Database, "d") // a unique name
	root := signedIn(t, target)
	if slices.Contains(namespaces(root), target.Database) {
		t.Fatal("an anonymous session created a namespace")
	}
	c.must("signin", map[string]any{"user": target.User, "pass": target.Password})
	c.query(nil, "RETURN 1")
	if !slices.Contains(namespaces(root), target.Database) {
		t.Fatal("what was used before signing in was forgotten")
	}
}

func namespaces(c *client) []string {
	c.tb.Helper()
	var info struct {
		Namespaces map[string]string `cbor:"namespaces"`
	}
	c.query(&info, "INFO FOR ROOT")
	names := make([]string, 0, len(info.Namespaces))
	for name := range info.Namespaces {
		names = append(names, name)
	}
	return names
}

// The engine panics, and takes the process with it, when a database is used without a namespace.
func TestUseWithoutNamespace(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	anonymous, root := dial(t, target.Endpoint), dial(t, target.Endpoint)
	root.must("signin", map[string]any{"user": target.User, "pass": target.Password})
	undefined := cbor.RawMessage{0xf7}
	none := cbor.RawMessage{0xc6, 0xf6}
	for i, namespace := range []any{nil, undefined, none, 7} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for _, c := range []*client{anonymous, root} {
				_, err := c.call("use", namespace, "database")
				refused(t, err, "Validation")
			}
		})
	}
	root.must("use", target.Namespace, target.Database)
	root.must("use", none, target.Database)
	_, err := root.call("use", nil, target.Database)
	refused(t, err, "Validation")
}

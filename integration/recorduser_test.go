package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// access lets anybody sign up as a user.
const access = `
DEFINE TABLE user SCHEMAFULL PERMISSIONS FOR select WHERE id = $auth;
DEFINE FIELD name ON user TYPE string;
DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name);`

// leaseColumns are nobody's business but the runner's.
func leaseColumns() []string {
	return []string{"assignee", "lease_until", "lease_epoch", "cancel_requested"}
}

// A user is a record user on the official SDK with its own transport: any client, in short.
type user struct {
	tb testing.TB
	db *surrealdb.DB
}

type object = map[string]any

// signUp connects as a new record user.
func signUp(tb testing.TB, db *database, name string) *user {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := surrealdb.FromEndpointURLString(ctx, db.cfg.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Errorf("close the connection of %s: %v", name, err)
		}
	})
	if err := conn.Use(ctx, db.cfg.Namespace, db.cfg.Database); err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.SignUp(ctx, object{"NS": db.cfg.Namespace, "DB": db.cfg.Database, "AC": "account", "name": name}); err != nil {
		tb.Fatal(err)
	}
	return &user{tb: tb, db: conn}
}

// try runs one statement and answers with its rows.
func (u *user) try(surql string, vars object) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results, err := surrealdb.Query[any](ctx, u.db, surql, vars)
	if err != nil {
		return nil, err
	}
	return (*results)[len(*results)-1].Result, nil
}

func (u *user) query(surql string, vars object) any {
	u.tb.Helper()
	value, err := u.try(surql, vars)
	if err != nil {
		u.tb.Fatalf("%s: %v", surql, err)
	}
	return value
}

// rows is query for statements that answer with rows.
func (u *user) rows(surql string, vars object) []object {
	u.tb.Helper()
	values, ok := u.query(surql, vars).([]any)
	if !ok {
		u.tb.Fatalf("%s: no rows", surql)
	}
	rows := make([]object, len(values))
	for i, v := range values {
		if rows[i], ok = v.(object); !ok {
			u.tb.Fatalf("%s: a row is %v", surql, v)
		}
	}
	return rows
}

// create writes a job of the user's own and answers with its id.
func (u *user) create(path string) models.RecordID {
	u.tb.Helper()
	rows := u.rows("CREATE job SET path = $path, payload = {}, assigned_to = $auth", object{"path": path})
	if len(rows) != 1 {
		u.tb.Fatalf("create a job for %s: %d rows", path, len(rows))
	}
	return rows[0]["id"].(models.RecordID)
}

// listen registers a LIVE SELECT.
func (u *user) listen(surql string) <-chan connection.Notification {
	u.tb.Helper()
	id, ok := u.query(surql, nil).(models.UUID)
	if !ok {
		u.tb.Fatalf("%s: answered with no id", surql)
	}
	events, err := u.db.LiveNotifications(id.String())
	if err != nil {
		u.tb.Fatal(err)
	}
	return events
}

// until takes events until all of the states have shown. Their order says nothing: the database's
// notifications overtake each other.
func (u *user) until(events <-chan connection.Notification, states ...string) []object {
	u.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	missing := slices.Clone(states)
	var seen []object
	for len(missing) > 0 {
		select {
		case event := <-events:
			result, ok := event.Result.(object)
			if !ok {
				u.tb.Fatalf("an event carries %v", event.Result)
			}
			seen = append(seen, result)
			missing = slices.DeleteFunc(missing, func(state string) bool { return result["status"] == state })
		case <-ctx.Done():
			u.tb.Fatalf("no event shows %v; seen: %v", missing, seen)
		}
	}
	return seen
}

// TestRecordUserSeesProgress: somebody who signed up creates a job and sees it go from pending over
// processing to success, without ever seeing who holds it.
func TestRecordUserSeesProgress(t *testing.T) {
	t.Parallel()
	db, g := fresh(t), newGate(t)
	db.exec(access, nil)
	b := newBackend(t, func(c call) (int, any) {
		g.wait(c)
		return http.StatusOK, object{"pages": 3}
	})
	start(t, "n", db.cfg, b.config())
	ann, bob := signUp(t, db, "ann"), signUp(t, db, "bob")
	hers, his := ann.listen("LIVE SELECT * FROM job WHERE assigned_to = $auth"), bob.listen("LIVE SELECT * FROM job")
	id := ann.create("/task")
	seen := ann.until(hers, "pending", "processing")
	running := ann.rows("SELECT * FROM $id", object{"id": id})
	g.Open()
	seen = append(seen, ann.until(hers, "success")...)
	if last := seen[len(seen)-1]; fmt.Sprint(last["result"]) != "map[pages:3]" || last["id"] != id {
		t.Errorf("the last event shows %v", last)
	}
	stored := ann.rows("SELECT * FROM job", nil)
	if len(stored) != 1 || len(running) != 1 {
		t.Fatalf("she sees %d jobs, and %d while it ran", len(stored), len(running))
	}
	for _, payload := range append(seen, running[0], stored[0]) {
		for _, column := range leaseColumns() {
			if value, ok := payload[column]; ok && value != nil {
				t.Errorf("she sees %s = %v of a job that is %v", column, value, payload["status"])
			}
		}
	}
	if holders := ann.query("SELECT VALUE assignee FROM job WHERE assignee != NONE OR lease_epoch > 0", nil); fmt.Sprint(holders) != "[]" {
		t.Errorf("a condition tells her %v", holders)
	}
	bob.create("/task") // proves that his subscription hears
	for _, event := range bob.until(his, "success") {
		if event["id"] == id {
			t.Errorf("another user heard of her job: %v", event)
		}
	}
	if rows := bob.rows("SELECT * FROM job WHERE id = $id", object{"id": id}); len(rows) != 0 {
		t.Errorf("another user sees her job: %v", rows)
	}
}

// TestRecordUserChangesNothing: what users may not write is refused with no row, as the database does
// it, and stays as it was.
func TestRecordUserChangesNothing(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	db.exec(access, nil)
	start(t, "n", db.cfg, b.config())
	ann, bob := signUp(t, db, "ann"), signUp(t, db, "bob")
	id := ann.create("/task")
	db.settled(1)
	before := db.job(id)
	sets := []string{
		"status = 'pending'", "status = 'success'", "retries = 0", "max_retries = 100", "retry_strategy = 'exponential'",
		"timeout = 3600", "delay = 1", "run_at = time::now()", "lease_epoch = 0", "lease_until = NONE", "assignee = 'ann'",
		"cancel_requested = time::now()", "result = 'mine'", "errors = []", "path = '/other'", "payload = 1", "assigned_to = NONE",
		"created_at = time::now()", "updated_at = time::now()",
	}
	for _, u := range []*user{ann, bob} {
		for _, set := range sets {
			u.denied("UPDATE $id SET "+set, object{"id": id})
			u.denied("UPDATE job SET "+set, nil)
		}
		u.denied("DELETE $id RETURN BEFORE", object{"id": id})
		u.denied("UPDATE $id MERGE { status: 'pending' }", object{"id": id})
		u.denied("UPDATE $id PATCH [{ op: 'replace', path: '/status', value: 'pending' }]", object{"id": id})
	}
	for _, set := range []string{
		"assigned_to = $auth, status = 'success'", "assigned_to = $auth, status = 'processing'", "assigned_to = $auth, retries = -100",
		"assigned_to = user:somebody", "assigned_to = NONE", "assigned_to = $auth, created_at = d'2000-01-01T00:00:00Z'",
		"assigned_to = $auth, errors = [{ code: 1 }]",
	} {
		ann.denied("CREATE job SET path = '/task', "+set, nil)
	}
	for _, id := range []string{"string::repeat('z', 301)", "[string::repeat('z', 301)]", "{ z: string::repeat('z', 301) }"} {
		ann.denied("CREATE type::record('job', "+id+") SET path = '/task', assigned_to = $auth", nil)
	}
	ann.denied("CREATE job SET path = '/' + string::repeat('z', 8192), assigned_to = $auth", nil)
	for _, call := range []string{
		"fn::spky::job::succeed([{ id: $id, epoch: 1, result: 1 }])",
		"fn::spky::job::settle([{ id: $id, epoch: 1, status: 'failed', retries: 9, wait: 0s, result: 1, error: NONE }])",
		"fn::spky::job::reap([$id], 'cancelled')", "fn::spky::job::cancel($id, 'cancelled')", "fn::spky::job::retry($id)",
		"fn::spky::node::beat({ node: 'evil', host: '', pid: 1, version: '', listen: NONE, draining: false, backends: [] })",
	} {
		_, _ = ann.try("RETURN "+call, object{"id": id}) // whatever it answers: nothing may change
	}
	if after := db.job(id); !reflect.DeepEqual(after, before) {
		t.Errorf("the row went from\n%+v to\n%+v", before, after)
	}
	if jobs := db.jobs(""); len(jobs) != 1 {
		t.Errorf("there are %d jobs", len(jobs))
	}
	if nodes := query[[]string](db, "SELECT VALUE node FROM _00_node", nil); !slices.Equal(nodes, []string{"n"}) {
		t.Errorf("the nodes are %v", nodes)
	}
}

// denied checks that a statement answers with no row.
func (u *user) denied(surql string, vars object) {
	u.tb.Helper()
	value, err := u.try(surql, vars)
	if rows, ok := value.([]any); err != nil || !ok || len(rows) != 0 {
		u.tb.Errorf("%s: answered %v, %v; want no row", surql, value, err)
	}
}

// TestRecordUserLeaseColumnsAtCreate: columns of the runner that a user sets at CREATE are dropped, and
// the job runs when and as it is due, not as the user wished.
func TestRecordUserLeaseColumnsAtCreate(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	db.exec(access, nil)
	start(t, "n", db.cfg, b.config())
	ann := signUp(t, db, "ann")
	for i, set := range []string{
		"run_at = time::now() + 1h", "lease_until = time::now() + 1h", "lease_epoch = 9000", "assignee = 'nobody'",
		"cancel_requested = time::now()", "result = 'mine'", "max_retries = -1", "timeout = 999999999",
	} {
		if rows := ann.rows("CREATE job SET path = '/task', assigned_to = $auth, "+set, nil); len(rows) != 1 {
			t.Fatalf("CREATE with %s: %v", set, rows)
		}
		db.settled(i + 1)
	}
	for _, r := range db.jobs("") {
		if r.Epoch == nil || *r.Epoch != 1 || r.Result == "mine" || r.Retries != 0 {
			t.Errorf("a job as stored: %+v", r)
		}
	}
}

// TestRecordUserSeesNoPlatformTables: the platform's own tables are closed to users.
func TestRecordUserSeesNoPlatformTables(t *testing.T) {
	t.Parallel()
	db, b := fresh(t), newBackend(t, nil)
	db.exec(access, nil)
	start(t, "n", db.cfg, b.config())
	ann := signUp(t, db, "ann")
	info := query[struct {
		Tables map[string]string `json:"tables"`
	}](db, "INFO FOR DB", nil)
	found := 0
	for table := range info.Tables {
		if !strings.HasPrefix(table, "_00_") {
			continue
		}
		found++
		ann.denied("SELECT * FROM "+table, nil)
		ann.denied("CREATE "+table+" SET a = 1", nil)
		ann.denied("UPDATE "+table+" SET a = 1", nil)
		ann.denied("DELETE "+table+" RETURN BEFORE", nil)
	}
	if found < 4 {
		t.Errorf("only %d tables of the platform", found)
	}
	if nodes := query[[]string](db, "SELECT VALUE node FROM _00_node", nil); len(nodes) != 1 {
		t.Errorf("the nodes are %v", nodes)
	}
}

// TestPathsLeadNowhereElse: whatever a user writes as path, no request reaches another host or the
// platform's own routes of the backend; the job fails as refused.
func TestPathsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	var sprung atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sprung.Add(1) }))
	t.Cleanup(trap.Close)
	host := strings.TrimPrefix(trap.URL, "http://")
	db, b := fresh(t), newBackend(t, nil)
	db.exec(access, nil)
	cfg := b.config()
	cfg.BaseURL = cfg.BaseURL.JoinPath("/api")
	start(t, "n", db.cfg, cfg)
	ann := signUp(t, db, "ann")
	paths := []string{
		"/__spky/workflow/x", "/__spky", "/__SPKY/workflow/x", "/%5f%5fspky/workflow/x", "//__spky/workflow/x", "/./__spky/x",
		"/a/../__spky/x", "/a/%2e%2e/__spky/x", "/__spky%2fworkflow", "\\__spky\\x", "/\\__spky/x",
		trap.URL + "/x", "//" + host + "/x", "/\\" + host, "@" + host, "/@" + host + "/x", ":@" + host, host, "http:" + host,
		"/x\r\nHost: " + host, "/%0d%0aHost:%20" + host, "/http://" + host + "/", "?@" + host, "#@" + host, "", " ", "relative", "..",
		"/..", "/../x", "/%2e%2e/x", "/a/..%2f..%2fx", "/..;/x", "/\x00", "/%00", "/%zz", "/" + strings.Repeat("a", 3000),
	}
	ids := map[string]string{}
	for _, path := range paths {
		id := ann.create(path)
		ids[id.String()] = path
	}
	eventually(t, "all jobs have ended", func() (bool, any) {
		counts := db.census()
		return counts["failed"]+counts["success"] == len(ids), counts
	})
	for _, r := range db.jobs("") {
		path := ids[r.ID.String()]
		if path == "/..;/x" { // a name like any other
			continue
		}
		if r.Status != "failed" || len(r.Errors) != 1 || r.Errors[0].Code != "refused" {
			t.Errorf("path %.60q: %s %+v", path, r.Status, r.Errors)
		}
	}
	for _, c := range b.journal() {
		if c.Path != "/api/..;/x" {
			t.Errorf("the backend was asked for %q", c.Path)
		}
	}
	if sprung.Load() != 0 {
		t.Errorf("%d requests went to another host", sprung.Load())
	}
}

package migrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// world is a project on disk and a database of its own.
type world struct {
	t       *testing.T
	db      *surreal.Client
	project Project
	done    []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	target := devdbtest.Fresh(t)
	w := &world{t: t}
	w.db = dial(t, target)
	dir := t.TempDir()
	w.project = Project{Dir: dir, Schema: filepath.Join(dir, "src", "schema.surql"), Migrations: filepath.Join(dir, "migrations")}
	return w
}

func dial(t *testing.T, target devdbtest.Target) *surreal.Client {
	t.Helper()
	db, stop, err := surreal.Connect(t.Context(), surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace,
		Database: target.Database, Username: target.User, Password: target.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	return db
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.project.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// outbox adds an outbox table, with the schema that spky add api writes.
func (w *world) outbox(table string) {
	w.t.Helper()
	text, err := config.OutboxSchema(table, config.OutboxOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	name := "src/outbox/" + table + ".surql"
	w.write(name, text)
	w.project.Outboxes = append(w.project.Outboxes, filepath.Join(w.project.Dir, name))
	w.project.Tables = append(w.project.Tables, table)
}

func (w *world) apply(o Options) error {
	w.done = nil
	o.Done = func(i Item) { w.done = append(w.done, i.Name) }
	return Apply(context.Background(), w.db, w.project, o)
}

func (w *world) mustApply() {
	w.t.Helper()
	if err := w.apply(Options{}); err != nil {
		w.t.Fatalf("apply: %v", err)
	}
}

func (w *world) states() map[string]State {
	w.t.Helper()
	plan, err := Look(context.Background(), w.db, w.project)
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]State{}
	for _, i := range plan.Items {
		found[i.Name] = i.State
	}
	return found
}

func (w *world) query(surql string) []any {
	w.t.Helper()
	values, err := w.db.Values(context.Background(), surql, nil)
	if err != nil {
		w.t.Fatalf("%s: %v", surql, err)
	}
	return values
}

func (w *world) definition(table, field string) string {
	w.t.Helper()
	info, ok := w.query("INFO FOR TABLE " + table)[0].(map[string]any)
	if !ok {
		w.t.Fatalf("no info of %s", table)
	}
	fields, _ := info["fields"].(map[string]any)
	def, _ := fields[field].(string)
	return def
}

func TestApplyIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("src/schema.surql", "-- people\nDEFINE TABLE person SCHEMAFULL;\nDEFINE FIELD name ON person TYPE string;\n")
	w.write("migrations/20250101120000_first.surql", "CREATE person:one SET name = 'one';")
	w.write("migrations/20250102120000_second.surql", "BEGIN;\nUPDATE person:one SET name = 'two';\nCOMMIT;\n")
	w.outbox("job")
	for name, state := range w.states() {
		if state != Pending {
			t.Errorf("%s is %s before anything was applied", name, state)
		}
	}
	w.mustApply()
	if got := len(w.done); got != 6 {
		t.Errorf("applied %d things, want 6: %v", got, w.done)
	}
	for name, state := range w.states() {
		if state != Applied {
			t.Errorf("%s is %s after everything was applied", name, state)
		}
	}
	w.mustApply()
	if len(w.done) != 0 {
		t.Errorf("applied again: %v", w.done)
	}
	row, ok := w.query("SELECT VALUE name FROM ONLY person:one")[0].(string)
	if !ok || row != "two" {
		t.Errorf("person:one is %q, want two: migrations run in order, once", row)
	}
}

func TestSchemaIsAppliedAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("src/schema.surql", "DEFINE TABLE person SCHEMAFULL;\nDEFINE FIELD name ON person TYPE string;\nDEFINE SEQUENCE numbers;")
	w.mustApply()
	w.query("CREATE person:one SET name = 'one'; RETURN sequence::nextval('numbers')")
	w.write("src/schema.surql", "DEFINE TABLE person SCHEMAFULL;\nDEFINE FIELD name ON person TYPE string | int;\nDEFINE SEQUENCE numbers;")
	if got := w.states()["src/schema.surql"]; got != Pending {
		t.Errorf("a changed schema is %s, want pending", got)
	}
	w.mustApply()
	if got := w.definition("person", "name"); !strings.Contains(got, "int") {
		t.Errorf("field name is %q, want the new type", got)
	}
	if rows, _ := w.query("SELECT * FROM person")[0].([]any); len(rows) != 1 {
		t.Errorf("%d rows after the schema changed, want the 1 there was", len(rows))
	}
	if next := w.query("RETURN sequence::nextval('numbers')")[0]; next == uint64(0) {
		t.Error("the sequence began anew")
	}
}

func TestObjectsThatExistAlreadyAreNoFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.query("DEFINE TABLE person; DEFINE FIELD name ON person TYPE string; DEFINE INDEX by_name ON person FIELDS name")
	w.write("src/schema.surql", "DEFINE TABLE person SCHEMAFULL;\nDEFINE FIELD name ON person TYPE string;\nDEFINE INDEX by_name ON person FIELDS name;\nDEFINE FUNCTION fn::x() { RETURN 1; };")
	w.write("migrations/20250101120000_same.surql", "DEFINE TABLE person SCHEMAFULL; DEFINE FIELD name ON person TYPE string;")
	w.mustApply()
}

func TestDeclaredHasTheLastWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("src/schema.surql", "DEFINE TABLE person; DEFINE FIELD name ON person TYPE string | int;")
	w.write("migrations/20250101120000_old.surql", "DEFINE FIELD name ON person TYPE string;")
	w.mustApply()
	if got := w.definition("person", "name"); !strings.Contains(got, "int") {
		t.Errorf("field name is %q, want what the schema declares", got)
	}
}

func TestUnchangedAccessKeepsItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const access = "DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name);"
	w.write("src/schema.surql", "DEFINE TABLE user;\n"+access)
	w.mustApply()
	w.write("src/schema.surql", "DEFINE TABLE user;\nDEFINE TABLE other;\n"+access)
	plan, err := Look(t.Context(), w.db, w.project)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range plan.Items {
		if i.Kind == "schema" && (strings.Contains(i.SurrealQL, "ACCESS") || !strings.Contains(i.SurrealQL, "TABLE OVERWRITE other")) {
			t.Errorf("the plan is %q, want the new table and no access", i.SurrealQL)
		}
	}
	w.write("src/schema.surql", "DEFINE TABLE user;\n"+strings.Replace(access, "SIGNIN", "SIGNIN /* new */", 1))
	w.mustApply()
	if w.states()["src/schema.surql"] != Applied {
		t.Error("the changed access was not applied")
	}
}

func TestFailureAppliesNothingOfTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_good.surql", "CREATE thing:good;")
	w.write("migrations/20250102120000_bad.surql", "CREATE thing:bad;\n\n-- wrong\nTHROW 'no'\n;")
	err := w.apply(Options{})
	var fault *FileError
	if !errors.As(err, &fault) || fault.File != "migrations/20250102120000_bad.surql" || fault.Line != 4 {
		t.Fatalf("error %v, want one of the bad file's line 4", err)
	}
	if rows, _ := w.query("SELECT VALUE id FROM thing")[0].([]any); len(rows) != 1 {
		t.Errorf("%d rows, want 1: the good migration's", len(rows))
	}
	states := w.states()
	if states["migrations/20250101120000_good.surql"] != Applied || states["migrations/20250102120000_bad.surql"] != Pending {
		t.Errorf("states %v, want the good one applied and the bad one pending", states)
	}
	w.write("migrations/20250102120000_bad.surql", "CREATE thing:bad;")
	w.mustApply()
}

func TestParseErrorNamesTheLineOfTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_bad.surql", "-- one\nCREATE thing:a;\n\nCREATE thing:b SETT x = 1;\n")
	err := w.apply(Options{})
	if err == nil || !strings.Contains(err.Error(), "[4:") {
		t.Errorf("error %v, want one that names line 4", err)
	}
}

func TestDriftIsRefusedUntilAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_first.surql", "CREATE thing:one;")
	w.mustApply()
	w.write("migrations/20250101120000_first.surql", "CREATE thing:uno;")
	w.write("migrations/20250102120000_second.surql", "CREATE thing:two;")
	if got := w.states()["migrations/20250101120000_first.surql"]; got != Drift {
		t.Errorf("the changed migration is %s, want drift", got)
	}
	var drift *DriftError
	if err := w.apply(Options{}); !errors.As(err, &drift) || len(w.done) != 0 {
		t.Fatalf("error %v after %v, want drift and nothing done", err, w.done)
	}
	if err := w.apply(Options{FixChecksums: true}); err != nil {
		t.Fatal(err)
	}
	rows, _ := w.query("SELECT VALUE id FROM thing")[0].([]any)
	if len(rows) != 2 {
		t.Errorf("rows %v, want one and two: accepting a change runs nothing of it", rows)
	}
	w.mustApply()
}

func TestLineEndsAreNoDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_first.surql", "CREATE thing:one;\nCREATE thing:two;\n")
	w.mustApply()
	w.write("migrations/20250101120000_first.surql", "CREATE thing:one;\r\nCREATE thing:two;\r\n")
	w.mustApply()
}

func TestMissingFileIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_first.surql", "CREATE thing:one;")
	w.mustApply()
	if err := os.Remove(filepath.Join(w.project.Migrations, "20250101120000_first.surql")); err != nil {
		t.Fatal(err)
	}
	if got := w.states()["20250101120000_first"]; got != Missing {
		t.Errorf("states %v, want a missing one", w.states())
	}
	w.mustApply()
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	w := &world{t: t, db: dial(t, target)}
	dir := t.TempDir()
	w.project = Project{Dir: dir, Schema: filepath.Join(dir, "schema.surql"), Migrations: filepath.Join(dir, "migrations")}
	w.write("schema.surql", "DEFINE TABLE ran; DEFINE FIELD by ON ran TYPE string;")
	w.write("migrations/20250101120000_one.surql", "CREATE ran SET by = 'one';")
	w.write("migrations/20250102120000_two.surql", "CREATE ran SET by = 'two';")
	w.outbox("job")
	var all errgroup.Group
	for range 6 {
		db := dial(t, target)
		all.Go(func() error { return Apply(context.Background(), db, w.project, Options{}) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if rows, _ := w.query("SELECT VALUE by FROM ran")[0].([]any); len(rows) != 2 {
		t.Errorf("ran %v, want each migration once", rows)
	}
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"two transactions": {"migrations/20250101120000_x.surql", "BEGIN; CREATE a; COMMIT; BEGIN; CREATE b; COMMIT;", "COMMIT within the file"},
		"use":              {"migrations/20250101120000_x.surql", "CREATE a;\nUSE DB other;", "_x.surql:2: USE"},
		"name":             {"migrations/first.surql", "CREATE a;", "its name is not"},
		"remove in schema": {"src/schema.surql", "DEFINE TABLE a;\nREMOVE TABLE b;", "schema.surql:2: REMOVE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(c.file, c.text)
			err := w.apply(Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if rows, _ := w.query("INFO FOR DB")[0].(map[string]any)["tables"].(map[string]any); len(rows) != 0 {
				t.Errorf("tables %v, want nothing touched", rows)
			}
		})
	}
}

func TestSameTimeStamp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("migrations/20250101120000_a.surql", "CREATE a;")
	w.write("migrations/20250101120000_b.surql", "CREATE b;")
	if err := w.apply(Options{}); err == nil || !strings.Contains(err.Error(), "same time stamp") {
		t.Errorf("error %v, want one about the same time stamp", err)
	}
}

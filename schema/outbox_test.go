package schema_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// definitions are the table's fields and indexes as the database prints them.
func (r *rig) definitions() map[string]string {
	r.tb.Helper()
	info := r.object("INFO FOR TABLE job")
	all := map[string]string{}
	for _, kind := range []string{"fields", "indexes"} {
		for name, def := range info[kind].(map[string]any) {
			all[kind+" "+name] = def.(string)
		}
	}
	return all
}

// TestPrepareOnlyAdds prepares every kind of table that people have, with rows in it, and takes an old
// and a new job of it through its life.
func TestPrepareOnlyAdds(t *testing.T) {
	t.Parallel()
	tables := map[string]struct {
		ddl       string
		sets      string // columns that this table makes a job have
		cancelled string
	}{
		"upstream's first":    {upstreams(t, "minimal"), "assigned_to = user:1", "failed"},
		"upstream's later":    {upstreams(t, "full"), "path = '/x'", "failed"},
		"ours":                {ours(t), "path = '/x'", "cancelled"},
		"schemaless":          {"DEFINE TABLE job SCHEMALESS", "status = 'pending'", "cancelled"},
		"schemaless, typed":   {"DEFINE TABLE job SCHEMALESS; DEFINE FIELD path ON job TYPE string; DEFINE FIELD retries ON job TYPE int DEFAULT 0", "status = 'pending'", "cancelled"},
		"with a run_at":       {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending'; DEFINE FIELD run_at ON job TYPE option<datetime>;", "path = '/x'", "cancelled"},
		"bare":                {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending'", "path = '/x'", "cancelled"},
		"with other columns":  {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending'; DEFINE FIELD note ON job TYPE option<string>; DEFINE INDEX n ON job FIELDS note", "note = 'n'", "cancelled"},
		"errors are objects":  {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending'; DEFINE FIELD errors ON job TYPE array<object> DEFAULT []", "path = '/x'", "cancelled"},
		"errors are anything": {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending'; DEFINE FIELD errors ON job TYPE any", "path = '/x'", "cancelled"},
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, "")
			r.exec(table.ddl, nil)
			r.exec("CREATE job:before SET path = '/x', "+table.sets, nil)
			before := r.definitions()
			missing, err := schema.InspectOutbox(r.ctx, r.db, "job")
			if err != nil || len(missing.Missing) == 0 || !maps.Equal(before, r.definitions()) {
				t.Fatalf("inspect: %v, missing %v", err, missing.Missing)
			}
			box := r.prepare()
			if len(box.Missing) > 0 || box.Cancelled != table.cancelled || box.Table != "job" {
				t.Errorf("prepared: missing %v, cancelled is %q", box.Missing, box.Cancelled)
			}
			after := r.definitions()
			for object, def := range before {
				if after[object] != def {
					t.Errorf("%s was %q and is %q", object, def, after[object])
				}
			}
			if again := r.prepare(); len(again.Missing) > 0 || !maps.Equal(after, r.definitions()) {
				t.Error("preparing again changes the table")
			}
			r.exec("CREATE job:after SET path = '/x', "+table.sets, nil)
			r.live(box, "job:before", "job:after")
		})
	}
}

// live takes jobs through claim, failure, release, success and cancellation.
func (r *rig) live(box schema.Outbox, keys ...string) {
	r.tb.Helper()
	table := outbox.New(outbox.Config{DB: r.db, Name: "job", Cancelled: outbox.Status(box.Cancelled)})
	if _, _, err := table.Adopt(r.ctx); err != nil {
		r.tb.Errorf("adopt: %v", err)
	}
	for _, key := range keys {
		id, err := surreal.ParseID(key)
		if err != nil {
			r.tb.Fatal(err)
		}
		for attempt, status := range []outbox.Status{outbox.Pending, outbox.Failed} {
			jobs, refused, err := table.Claim(r.ctx, "a", []surreal.RecordID{id})
			if err != nil || len(jobs) != 1 || len(refused) > 0 || jobs[0].Path != "/x" || jobs[0].Attempt() != attempt+1 {
				r.tb.Errorf("%s: claimed %+v, refused %v, %v", key, jobs, refused, err)
				return
			}
			settled, err := table.Settle(r.ctx, []outbox.Outcome{{
				ID: id, Epoch: jobs[0].Epoch, Status: status, Counts: true,
				Failure: &outbox.Failure{Code: 500, Reason: "r", Attempt: attempt + 1},
			}})
			if err != nil || !settled[0].Written || settled[0].Err != nil {
				r.tb.Errorf("%s: settled as %+v, %v", key, settled, err)
			}
		}
		job := map[string]any{"id": id, "cancelled": box.Cancelled}
		if row := r.one("SELECT status, errors FROM ONLY $id", job); row.Status != "failed" || len(row.Errors) != 2 {
			r.tb.Errorf("%s is %+v; want two errors", key, row)
		}
		for _, verb := range []string{"fn::spky::job::retry($id)", "fn::spky::job::cancel($id, $cancelled)"} {
			if was := r.one("RETURN "+verb, job); !was.Changed {
				r.tb.Errorf("%s: %s: %+v", key, verb, was)
			}
		}
		if row := r.one("SELECT status, errors FROM ONLY $id", job); row.Status != box.Cancelled {
			r.tb.Errorf("%s is %+v; want %s", key, row, box.Cancelled)
		}
	}
}

// A lived is what the database says of a job, and of a verb on it.
type lived struct {
	Status  string `json:"status"`
	Errors  []any  `json:"errors"`
	Changed bool   `json:"changed"`
}

func (r *rig) one(surql string, vars map[string]any) lived {
	r.tb.Helper()
	said, err := surreal.First[lived](r.ctx, r.db.Retrying(), surql, vars)
	if err != nil {
		r.tb.Fatalf("%s: %v", surql, err)
	}
	return said
}

func TestFindings(t *testing.T) {
	t.Parallel()
	const whole = "DEFINE TABLE job SCHEMAFULL; DEFINE FIELD path ON job TYPE string; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string DEFAULT 'pending';"
	cases := map[string]struct {
		ddl   string
		found []string // columns
		fatal bool
	}{
		"ours":             {ours(t), nil, false},
		"upstream's first": {upstreams(t, "minimal"), []string{"assigned_to", "created_at"}, false},
		"upstream's later": {upstreams(t, "full"), nil, false},
		"no path":          {"DEFINE TABLE job SCHEMAFULL; DEFINE FIELD payload ON job TYPE any; DEFINE FIELD status ON job TYPE string", []string{"path"}, true},
		"nothing":          {"DEFINE TABLE job SCHEMAFULL", []string{"path", "payload", "status"}, true},
		"schemaless":       {"DEFINE TABLE job SCHEMALESS", nil, false},
		"narrow payload":   {whole + "DEFINE FIELD OVERWRITE payload ON job TYPE object", []string{"payload"}, false},
		"own run_at":       {whole + "DEFINE FIELD run_at ON job TYPE option<datetime>", []string{"run_at"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, "")
			r.exec(c.ddl, nil)
			box, err := schema.PrepareOutbox(r.ctx, r.db, "job")
			if (err != nil) != c.fatal {
				t.Errorf("prepare: %v, want an error %t", err, c.fatal)
			}
			var columns []string
			for _, f := range box.Findings {
				columns = append(columns, f.Column)
				if f.Fatal != c.fatal || f.Message == "" || f.Remedy == "" || !strings.Contains(f.String(), f.Column) {
					t.Errorf("finding %+v", f)
				}
			}
			slices.Sort(columns)
			if !slices.Equal(columns, c.found) {
				t.Errorf("found %v, want %v", columns, c.found)
			}
			if c.fatal && len(r.definitions()) > 3 {
				t.Error("a table that is no outbox was changed")
			}
		})
	}
}

// TestARefusedPreparationTellsWhatToRun has a database user who may read and write, and not define.
func TestARefusedPreparationTellsWhatToRun(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	r.exec(upstreams(t, "minimal")+"; DEFINE USER looker ON DATABASE PASSWORD 'p' ROLES VIEWER", nil)
	cfg := r.cfg
	cfg.Username, cfg.Password = "looker", "p"
	db := r.connect(cfg)
	before := r.definitions()
	_, err := schema.PrepareOutbox(r.ctx, db, "job")
	var refused *schema.RefusedError
	if !errors.As(err, &refused) || refused.Table != "job" || refused.Err == nil || !strings.Contains(err.Error(), refused.DDL) {
		t.Fatalf("prepare: %v", err)
	}
	if !maps.Equal(before, r.definitions()) {
		t.Error("the table was changed")
	}
	box, err := schema.InspectOutbox(r.ctx, r.db, "job")
	if err != nil || refused.DDL != strings.Join(box.Missing, "\n") {
		t.Errorf("the error says to run\n%s\nwant\n%s", refused.DDL, strings.Join(box.Missing, "\n"))
	}
	for _, line := range strings.Split(refused.DDL, "\nDEFINE ") {
		if name := strings.Fields(line)[3]; slices.Contains([]string{"path", "status", "retries", "created_at", "errors"}, name) {
			t.Errorf("the error says to define %s, which is there", name)
		}
	}
	r.exec(refused.DDL, nil)
	if box, err := schema.PrepareOutbox(r.ctx, db, "job"); err != nil || len(box.Missing) > 0 {
		t.Errorf("after somebody ran it: %v, missing %v", err, box.Missing)
	}
}

func TestTableNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"job": true, "a": true, "job_2": true, strings.Repeat("a", 64): true,
		"": false, "Job": false, "2job": false, "_00_node": false, "_job": false, "job-x": false, "job`; DELETE job": false, "jöb": false, "job ": false, "job\n": false, strings.Repeat("a", 65): false,
	} {
		if err := schema.CheckTableName(name); (err == nil) != good || err != nil && !errors.Is(err, schema.ErrTableName) {
			t.Errorf("%q: %v", name, err)
		}
		if !good {
			r := newRig(t)
			if _, err := schema.PrepareOutbox(r.ctx, r.db, name); !errors.Is(err, schema.ErrTableName) {
				t.Errorf("prepare %q: %v", name, err)
			}
		}
	}
	r := newRig(t)
	if _, err := schema.InspectOutbox(r.ctx, r.db, "job"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a table that is not there: %v", err)
	}
}

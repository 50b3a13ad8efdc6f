package schema_test

import (
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// settled fails where the database differs from what was applied.
func (r *rig) settled() {
	r.tb.Helper()
	found, err := schema.Verify(r.ctx, r.db)
	if err != nil || len(found) > 0 {
		r.tb.Errorf("verify finds %v, %v", found, err)
	}
}

func TestApplyOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if found, err := schema.Verify(r.ctx, r.db); err != nil || len(found) != 1 || found[0].Have != "" || !strings.Contains(found[0].String(), "missing") {
		t.Errorf("verify of an empty database finds %v, %v", found, err)
	}
	for round := range 3 {
		applied, err := schema.Apply(r.ctx, r.db)
		if err != nil || applied.Version != schema.Version || applied.Changed != (round == 0) || applied.Newer {
			t.Fatalf("round %d: %+v, %v", round, applied, err)
		}
		r.settled()
	}
	info := r.object("INFO FOR DB")
	tables, functions := info["tables"].(map[string]any), info["functions"].(map[string]any)
	for _, name := range schema.Tables() {
		if _, ok := tables[name]; !ok {
			t.Errorf("table %s is missing", name)
		}
	}
	for _, name := range schema.Functions() {
		if _, ok := functions[name]; !ok {
			t.Errorf("function %s is missing", name)
		}
	}
	if len(schema.Tables()) < 4 || len(schema.Functions()) < 6 {
		t.Errorf("%d tables and %d functions", len(schema.Tables()), len(schema.Functions()))
	}
}

// TestReport50ManyApplyAtOnceOnAnEmptyDatabase has processes start at the same moment.
func TestReport50ManyApplyAtOnceOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(ours(t), nil)
	const processes = 5
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range processes {
		db := r.connect(r.cfg)
		wg.Go(func() {
			<-start
			if applied, err := schema.Apply(r.ctx, db); err != nil || applied.Version != schema.Version {
				t.Errorf("apply: %+v, %v", applied, err)
			}
			if box, err := schema.PrepareOutbox(r.ctx, db, "job"); err != nil || len(box.Missing) > 0 {
				t.Errorf("prepare: %v, missing %v", err, box.Missing)
			}
		})
	}
	close(start)
	wg.Wait()
	r.settled()
	if applied, err := schema.Apply(r.ctx, r.db); err != nil || applied.Changed {
		t.Errorf("applied once more: %+v, %v", applied, err)
	}
}

func TestApplyKeepsRows(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	r.exec("CREATE _00_migrations SET version = '1', name = 'n', checksum = 'c'", nil)
	r.exec("DELETE _00_schema:platform", nil)
	if applied, err := schema.Apply(r.ctx, r.db); err != nil || !applied.Changed {
		t.Fatalf("%+v, %v", applied, err)
	}
	r.settled()
	if rows, err := surreal.First[[]any](r.ctx, r.db, "SELECT * FROM _00_migrations", nil); err != nil || len(rows) != 1 {
		t.Errorf("%d migrations are left, %v", len(rows), err)
	}
}

func TestAnOlderOrOtherSchemaIsBroughtUp(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"older":          "UPDATE _00_schema:platform SET version = version - 1",
		"other checksum": "UPDATE _00_schema:platform SET checksum = 'x'",
	} {
		r := newApplied(t, "")
		r.exec(change+"; REMOVE FUNCTION fn::spky::job::retry; DEFINE FIELD OVERWRITE host ON _00_node TYPE any", nil)
		if found, err := schema.Verify(r.ctx, r.db); err != nil || len(found) != 3 {
			t.Errorf("%s: verify finds %v, %v", name, found, err)
		}
		if applied, err := schema.Apply(r.ctx, r.db); err != nil || !applied.Changed {
			t.Errorf("%s: %+v, %v", name, applied, err)
		}
		r.settled()
	}
}

func TestANewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	r.exec("UPDATE _00_schema:platform SET version = 999, checksum = 'new'; DEFINE FUNCTION OVERWRITE fn::spky::job::retry($id: record) { RETURN 'newer' }", nil)
	applied, err := schema.Apply(r.ctx, r.db)
	if err != nil || !applied.Newer || applied.Changed || applied.Version != 999 {
		t.Errorf("%+v, %v", applied, err)
	}
	if got, err := surreal.First[string](r.ctx, r.db, "RETURN fn::spky::job::retry(job:1)", nil); err != nil || got != "newer" {
		t.Errorf("the newer function answers %q, %v", got, err)
	}
}

func TestApplyWithoutRightsTellsSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE USER looker ON DATABASE PASSWORD 'p' ROLES VIEWER", nil)
	cfg := r.cfg
	cfg.Username, cfg.Password = "looker", "p"
	if applied, err := schema.Apply(r.ctx, r.connect(cfg)); err == nil {
		t.Errorf("a viewer applied the schema: %+v", applied)
	}
}

package integration_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
)

// TestUpstreamTables: tables that earlier templates wrote work unchanged. Jobs of their users succeed,
// are retried, fail and are cancelled, rows that were there before run too, and no definition that the
// user's file made is another afterwards.
func TestUpstreamTables(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"minimal", "full"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testUpstream(t, kind == "full")
		})
	}
}

func testUpstream(t *testing.T, full bool) {
	kind := "minimal"
	if full {
		kind = "full"
	}
	ddl, err := os.ReadFile("testdata/upstream_" + kind + ".surql")
	if err != nil {
		t.Fatal(err)
	}
	db, b := empty(t), newBackend(t, func(c call) (int, any) {
		switch {
		case c.Path == "/never", c.Path == "/once" && c.Attempt == 1:
			return http.StatusInternalServerError, object{"attempt": c.Attempt}
		}
		return http.StatusOK, object{"path": c.Path}
	})
	db.exec(access, nil)
	db.exec(string(ddl), nil)
	definitions := db.definitions()
	ann := signUp(t, db, "ann")
	ids := map[string]surreal.RecordID{"before": ann.create("/task")}
	start(t, "n", db.cfg, b.config())
	for name, path := range map[string]string{"plain": "/task", "retried": "/once", "hopeless": "/never"} {
		ids[name] = ann.create(path)
	}
	ids["cancelled"] = db.create(map[string]any{"assigned_to": surreal.RecordID{Table: "user", ID: "x"}, "path": "/never", "max_retries": 100, "retry_strategy": "exponential"})
	b.reached(1 + 1 + 2 + 3 + 1)
	jobs := admin.NewJobs(admin.JobsConfig{DB: db.client, Tables: []string{"job"}})
	eventually(t, "the job is cancelled", func() (bool, any) {
		_, err := jobs.Cancel(t.Context(), surreal.FormatID(ids["cancelled"]))
		return db.job(ids["cancelled"]).Status == "failed", err
	})
	eventually(t, "all jobs have ended", func() (bool, any) {
		counts := db.census()
		return counts["success"] == 3 && counts["failed"] == 2, counts
	})
	for name, want := range map[string]struct {
		status  string
		retries int
	}{"before": {"success", 0}, "plain": {"success", 0}, "retried": {"success", 1}, "hopeless": {"failed", 3}} {
		r := db.job(ids[name])
		if r.Status != want.status || r.Retries != want.retries || len(r.Errors) != want.retries {
			t.Errorf("job %s: %+v", name, r)
		}
		for i, e := range r.Errors {
			if e.Attempt != i+1 || e.At.IsZero() || !strings.Contains(e.Reason, "attempt") {
				t.Errorf("job %s: error %d is %+v", name, i, e)
			}
		}
	}
	cancelled := db.job(ids["cancelled"])
	if last := cancelled.Errors[len(cancelled.Errors)-1]; last.Code != "cancelled" {
		t.Errorf("the cancelled job's last error is %+v", last)
	}
	now := db.definitions()
	for name, definition := range definitions {
		if now[name] != definition {
			t.Errorf("%s was defined as\n%s and is now\n%s", name, definition, now[name])
		}
	}
	added := slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(name string) bool { return definitions[name] != "" })
	t.Logf("added to the table: %s", strings.Join(added, ", "))
	sees := ann.rows("SELECT * FROM job WHERE id = $id", object{"id": ids["plain"]})
	if len(sees) != 1 || sees[0]["status"] != "success" {
		t.Errorf("the user sees %v", sees)
	}
}

// definitions are those of the table job, by kind and name.
func (db *database) definitions() map[string]string {
	db.tb.Helper()
	info := query[struct {
		Fields  map[string]string `json:"fields"`
		Indexes map[string]string `json:"indexes"`
		Events  map[string]string `json:"events"`
	}](db, "INFO FOR TABLE job", nil)
	all := map[string]string{}
	for kind, group := range map[string]map[string]string{"field": info.Fields, "index": info.Indexes, "event": info.Events} {
		for name, definition := range group {
			all[kind+" "+name] = definition
		}
	}
	return all
}

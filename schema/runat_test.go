package schema_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// about fails unless at is now + wait, give or take a slow machine.
func about(tb testing.TB, what string, at *time.Time, wait time.Duration) {
	tb.Helper()
	if at == nil {
		tb.Errorf("%s: run_at is NONE", what)
	} else if off := time.Until(*at) - wait; off > 30*time.Second || off < -30*time.Second {
		tb.Errorf("%s: due in %v, want %v", what, time.Until(*at), wait)
	}
}

// TestRunAtIsDerived goes through writers of every kind, on each kind of table.
func TestRunAtIsDerived(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	tables := map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal"), "upstream's later": upstreams(t, "full"), "schemaless": "DEFINE TABLE job SCHEMALESS"}
	for name, ddl := range tables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			job := 0
			create := func(sets string) string {
				job++
				r.exec(fmt.Sprintf("CREATE job:%d SET path = '/x', status = 'pending', assigned_to = user:1%s", job, sets), nil)
				return fmt.Sprintf("job:%d", job)
			}
			runAt := func(id string) *time.Time { return r.moment("RETURN " + id + ".run_at") }
			for delay, want := range map[string]time.Duration{
				"": 0, ", delay = NONE": 0, ", delay = 0": 0, ", delay = -5000": 0, ", delay = 3600000": time.Hour,
				", delay = 31536000000": year, ", delay = 9223372036854775807": year, ", delay = -9223372036854775807": 0,
			} {
				about(t, "create"+delay, runAt(create(delay)), want)
			}
			id := create(", delay = 3600000")
			r.exec("UPDATE "+id+" SET payload = 1; UPDATE "+id+" MERGE { payload: 2 }", nil)
			about(t, "an update moves nothing", runAt(id), time.Hour)
			r.exec("UPDATE "+id+" SET run_at = time::now() + 2h", nil)
			about(t, "root writes a time", runAt(id), 2*time.Hour)
			r.exec("UPDATE "+id+" SET payload = 3", nil)
			about(t, "and it stays", runAt(id), 2*time.Hour)
			for _, status := range []string{"processing", "success", "failed"} {
				r.exec("UPDATE "+id+" SET status = '"+status+"'", nil)
				if at := runAt(id); at != nil {
					t.Errorf("a %s job is due at %v", status, at)
				}
				r.exec("UPDATE "+id+" SET status = '"+status+"', run_at = time::now()", nil)
				if at := runAt(id); at != nil {
					t.Errorf("a %s job with a time by hand is due at %v", status, at)
				}
			}
			late := create("")
			r.exec("UPDATE "+late+" SET status = 'failed'; UPDATE "+late+" SET status = 'pending'", nil)
			about(t, "pending by hand", runAt(late), 0)
			r.exec("UPSERT job:upserted SET path = '/x', status = 'pending', assigned_to = user:1; INSERT INTO job { id: 'inserted', path: '/x', status: 'pending', assigned_to: user:1 }", nil)
			about(t, "upsert", runAt("job:upserted"), 0)
			about(t, "insert", runAt("job:inserted"), 0)
			r.exec("CREATE job:done SET path = '/x', status = 'success', assigned_to = user:1", nil)
			if at := runAt("job:done"); at != nil {
				t.Errorf("a job that was created as finished is due at %v", at)
			}
		})
	}
}

// TestRecordUsersDoNotSetRunAt has users write it at every occasion; their delays count all the same.
func TestRecordUsersDoNotSetRunAt(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal"), "upstream's later": upstreams(t, "full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			u := r.signUp("ann")
			columns := ", assigned_to = $auth"
			delayed := ""
			if name != "upstream's first" {
				delayed = ", delay = 3600000"
			}
			u.query("CREATE job:plain SET path = '/x'" + columns)
			u.query("CREATE job:early SET path = '/x', run_at = time::now() - 1d" + columns + delayed)
			u.query("CREATE job:late SET path = '/x', run_at = time::now() + 1d" + columns)
			for _, id := range []string{"plain", "late"} {
				about(t, id, r.moment("RETURN job:"+id+".run_at"), 0)
			}
			if delayed != "" {
				about(t, "early", r.moment("RETURN job:early.run_at"), time.Hour)
			}
			r.exec("UPDATE job:plain SET run_at = time::now() + 2h", nil)
			_, _ = u.try("UPDATE job:plain SET run_at = time::now(), payload = 1") // refused or without effect
			_, _ = u.try("UPDATE job:plain UNSET run_at")
			about(t, "an update by its owner", r.moment("RETURN job:plain.run_at"), 2*time.Hour)
		})
	}
}

// TestDefinitionsOutliveARestart starts a database of its own and starts it again on the same data.
func TestDefinitionsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var r *rig
	start := func() (*rig, func()) {
		ctx, r := t.Context(), &rig{tb: t, ctx: t.Context()}
		server, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0", Data: dir, Progress: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		r.cfg = surreal.Config{Endpoint: server.Endpoint(), Username: server.User(), Password: server.Password(), Namespace: "n", Database: "d"}
		db, stop, err := surreal.Connect(ctx, r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.db = db
		return r, func() {
			_ = stop()
			if err := server.Close(); err != nil {
				t.Errorf("close the database: %v", err)
			}
		}
	}
	r, stop := start()
	r.exec(upstreams(t, "minimal"), nil)
	if _, err := schema.Apply(r.ctx, r.db); err != nil {
		t.Fatal(err)
	}
	r.prepare()
	r.exec("CREATE job:old SET path = '/x', assigned_to = user:1", nil)
	stop()
	r, stop = start()
	defer stop()
	r.settled()
	if applied, err := schema.Apply(r.ctx, r.db); err != nil || applied.Changed {
		t.Errorf("applied again: %+v, %v", applied, err)
	}
	box := r.prepare()
	r.exec("CREATE job:new SET path = '/x', assigned_to = user:1", nil)
	for _, id := range []string{"old", "new"} {
		about(t, id, r.moment("RETURN job:"+id+".run_at"), 0)
	}
	r.live(box, "job:old", "job:new")
}

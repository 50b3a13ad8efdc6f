package retention

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

const day = 24 * time.Hour

// TestOldJobsGo has jobs of all states and ages, in a table that may be pruned, and in others.
func TestOldJobsGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.outbox("mail")
	r.exec("DEFINE TABLE page SCHEMALESS; CREATE page:1 SET status = 'success', updated_at = d'2020-01-01T00:00:00Z', run_at = NONE, newest = -1", nil)
	for _, table := range []string{"job", "mail"} {
		r.exec(`FOR $status IN ['pending', 'processing', 'success', 'failed', 'cancelled'] {
			CREATE type::record($table, $status + '_old') SET path = '/mail/17?x=1', status = $status, created_at = time::now() - 30d, updated_at = time::now() - 20d;
			CREATE type::record($table, $status + '_week') SET path = '/mail/18', status = $status, created_at = time::now() - 30d, updated_at = time::now() - 7d;
			CREATE type::record($table, $status + '_new') SET path = '/mail/19', status = $status, created_at = time::now() - 30d, updated_at = time::now() - 1h;
		}`, map[string]any{"table": table})
	}
	r.configure(config.Retention{Success: 6 * time.Hour, Failed: 14 * day}, "job")
	r.exec("UPDATE _00_retention:default SET job_tables += 'page'", nil)
	if n := r.pass(r.pruner("a")); n != 4 {
		t.Errorf("%d rows pruned, want 4", n)
	}
	r.want("left", "RETURN array::sort((SELECT VALUE record::id(id) FROM job))",
		`["cancelled_new","cancelled_week","failed_new","failed_week","pending_new","pending_old","pending_week","processing_new","processing_old","processing_week","success_new"]`)
	r.want("of another outbox table", "RETURN array::len((SELECT VALUE id FROM mail))", "15")
	r.want("of a table that is no outbox", "RETURN array::len((SELECT VALUE id FROM page))", "1")
	r.want("counts", "SELECT scope, of, name, math::sum(success) AS s, math::sum(failed) AS f, math::sum(killed) AS k, math::sum(wall_ms) AS w FROM _00_run_rollup GROUP BY scope, of, name",
		`[{"f":1,"k":1,"name":"/mail/:id","of":"job","s":2,"scope":"job","w":4579200000}]`)
	r.want("hours", "RETURN array::len((SELECT VALUE id FROM _00_run_rollup WHERE hour = time::floor(hour, 1h)))", "2")
}

// TestPagesAreGoneThrough has more rows than a page, of one moment and of many, between others that stay.
func TestPagesAreGoneThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`LET $made = time::now() - 2d;
		FOR $n IN 0..450 { CREATE job SET path = '/one', status = 'success', created_at = $made, updated_at = time::now() - 1d };
		FOR $n IN 0..450 { CREATE job SET path = '/stays', status = 'success', created_at = $made, updated_at = time::now() };
		FOR $n IN 0..450 { CREATE job SET path = '/many', status = 'success', created_at = $made - duration::from_secs($n), updated_at = time::now() - 1d };
		FOR $n IN 0..3 { CREATE job SET path = '/untimed', status = 'success', created_at = $made - 1d, updated_at = NONE };`, nil)
	r.configure(config.Retention{Success: time.Hour}, "job")
	if n := r.pass(r.pruner("a")); n != 900 {
		t.Errorf("%d rows pruned, want 900", n)
	}
	r.want("left", "SELECT path, count() AS n FROM job GROUP BY path", `[{"n":450,"path":"/stays"},{"n":3,"path":"/untimed"}]`)
	r.want("counted", "RETURN math::sum((SELECT VALUE success FROM _00_run_rollup))", "900")
}

// TestTablesKeepTheirNewest has more successful jobs than maxRows.
func TestTablesKeepTheirNewest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`FOR $n IN 0..700 { CREATE type::record('job', $n) SET path = '/x', status = 'success', created_at = time::now() - duration::from_mins($n + 1), updated_at = time::now() - 1s };
		FOR $n IN 0..300 { CREATE job SET path = '/y', status = 'failed', created_at = time::now() - 10d, updated_at = time::now() - 1s };
		FOR $n IN 0..300 { CREATE job SET path = '/z', created_at = time::now() - 10d };`, nil)
	r.configure(config.Retention{MaxRows: 100}, "job")
	if n := r.pass(r.pruner("a")); n != 600 {
		t.Errorf("%d rows pruned, want 600", n)
	}
	r.want("the newest stay", "RETURN array::max((SELECT VALUE record::id(id) FROM job WHERE status = 'success'))", "99")
	r.want("left", "SELECT status, count() AS n FROM job GROUP BY status", `[{"n":300,"status":"failed"},{"n":300,"status":"pending"},{"n":100,"status":"success"}]`)
}

// TestNothingIsConfiguredNothingGoes has a database without settings, and settings that keep for ever.
func TestNothingIsConfiguredNothingGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("CREATE job SET path = '/x', status = 'success', created_at = d'2020-01-01T00:00:00Z', updated_at = d'2020-01-01T00:00:00Z'", nil)
	if n := r.pass(r.pruner("a")); n != 0 {
		t.Errorf("without settings %d rows went", n)
	}
	r.configure(config.Retention{}, "job")
	if n := r.pass(r.pruner("a")); n != 0 {
		t.Errorf("with zeros %d rows went", n)
	}
}

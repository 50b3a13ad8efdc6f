package admin

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// TestAnalytics counts jobs and instances that are there, and what is left of others.
func TestAnalytics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := NewCluster(ClusterConfig{DB: r.db, Tables: []string{"job", "not_there"}})
	r.exec(`LET $at = time::floor(time::now(), 1h) - 30m;
		FOR $n IN 0..3 { CREATE job SET path = '/mail/' + <string>$n, status = 'success', created_at = $at - 2s, updated_at = $at };
		CREATE job SET path = '/pay', status = 'failed', created_at = $at - 60s, updated_at = $at;
		CREATE _00_wf_instance:x SET binding = 'ALPHA', backend = 'api', status = 'terminated', job_table = 'job', created_at = $at - 5h, started_at = $at - 1s, finished_at = $at;
		RETURN fn::spky::retention::fold([
			{ hour: time::floor($at, 1h), scope: 'job', of: 'job', name: '/mail/:id', success: 1, failed: 0, killed: 2, wall_ms: 500 },
			{ hour: time::floor($at, 1h) - 5h, scope: 'job', of: 'job', name: '/mail/:id', success: 7, failed: 0, killed: 0, wall_ms: 1000 },
			{ hour: time::floor($at, 1h) - 60h, scope: 'job', of: 'job', name: '/mail/:id', success: 1000, failed: 0, killed: 0, wall_ms: 1000 }])`, nil)
	a, err := c.Analytics(r.ctx, 0)
	r.check(err)
	want := `[{"scope":"job","of":"job","name":"/pay","success":0,"failed":1,"cancelled":0,"wall_ms":60000},` +
		`{"scope":"job","of":"job","name":"/mail/:id","success":11,"failed":0,"cancelled":2,"wall_ms":7500},` +
		`{"scope":"workflow","of":"api","name":"ALPHA","success":0,"failed":0,"cancelled":1,"wall_ms":1000}]`
	if got := pretty(t, a.Totals); got != want || len(a.Hours) != 4 || a.Hours[0].Success != 7 || a.Partial || a.More {
		t.Errorf("totals\n%s, want\n%s; %+v", got, want, a)
	}
	if a, err = c.Analytics(r.ctx, 2); err != nil || len(a.Hours) != 3 || a.Since.Minute() != 0 || a.Until.Sub(a.Since) > 2*time.Hour {
		t.Errorf("of two hours: %+v, %v", a, err)
	}
	for _, hours := range []int{-1, MaxHours + 1} {
		_, err := c.Analytics(r.ctx, hours)
		wants(t, "hours", err, new(*InputError), "allowed: 1 to 744")
	}
}

// TestAnalyticsOfNothing asks a database to which nobody has applied the platform's schema.
func TestAnalyticsOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := r.cfg
	cfg.Database += "_other"
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	t.Cleanup(func() { r.check(stop()) })
	a, err := NewCluster(ClusterConfig{DB: db, Tables: []string{"job"}}).Analytics(r.ctx, 24)
	if err != nil || len(a.Totals) != 0 || a.Totals == nil {
		t.Errorf("%+v, %v", a, err)
	}
}

package retention

import (
	"slices"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// TestAnOperatorsValueStays has a configuration written again and again, with an operator between.
func TestAnOperatorsValueStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := config.Retention{Success: 6 * time.Hour, Failed: 1500 * time.Millisecond, RunSuccess: day, RunFailed: 30 * day, RunDeadline: time.Hour, MaxRows: 7, Mode: "failures-only"}
	s := r.configure(c, "job", "mail")
	if s.SuccessSecs != 21600 || s.FailedSecs != 2 || s.RunSuccessSecs != 86400 || s.RunFailedSecs != 30*86400 || s.MaxRows != 7 || !slices.Equal(s.Tables, []string{"job", "mail"}) {
		t.Errorf("settings are %+v", s)
	}
	r.want("the rest", "SELECT run_deadline_secs, mode FROM ONLY _00_retention:default", `{"mode":"failures-only","run_deadline_secs":3600}`)
	r.exec("UPDATE _00_retention:default SET success_secs = 60, max_rows = 9, job_tables -= 'mail'", nil)
	if s := r.configure(c, "job", "mail"); s.SuccessSecs != 60 || s.MaxRows != 9 || !slices.Equal(s.Tables, []string{"job"}) {
		t.Errorf("the configuration that was there before undoes what an operator set: %+v", s)
	}
	c.Success, c.Failed = 8*time.Hour, 0
	if s := r.configure(c, "job", "other"); s.SuccessSecs != 8*3600 || s.FailedSecs != 0 || s.MaxRows != 9 || !slices.Equal(s.Tables, []string{"job", "other"}) {
		t.Errorf("after another configuration: %+v", s)
	}
	if read, err := Read(r.ctx, r.db); err != nil || read.SuccessSecs != 8*3600 {
		t.Errorf("read %+v, %v", read, err)
	}
}

// TestNodesConfigureAtOnce has eight that start at the same moment.
func TestNodesConfigureAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := Configure(r.ctx, r.db.Retrying(), config.Retention{Success: time.Hour}, []string{"job"})
			done <- err
		}()
	}
	for range 8 {
		r.check(<-done)
	}
	r.want("tables", "RETURN _00_retention:default.job_tables", `["job"]`)
}

// TestOldCountsAreForgotten has counts of today, and of a year and more ago.
func TestOldCountsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("FOR $days IN [0, 399, 401, 2000] { LET $done = fn::spky::retention::fold([{ hour: time::now() - duration::from_days($days), scope: 'job', of: 'job', name: '/x', success: $days, failed: 0, killed: 0, wall_ms: 0 }]) }", nil)
	r.pass(r.pruner("a"))
	r.want("counts", "SELECT VALUE success FROM _00_run_rollup", "[399,0]")
}

// TestNamesAreBounded counts more names in an hour than an hour has.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`LET $hour = time::floor(time::now(), 1h);
		RETURN fn::spky::retention::fold(array::range(0, 1010).map(|$n| { RETURN { hour: $hour, scope: 'job', of: 'job', name: '/' + <string>$n, success: 1, failed: 0, killed: 0, wall_ms: 0 } }));
		RETURN fn::spky::retention::fold([{ hour: $hour, scope: 'job', of: 'job', name: '/7', success: 1, failed: 2, killed: 3, wall_ms: 4 }]);`, nil)
	r.want("rows and what is beyond", "RETURN [array::len((SELECT VALUE id FROM _00_run_rollup)), (SELECT VALUE success FROM _00_run_rollup WHERE name = '*')]", "[1001,[10]]")
	r.want("a name that is there", "SELECT success, failed, killed, wall_ms FROM _00_run_rollup WHERE name = '/7'", `[{"failed":2,"killed":3,"success":2,"wall_ms":4}]`)
}

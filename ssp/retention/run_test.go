package retention

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// writeRuns writes runs of a DAG in all states, each with two steps; keys end in the state.
const writeRuns = `FOR $status IN ['running', 'success', 'failed', 'killed'] {
	LET $id = $key + $status;
	CREATE type::record('_00_workflow_run', $id) SET workflow = 'nightly', key = '', manual = false, status = $status, on_failure = 'halt', concurrency = 'skip',
		tick = _00_schedule_run:x, steps = 2, deadline_ms = 0, started_at = $finished - 30m, newest = -time::micros($finished - 30m),
		finished_at = IF $status = 'running' { NONE } ELSE { $finished };
	FOR $n IN 0..2 {
		CREATE type::record('_00_step_run', [$id, $n]) SET run = $id, position = $n, name = 's', backend = 'api', table = 'job', route = '/s', payload = {},
			retries = 1, strategy = 'linear', cancelled = 'cancelled', depends_on = [], upstream = [], status = 'success';
	};
};`

// TestOldRunsGoWithTheirSteps has runs in all states, old and new.
func TestOldRunsGoWithTheirSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	for key, age := range map[string]time.Duration{"old-": 50 * day, "week-": 7 * day, "new-": time.Hour} {
		r.exec(writeRuns, map[string]any{"key": key, "finished": now.Add(-age)})
	}
	r.configure(config.Retention{RunSuccess: day, RunFailed: 30 * day})
	if n := r.pass(r.pruner("a")); n != 4 {
		t.Errorf("%d runs pruned, want old-success, week-success, old-failed, old-killed", n)
	}
	gone := "['old-success', 'week-success', 'old-failed', 'old-killed']"
	r.want("runs", "RETURN [array::len((SELECT VALUE id FROM _00_workflow_run)), array::len((SELECT VALUE id FROM _00_workflow_run WHERE record::id(id) IN "+gone+"))]", "[8,0]")
	r.want("steps", "RETURN [array::len((SELECT VALUE id FROM _00_step_run)), array::len((SELECT VALUE id FROM _00_step_run WHERE run IN "+gone+"))]", "[16,0]")
	r.want("counts", "SELECT name, math::sum(success) AS s, math::sum(failed) AS f, math::sum(killed) AS k, math::sum(wall_ms) AS w FROM _00_run_rollup WHERE scope = 'dag' GROUP BY name",
		`[{"f":1,"k":1,"name":"nightly","s":2,"w":7200000}]`)
	counts, partial, err := Finished(r.ctx, r.db, Window{Since: now.Add(-60 * day), Until: now})
	r.check(err)
	sum := Count{}
	for _, c := range counts {
		sum.Success, sum.Failed, sum.Killed = sum.Success+c.Success, sum.Failed+c.Failed, sum.Killed+c.Killed
	}
	if partial || sum.Success != 3 || sum.Failed != 3 || sum.Killed != 3 {
		t.Errorf("what is pruned and what is left come to %+v, %v", sum, partial)
	}
}

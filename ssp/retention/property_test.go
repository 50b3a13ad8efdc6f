package retention

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// oracle notes each row that is deleted as it was, by the database itself. Jobs with other ids are runs of
// instances, which are deleted by verbs on these.
const oracle = `DEFINE TABLE gone SCHEMALESS;
DEFINE EVENT gone ON job WHEN $event = 'DELETE' AND type::is_int(record::id($before.id)) THEN (CREATE gone SET what = 'job', row = $before.id, status = $before.status, age = time::now() - $before.updated_at);
DEFINE EVENT gone ON _00_wf_instance WHEN $event = 'DELETE' THEN (CREATE gone SET what = 'instance', row = $before.id, status = $before.status, age = time::now() - $before.finished_at);`

// verbs are what happens to rows while they are pruned; each is about one row, and may find it gone.
func verbs() []string {
	return []string{
		"RETURN fn::spky::job::retry(type::record('job', $n))",
		"RETURN fn::spky::job::cancel(type::record('job', $n), 'cancelled')",
		"UPDATE type::record('job', $n) SET status = 'processing', run_at = NONE WHERE status = 'pending'",
		"UPDATE type::record('job', $n) SET status = 'success', run_at = NONE, updated_at = time::now() - 2h WHERE status = 'processing'",
		"UPDATE type::record('job', $n) SET status = 'failed', run_at = NONE, updated_at = time::now() WHERE status = 'processing'",
		"UPSERT type::record('job', $n) SET path = '/x', status = 'success', created_at = time::now() - 3h, updated_at = time::now() - 2h WHERE status = NONE",
		"RETURN fn::spky::wf::restart('i' + <string>$n)",
		"RETURN fn::spky::wf::retry('i' + <string>$n)",
		"RETURN fn::spky::wf::terminate('i' + <string>$n)",
		"UPDATE type::record('_00_wf_instance', 'i' + <string>$n) SET finished_at = time::now() - 2h WHERE status = 'terminated'",
	}
}

// TestNothingLiveIsEverDeleted prunes while rows are retried, cancelled, claimed, settled, and begun again.
func TestNothingLiveIsEverDeleted(t *testing.T) {
	t.Parallel()
	const rows, each = 60, 150
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := newRig(t)
	r.exec(oracle, nil)
	for n := range rows {
		r.exec(`LET $status = ['pending', 'processing', 'success', 'failed', 'cancelled'][$n % 5];
			CREATE type::record('job', $n) SET path = '/x', status = $status, created_at = time::now() - 3h, updated_at = time::now() - 2h;
			LET $id = 'i' + <string>$n;
			CREATE type::record('_00_wf_instance', $id) SET binding = 'ALPHA', status = ['queued', 'complete', 'errored', 'terminated', 'paused'][$n % 5], backend = 'api', job_table = 'job',
				fence = 0, incarnation = 0, steps_done = 3, stalls = 0, created_at = time::now() - 3h, finished_at = time::now() - 2h;
			FOR $s IN 0..3 { CREATE type::record('_00_wf_step', [$id, 0, 'do', 's', $s]) SET status = 'complete', started_at = time::now() - 3h, finished_at = time::now() - 3h };`,
			map[string]any{"n": n})
	}
	r.configure(config.Retention{Success: time.Hour, Failed: time.Hour, RunSuccess: time.Hour, RunFailed: time.Hour}, "job")
	var writers sync.WaitGroup
	for w := range 3 {
		db, rng := r.connect(), rand.New(rand.NewPCG(seed, uint64(w)))
		writers.Go(func() {
			for range each {
				verb := verbs()[rng.IntN(len(verbs()))]
				if err := surreal.Exec(r.ctx, db.Retrying(), verb, map[string]any{"n": rng.IntN(rows)}); err != nil && !surreal.IsConflict(err) {
					t.Errorf("%s: %v", verb, err)
				}
			}
		})
	}
	done, stop := context.WithCancel(r.ctx)
	var pruners sync.WaitGroup
	for _, node := range []string{"a", "b"} {
		p := r.pruner(node, func(c *Config) { c.DB, c.Interval, c.Lease = r.connect(), time.Millisecond, time.Millisecond })
		pruners.Go(func() { p.Run(done) })
	}
	writers.Wait()
	stop()
	pruners.Wait()
	r.pass(r.pruner("c"))
	r.want("live or young rows deleted", "SELECT * FROM gone WHERE status NOT IN ['success', 'failed', 'cancelled', 'complete', 'errored', 'terminated'] OR age < 1h", "[]")
	r.want("instances without all their steps, and steps without their instance", `RETURN [
		(SELECT id FROM _00_wf_instance WHERE steps_done != array::len((SELECT VALUE id FROM _00_wf_step WHERE record::id(id)[0] = record::id($parent.id)))),
		(SELECT id FROM _00_wf_step WHERE !record::exists(type::record('_00_wf_instance', record::id(id)[0])))]`, "[[],[]]")
	for scope, what := range map[string]string{ScopeJob: "job", ScopeWorkflow: "instance"} {
		gone := r.json(fmt.Sprintf("RETURN array::len((SELECT id FROM gone WHERE what = '%s'))", what), nil)
		if gone == "0" {
			t.Errorf("no %s was pruned: this test shows nothing", what)
		}
		r.want("counted "+scope, fmt.Sprintf("RETURN math::sum((SELECT VALUE success + failed + killed FROM _00_run_rollup WHERE scope = '%s'))", scope), gone)
	}
}

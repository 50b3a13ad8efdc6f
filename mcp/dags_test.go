package mcp

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// TestDAGs starts, looks at, cancels, retries and reruns a run.
func TestDAGs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}}, Workflows: []config.DAG{{
		Name: "nightly", Concurrency: "skip", OnFailure: "halt",
		Steps: []config.DAGStep{{Name: "fetch", Backend: "api", Route: "/fetch"}, {Name: "tell", Backend: "api", Route: "/tell", DependsOn: []string{"fetch"}}},
	}}}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	reader, c := r.connect(admin.ScopeRead), r.connect(admin.ScopeFull)
	var list dagsOut
	reader.ok("dags_list", nil, &list)
	if list.Total != 1 || list.DAGs[0].Steps != "fetch, tell (after fetch)" || list.DAGs[0].When != "" {
		t.Errorf("%+v", list)
	}
	reader.refused("dag_trigger", map[string]any{"name": "nightly"}, "scope")
	var started admin.StartedRuns
	c.ok("dag_trigger", map[string]any{"name": "nightly"}, &started)
	if len(started.Runs) != 1 {
		t.Fatalf("%+v", started)
	}
	id := map[string]any{"id": started.Runs[0]}
	c.refused("dag_trigger", map[string]any{"name": "nightly"}, "state", "not over", "workflow_run_cancel")
	c.refused("workflow_run_retry", id, "state", "workflow_run_cancel")
	c.ok("workflow_run_cancel", id, nil)
	c.refused("workflow_run_cancel", id, "state", "killed", "workflow_run_retry, workflow_run_rerun")
	var retried retriedOut
	c.ok("workflow_run_retry", id, &retried)
	if retried.Reset != 2 || retried.Run != started.Runs[0] {
		t.Errorf("%+v", retried)
	}
	c.ok("workflow_run_cancel", id, nil)
	var run runOut
	a := reader.ok("workflow_run_get", id, &run)
	if run.Status != admin.RunKilled || len(run.Steps) != 2 || run.Steps[1].Status != "skipped" || !strings.Contains(a.text, "killed: cancelled") {
		t.Errorf("%+v\n%s", run, a.text)
	}
	var again rerunOut
	c.ok("workflow_run_rerun", id, &again)
	var runs runsOut
	reader.ok("workflow_runs_list", map[string]any{"name": "nightly", "status": "running"}, &runs)
	if len(runs.Runs) != 1 || runs.Runs[0].ID != again.Run {
		t.Errorf("%+v", runs)
	}
	a = reader.ok("workflow_runs_list", map[string]any{"name": "nightly", "limit": 1}, &runs)
	if len(runs.Runs) != 1 || runs.Next == "" || !strings.Contains(a.text, "more: cursor "+runs.Next) {
		t.Errorf("%+v\n%s", runs, a.text)
	}
	var last runsOut
	reader.ok("workflow_runs_list", map[string]any{"name": "nightly", "limit": 1, "cursor": runs.Next}, &last)
	if len(last.Runs) != 1 || last.Runs[0].ID != started.Runs[0] || last.Next != "" {
		t.Errorf("%+v", last)
	}
	c.refused("workflow_run_get", map[string]any{"id": "missing"}, "not_found")
	c.refused("dag_trigger", map[string]any{"name": "missing"}, "not_found")
	c.refused("schedule_pause", map[string]any{"name": "nightly"}, "state", "without a clock", "dag_trigger")
	reader.refused("workflow_runs_list", map[string]any{"name": "nope"}, "not_found", "nope")
	reader.refused("workflow_runs_list", map[string]any{"name": "nightly", "status": "over"}, "input")
}

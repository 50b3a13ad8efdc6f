package mcp

import (
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// TestExplainWhatTheClockStarts explains a DAG without a clock, its run, and a schedule.
func TestExplainWhatTheClockStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := &config.Config{
		Backends:  []config.Backend{{Name: "api", Table: "job"}},
		Schedules: []config.Schedule{{Name: "hourly", Every: time.Hour, Backend: "api", Route: "/x", Enabled: true}},
		Workflows: []config.DAG{{Name: "by hand", Steps: []config.DAGStep{{Name: "only", Backend: "api", Route: "/x"}}}},
	}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	reader := r.connect(admin.ScopeRead)
	var started admin.StartedRuns
	r.connect(admin.ScopeFull).ok("dag_trigger", map[string]any{"name": "by hand"}, &started)
	for _, one := range []struct{ tool, key, value, want string }{
		{"workflow_run_explain", "id", started.Runs[0], "no_node"}, {"schedule_explain", "name", "hourly", "not_due"}, {"schedule_explain", "name", "by hand", "no_clock"},
	} {
		var got admin.Explanation
		a := reader.ok(one.tool, map[string]any{one.key: one.value}, &got)
		if !strings.Contains(a.json, `"`+one.want+`"`) || !strings.Contains(a.text, "Remedy: ") || a.size > 8_000 {
			t.Errorf("%s %s: %d bytes\n%s\n%s", one.tool, one.value, a.size, a.text, a.json)
		}
		reader.refused(one.tool, map[string]any{one.key: "nothing"}, "not_found")
	}
}

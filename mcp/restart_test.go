package mcp

import (
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestRestartFromAStep restarts from a step, and refuses what there is not and what can't be meant.
func TestRestartFromAStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(admin.ScopeFull)
	r.create("a")
	r.exec(`FOR $n IN [1, 2] {
		CREATE type::record('_00_wf_step', ['a', 0, 'do', 's' + <string>$n, 1]) SET instance = _00_wf_instance:a, seq = $n, kind = 'do', name = 's' + <string>$n,
			occurrence = 1, status = 'complete', attempts = [], started_at = time::now(), finished_at = time::now()
	}`, nil)
	const tool = "durable_instance_restart"
	from := func(step map[string]any) map[string]any { return map[string]any{"id": "a", "from": step} }
	c.refused(tool, from(map[string]any{"name": "s3"}), "step_not_found", "nothing was changed", `"s3"`, "durable_instance_get")
	c.refused(tool, from(map[string]any{"name": "s1", "count": 2, "type": "do"}), "step_not_found", `do "s1" #2`)
	for _, wrong := range []map[string]any{
		{}, {"name": ""}, {"name": "s1", "count": 0}, {"name": "s1", "count": 1.5}, {"name": "s1", "type": "step"}, {"name": "s1", "occurrence": 1},
	} {
		c.refused(tool, from(wrong), "input")
	}
	var done doneOut
	c.ok(tool, from(map[string]any{"name": "s2"}), &done)
	var got instanceOut
	c.ok("durable_instance_get", map[string]any{"id": "a"}, &got)
	if done.Was != "queued" || got.Instance.StepsDone != 1 || got.Instance.Incarnation != 1 {
		t.Errorf("%+v makes it %+v", done, got.Instance)
	}
	c.ok(tool, map[string]any{"id": "a"}, &done)
	if done.Next != "it is queued from its first step" {
		t.Errorf("from the start: %+v", done)
	}
	reader := r.connect(admin.ScopeRead)
	reader.refused(tool, from(map[string]any{"name": "s1"}), "scope")
}

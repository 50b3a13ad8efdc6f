package mcp

import (
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestStepsOfWhatWasTerminated looks at a step that ran, and at one that waited, when their instance was terminated: nothing of
// them runs or wakes any more.
func TestStepsOfWhatWasTerminated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(admin.ScopeFull)
	r.create("a")
	r.exec(`CREATE type::record('_00_wf_step', ['a', 0, 'do', 'convert', 1]) SET instance = _00_wf_instance:a, seq = 1, kind = 'do', name = 'convert', occurrence = 1,
			status = 'retrying', attempts = [{ started_at: time::now(), ended_at: time::now(), error: { name: 'Error', message: 'busy' } }], retry_at = time::now() + 1h, started_at = time::now();
		CREATE type::record('_00_wf_step', ['a', 0, 'sleep', 'nap', 1]) SET instance = _00_wf_instance:a, seq = 2, kind = 'sleep', name = 'nap', occurrence = 1,
			status = 'waiting', attempts = [], wake_at = time::now() + 1h, started_at = time::now()`, nil)
	var got instanceOut
	c.ok("durable_instance_get", map[string]any{"id": "a"}, &got)
	if rows := got.Steps.Rows; rows[0].Status != "retrying" || rows[0].RetryAt == nil || rows[1].Status != "waiting" || rows[1].WakeAt == nil {
		t.Errorf("while it lives: %+v", rows)
	}
	c.ok("durable_instance_cancel", map[string]any{"id": "a"}, nil)
	got = instanceOut{}
	c.ok("durable_instance_get", map[string]any{"id": "a"}, &got)
	for _, row := range got.Steps.Rows {
		if row.Status != admin.CutOff || row.RetryAt != nil || row.WakeAt != nil {
			t.Errorf("%s: %+v", row.Name, row)
		}
	}
}

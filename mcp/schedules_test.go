package mcp

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`RETURN fn::spky::schedule::deploy({ name: 'nightly', digest: 'd', clock: 'c', enabled: true, next: time::now() + 1h, spec: {
		cron: '0 3 * * *', every_ms: 0, timezone: 'Europe/Berlin', backend: 'api', table: 'job', route: '/night', payload: {}, concurrency: 'skip',
		retries: 3, strategy: 'linear', deadline_ms: 0, quarantine_after: 0, failures_only: false, cancelled: 'cancelled' } })`, nil)
	reader, c := r.connect(admin.ScopeRead), r.connect(admin.ScopeFull)
	var list schedulesOut
	a := reader.ok("schedules_list", nil, &list)
	if list.Total != 1 || list.Schedules[0].State != "active" || !strings.Contains(a.text, "0 3 * * * Europe/Berlin") {
		t.Errorf("%+v\n%s", list, a.text)
	}
	reader.refused("schedule_trigger", map[string]any{"name": "nightly"}, "scope")
	var started admin.Triggered
	c.ok("schedule_trigger", map[string]any{"name": "nightly"}, &started)
	if started.Started != 1 || !strings.HasPrefix(started.Job, "job:") {
		t.Errorf("%+v", started)
	}
	c.refused("schedule_trigger", map[string]any{"name": "nightly"}, "state", "not over", "schedule_pause")
	c.ok("schedule_pause", map[string]any{"name": "nightly"}, nil)
	c.refused("schedule_pause", map[string]any{"name": "nightly"}, "state", "paused", "schedule_resume")
	if a := reader.ok("schedules_list", nil, &list); list.Schedules[0].NextAt == nil || strings.Contains(a.text, seconds(*list.Schedules[0].NextAt)) {
		t.Errorf("a paused schedule has no next tick to tell:\n%s", a.text)
	}
	c.ok("schedule_resume", map[string]any{"name": "nightly"}, nil)
	c.refused("schedule_resume", map[string]any{"name": "missing"}, "not_found")
	var one scheduleOut
	reader.ok("schedule_get", map[string]any{"name": "nightly"}, &one)
	if len(one.Runs) != 2 || one.Runs[0].Status != "skipped" || one.Runs[1].Job != started.Job || len(one.Keys) != 0 {
		t.Errorf("%+v", one)
	}
	reader.refused("schedule_get", map[string]any{"name": "missing"}, "not_found")
	c.refused("schedule_release", map[string]any{"name": "nightly"}, "state", "nothing is in quarantine")
	r.exec("CREATE type::record('_00_schedule_key', ['nightly', 'k']) SET schedule = 'nightly', key = 'k', failures = 3, quarantined_at = time::now()", nil)
	var released releaseOut
	c.ok("schedule_release", map[string]any{"name": "nightly", "key": "k"}, &released)
	if released.Total != 1 || released.Released[0] != "k" {
		t.Errorf("%+v", released)
	}
	c.ok("schedules_list", nil, &list)
	if last := list.Schedules[0].LastRun; last == nil || !last.Manual || last.Status != "skipped" {
		t.Errorf("the newest run is %+v", last)
	}
}

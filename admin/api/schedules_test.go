package api

import (
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// schedules writes schedules of these names, each with a key in quarantine.
func (r *rig) schedules(names ...string) {
	r.t.Helper()
	var specs []schedule.Spec
	for _, name := range names {
		specs = append(specs, schedule.Spec{Table: "job", Schedule: config.Schedule{Name: name, Every: time.Hour, Backend: "api", Route: "/work", Enabled: true}})
	}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, specs))
	r.exec("FOR $n IN $names { CREATE type::record('_00_schedule_key', [$n, 'k']) SET schedule = $n, key = 'k', failures = 3, quarantined_at = time::now() }", map[string]any{"names": names})
}

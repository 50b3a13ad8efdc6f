package dashboard

import (
	"fmt"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// schedulesView is the content of the list of schedules.
type schedulesView struct{ Schedules []admin.Schedule }

func (d *Dashboard) schedules(v *visit) error {
	all, err := d.cfg.Schedules.List(v.ctx())
	if err != nil {
		return err
	}
	return d.show(v, "schedules", d.view(v, "schedules", "Schedules", schedulesView{all}).watching(api.TopicSchedules, ""))
}

// scheduleView is the content of a schedule's page.
type scheduleView struct {
	admin.Schedule

	Verbs []string
	Runs  []admin.ScheduleRun
	Keys  []admin.ScheduleKey
}

func (d *Dashboard) schedule(v *visit) error {
	one, err := d.cfg.Schedules.Get(v.ctx(), v.id("name"))
	if err != nil {
		return err
	}
	content := scheduleView{Schedule: one, Verbs: one.Verbs()}
	if content.Runs, err = d.cfg.Schedules.Runs(v.ctx(), one.Name, pageRows); err != nil {
		return err
	}
	if content.Keys, err = d.cfg.Schedules.Keys(v.ctx(), one.Name); err != nil {
		return err
	}
	return d.show(v, "schedule", d.view(v, "schedules", one.Name, content).watching(api.TopicSchedules, ""))
}

// started says what a trigger came to.
func started(started, skipped int) string {
	if skipped > 0 {
		return fmt.Sprintf("%d started, %d skipped.", started, skipped)
	}
	return fmt.Sprintf("%d started.", started)
}

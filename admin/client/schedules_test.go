package client_test

import (
	"errors"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// TestSchedulesAfar does to schedules through the API what there is to do.
func TestSchedulesAfar(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, []schedule.Spec{
		{Table: "job", Schedule: config.Schedule{Name: "hourly, all", Every: time.Hour, Backend: "api", Route: "/work", Enabled: true}},
	}))
	s, name := r.client.Schedules(), "hourly, all"
	if all, err := s.List(r.ctx); err != nil || len(all) != 1 || all[0].Name != name {
		t.Errorf("%+v, %v", all, err)
	}
	if was, err := s.Pause(r.ctx, name); err != nil || was != admin.ScheduleActive {
		t.Errorf("%v, %v", was, err)
	}
	_, err := s.Pause(r.ctx, name)
	var refused *admin.StateError
	if !errors.As(err, &refused) || !refused.Schedule || refused.Status != admin.SchedulePaused {
		t.Errorf("paused twice: %v", err)
	}
	if was, err := s.Resume(r.ctx, name); err != nil || was != admin.SchedulePaused {
		t.Errorf("%v, %v", was, err)
	}
	if got, err := s.Trigger(r.ctx, name); err != nil || got.Started != 1 || got.Job == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if runs, err := s.Runs(r.ctx, name, 5); err != nil || len(runs) != 1 || !runs[0].Manual {
		t.Errorf("%+v, %v", runs, err)
	}
	if keys, err := s.Keys(r.ctx, name); err != nil || len(keys) != 0 {
		t.Errorf("%+v, %v", keys, err)
	}
	if _, err := s.Release(r.ctx, name, "k"); !errors.As(err, &refused) {
		t.Errorf("nothing to release: %v", err)
	}
	if _, err := s.Get(r.ctx, "missing"); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := s.Get(r.ctx, ""); return err }, func() error { _, err := s.Pause(r.ctx, ""); return err },
		func() error { _, err := s.Trigger(r.ctx, ""); return err }, func() error { _, err := s.Release(r.ctx, "", ""); return err },
	} {
		var malformed *admin.InputError
		if err := call(); !errors.As(err, &malformed) {
			t.Errorf("no name: %v", err)
		}
	}
}

package client_test

import (
	"errors"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// TestDAGsAfar does to DAGs and their runs through the API what there is to do.
func TestDAGsAfar(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := "nightly, all"
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}}, Workflows: []config.DAG{
		{Name: name, Concurrency: "skip", Steps: []config.DAGStep{{Name: "only", Backend: "api", Route: "/work"}}},
	}}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	d := r.client.DAGs()
	if all, err := d.List(r.ctx); err != nil || len(all) != 1 || all[0].Name != name || len(all[0].Steps) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	started, err := d.Trigger(r.ctx, name)
	if err != nil || len(started.Runs) != 1 {
		t.Fatalf("%+v, %v", started, err)
	}
	run := started.Runs[0]
	var refused *admin.StateError
	if _, err := d.Trigger(r.ctx, name); !errors.As(err, &refused) || !refused.Run || refused.Verb != "trigger" {
		t.Errorf("beside a run that goes on: %v", err)
	}
	if was, err := d.Cancel(r.ctx, run); err != nil || was != admin.RunRunning {
		t.Errorf("%v, %v", was, err)
	}
	if _, err := d.Cancel(r.ctx, run); !errors.As(err, &refused) || refused.Status != admin.RunKilled {
		t.Errorf("cancelled twice: %v", err)
	}
	if done, err := d.Retry(r.ctx, run); err != nil || done.Reset != 1 || done.Was != admin.RunKilled {
		t.Errorf("%+v, %v", done, err)
	}
	if one, err := d.Run(r.ctx, run); err != nil || one.Status != admin.RunRunning || len(one.Steps) != 1 || one.Steps[0].Job == "" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := d.Cancel(r.ctx, run); err != nil {
		t.Error(err)
	}
	again, err := d.Rerun(r.ctx, run)
	if err != nil || again == run {
		t.Errorf("%s, %v", again, err)
	}
	if runs, err := d.Runs(r.ctx, name, admin.RunKilled, 5); err != nil || len(runs) != 1 || runs[0].ID != run {
		t.Errorf("%+v, %v", runs, err)
	}
	page, err := d.ListRuns(r.ctx, admin.RunListOptions{DAG: name, Limit: 1})
	if err != nil || len(page.Runs) != 1 || page.Runs[0].ID != again || page.Next == "" {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = d.ListRuns(r.ctx, admin.RunListOptions{DAG: name, Limit: 1, Cursor: page.Next}); err != nil || len(page.Runs) != 1 || page.Runs[0].ID != run || page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
	if got, err := d.Get(r.ctx, name); err != nil || got.LastRun == nil || got.LastRun.ID != again {
		t.Errorf("%+v, %v", got, err)
	}
	for id, code := range map[string]string{run: "run_killed", name: "no_clock"} {
		if e, err := r.client.Explainer().Any(r.ctx, id); err != nil || e.Causes[0].Code != code {
			t.Errorf("%s is explained by %+v, %v", id, e, err)
		}
	}
	if _, err := d.Run(r.ctx, "missing"); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := d.Get(r.ctx, ""); return err }, func() error { _, err := d.Run(r.ctx, ""); return err },
		func() error { _, err := d.Trigger(r.ctx, ""); return err }, func() error { _, err := d.Cancel(r.ctx, ""); return err },
		func() error { _, err := d.Rerun(r.ctx, ""); return err }, func() error { _, err := d.Runs(r.ctx, "", "", 0); return err },
	} {
		var malformed *admin.InputError
		if err := call(); !errors.As(err, &malformed) {
			t.Errorf("no name: %v", err)
		}
	}
}

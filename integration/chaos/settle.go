package main

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

const (
	// restless is how long nothing may change before what is left counts as stuck, beyond the latest time
	// at which something is known to happen by itself.
	restless = 45 * time.Second
	// settlePatience is how long all of it may take.
	settlePatience = 8 * time.Minute
	// brokenPatience is the same for a program that is broken on purpose, which may never settle.
	brokenPatience = 75 * time.Second
)

// leftWork is what is not over: jobs of all tables, instances, runs, and when the last of these is due.
const leftWork = `
LET $jobs = array::concat(
	(SELECT id, status, lease_epoch AS n, run_at AS due FROM job WHERE status IN ['pending', 'processing']),
	(SELECT id, status, lease_epoch AS n, run_at AS due FROM part_job WHERE status IN ['pending', 'processing']),
	(SELECT id, status, lease_epoch AS n, run_at AS due FROM go_run WHERE status IN ['pending', 'processing']),
	(SELECT id, status, lease_epoch AS n, run_at AS due FROM ts_run WHERE status IN ['pending', 'processing']));
LET $instances = SELECT id, status, steps_done AS n, wake_at AS due FROM _00_wf_instance WHERE status NOT IN ['complete', 'errored', 'terminated'];
-- Of DAGs and schedules, what is not over moves with its jobs or instances.
LET $runs = array::concat(
	(SELECT id, status, revision AS n, NONE AS due FROM _00_workflow_run WHERE status = 'running'),
	(SELECT id, status, 0 AS n, NONE AS due FROM _00_schedule_run WHERE status = 'running'));
RETURN { jobs: $jobs, instances: $instances, runs: $runs, now: time::now() };
`

// leftRow is a job or an instance that is not over.
type leftRow struct {
	ID     surreal.RecordID `json:"id"`
	Status string           `json:"status"`
	N      any              `json:"n"`
	Due    *time.Time       `json:"due"`
}

type left struct {
	Jobs      []leftRow `json:"jobs"`
	Instances []leftRow `json:"instances"`
	Runs      []leftRow `json:"runs"`
	Now       time.Time `json:"now"`
}

// settle waits until all work is over, or nothing moves any more: what is left then is for the checker.
func (r *run) settle(ctx context.Context) error {
	began, moved, tended := time.Now(), time.Now(), time.Now()
	planned := map[string]plan.Instance{}
	for _, i := range r.plan.Instances {
		planned[i.ID] = i
	}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for last := ""; ; {
		l, err := surreal.Last[left](ctx, r.world.DB.Retrying(), leftWork, nil)
		if err != nil {
			return fmt.Errorf("look what is left: %w", err)
		}
		now := fmt.Sprint(l.Jobs, l.Instances, l.Runs)
		if now != last || l.somethingIsDue() {
			last, moved = now, time.Now()
		}
		switch {
		case len(l.Jobs)+len(l.Instances)+len(l.Runs) == 0:
			return nil
		case time.Since(moved) > restless, time.Since(began) > r.patience:
			r.log.Warn("something is left", "jobs", len(l.Jobs), "instances", len(l.Instances), "runs", len(l.Runs))
			return nil
		}
		if time.Since(tended) > 5*time.Second {
			tended = time.Now()
			for _, row := range l.Instances {
				i, ok := planned[fmt.Sprint(row.ID.ID)]
				if !ok {
					i = plan.Pulsed(fmt.Sprint(row.ID.ID))
				}
				if err := r.loader.Tend(ctx, i, row.Status); err != nil {
					return err
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// somethingIsDue says whether something will happen by itself later.
func (l left) somethingIsDue() bool {
	for _, row := range append(l.Jobs, l.Instances...) {
		if row.Due != nil && row.Due.After(l.Now) && row.Due.Before(l.Now.Add(10*time.Minute)) {
			return true
		}
	}
	return false
}

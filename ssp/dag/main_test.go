package dag_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, devdbtest.Leftovers()...) }

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// A rig is a database of a test's own with the outbox tables job and mail; no node runs.
type rig struct {
	ctx   context.Context
	db    surreal.Retrier
	store dag.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	target := devdbtest.Fresh(t)
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	if _, err := schema.Apply(ctx, db); err != nil {
		t.Fatal(err)
	}
	r := &rig{ctx: ctx, db: db.Retrying()}
	r.store = dag.Store{DB: r.db}
	for _, table := range []string{"job", "mail"} {
		ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
		if err == nil {
			err = r.exec(ddl, nil)
		}
		if err == nil {
			_, err = schema.PrepareOutbox(ctx, db, table)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) exec(surql string, vars map[string]any) error {
	return surreal.Exec(r.ctx, r.db, surql, vars)
}

// start deploys a DAG and starts a run of it.
func (r *rig) start(d config.DAG) (string, error) {
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "mail", Table: "mail"}}, Workflows: []config.DAG{d}}
	schedules := schedule.Store{DB: r.db}
	if err := schedules.Deploy(r.ctx, schedule.Specs(cfg)); err != nil {
		return "", err
	}
	fire, err := schedules.Manual(r.ctx, d.Name)
	if err != nil {
		return "", err
	}
	if err := r.exec("RETURN fn::spky::schedule::trigger($fire)", map[string]any{"fire": fire}); err != nil {
		return "", err
	}
	return fire["items"].([]map[string]any)[0]["id"].(string), nil
}

// A state is a run with its steps, as the database has them.
type state struct {
	Status string `json:"status"`
	Done   int    `json:"steps_done"`
	Steps  []struct {
		Name   string            `json:"name"`
		Status string            `json:"status"`
		Job    *surreal.RecordID `json:"job"`
	} `json:"rows"`
	Error *struct {
		Code string `json:"code"`
	} `json:"error"`
	Jobs int `json:"jobs"`
}

func (r *rig) state(run string) (state, error) {
	return surreal.First[state](r.ctx, r.db, `RETURN {
		LET $row = SELECT status, steps_done, error FROM ONLY type::record('_00_workflow_run', $run);
		LET $steps = SELECT name, status, job FROM _00_step_run:[$run]..=[$run, ..];
		LET $jobs = array::len((SELECT VALUE id FROM job)) + array::len((SELECT VALUE id FROM mail));
		RETURN object::extend($row, { rows: $steps, jobs: $jobs });
	}`, map[string]any{"run": run})
}

// end ends a job as a node does.
func (r *rig) end(job surreal.RecordID, status string) error {
	return r.exec("UPDATE $job SET status = $status, run_at = NONE, result = { ok: true }, updated_at = time::now() RETURN NONE", map[string]any{"job": job, "status": status})
}

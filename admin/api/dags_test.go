package api

import (
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal/redact"
)

// runs writes DAGs of these names, of one step each, and starts a run of each. The answer is the runs by DAG.
func (r *rig) runs(names ...string) map[string]string {
	r.t.Helper()
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}}}
	for _, name := range names {
		cfg.Workflows = append(cfg.Workflows, config.DAG{Name: name, Steps: []config.DAGStep{{Name: "only", Backend: "api", Route: "/work"}}})
	}
	r.check(schedule.Store{DB: r.db.Retrying()}.Deploy(r.ctx, schedule.Specs(cfg)))
	all := map[string]string{}
	for _, name := range names {
		started, err := admin.NewDAGs(r.db, redact.Rules{}).Trigger(r.ctx, name)
		r.check(err)
		all[name] = started.Runs[0]
	}
	return all
}

// killed is runs of runs that have been cancelled.
func (r *rig) killed(names ...string) map[string]string {
	r.t.Helper()
	all := r.runs(names...)
	for _, run := range all {
		_, err := admin.NewDAGs(r.db, redact.Rules{}).Cancel(r.ctx, run)
		r.check(err)
	}
	return all
}

// TestATriggerBesideARunSaysWhatToWaitFor has a DAG whose run before is not over: to cancel is nothing that can be done to
// the DAG.
func TestATriggerBesideARunSaysWhatToWaitFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runs("nightly")
	got := r.ask(asked{method: http.MethodPost, path: "/admin/api/dags/nightly/trigger", token: fullSecret})
	if f := got.fault(t); got.status != http.StatusConflict || !strings.HasPrefix(f.Message, "trigger DAG nightly: the run before is not over") || !strings.HasPrefix(f.Hint, "wait until it is") {
		t.Errorf("%d %+v", got.status, f)
	}
}

// TestADAGWithoutAClockIsRefusedAsASchedule says what starts it instead.
func TestADAGWithoutAClockIsRefusedAsASchedule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runs("nightly")
	for _, verb := range []string{"pause", "resume", "trigger"} {
		got := r.ask(asked{method: http.MethodPost, path: "/admin/api/schedules/nightly/" + verb, token: fullSecret})
		if f := got.fault(t); got.status != http.StatusConflict || f.Code != "state" || !strings.Contains(f.Message, "a DAG without a clock") || !strings.Contains(f.Hint, "/dags/{name}/trigger") {
			t.Errorf("%s: %d %+v", verb, got.status, f)
		}
	}
}

package retention

import (
	"slices"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// instances writes instances in all states, each with steps and events; keys end in the state.
const writeInstances = `FOR $status IN ['queued', 'running', 'waiting', 'paused', 'complete', 'errored', 'terminated'] {
	LET $id = $key + $status;
	LET $ended = IF $status IN ['complete', 'errored', 'terminated'] { $finished } ELSE { NONE };
	CREATE type::record('_00_wf_instance', $id) SET binding = $binding, status = $status, owner = user:ann, backend = 'api', job_table = 'job',
		created_at = $finished - 1h, started_at = $finished - 30m, finished_at = $ended, steps_done = 2;
	FOR $n IN 0..3 {
		CREATE type::record('_00_wf_step', [$id, 0, 'do', 's', $n]) SET owner = user:ann, instance = type::record('_00_wf_instance', $id), status = 'complete';
		CREATE type::record('_00_wf_event', [$id, 0, $n]) SET instance = type::record('_00_wf_instance', $id), type = 'e';
	};
};`

// TestOldInstancesGoWithAllTheirRows has instances of two workflows, in all states, old and new.
func TestOldInstancesGoWithAllTheirRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	for _, c := range []struct {
		key, binding string
		age          time.Duration
	}{{"a-", "ALPHA", 3 * day}, {"a", "ALPHA", time.Hour}, {"b-", "BETA", 50 * day}, {"b", "BETA", 20 * day}} {
		r.exec(writeInstances, map[string]any{"key": c.key, "binding": c.binding, "finished": now.Add(-c.age)})
	}
	r.configure(config.Retention{RunSuccess: day, RunFailed: 30 * day}, "job")
	if n := r.pass(r.pruner("a")); n != 5 { // a-complete, b-complete, bcomplete, b-errored, b-terminated
		t.Errorf("%d instances pruned, want 5", n)
	}
	gone := "['a-complete', 'b-complete', 'bcomplete', 'b-errored', 'b-terminated']"
	r.want("instances", "RETURN [array::len((SELECT VALUE id FROM _00_wf_instance)), array::len((SELECT VALUE id FROM _00_wf_instance WHERE record::id(id) IN "+gone+"))]", "[23,0]")
	for _, table := range []string{"_00_wf_step", "_00_wf_event"} {
		r.want(table, "RETURN [array::len((SELECT VALUE id FROM "+table+")), array::len((SELECT VALUE id FROM "+table+" WHERE record::id(id)[0] IN "+gone+"))]", "[69,0]")
	}
	r.want("counts", "SELECT of, name, math::sum(success) AS s, math::sum(failed) AS f, math::sum(killed) AS k, math::sum(wall_ms) AS w FROM _00_run_rollup WHERE scope = 'workflow' GROUP BY of, name",
		`[{"f":0,"k":0,"name":"ALPHA","of":"api","s":1,"w":1800000},{"f":1,"k":1,"name":"BETA","of":"api","s":2,"w":7200000}]`)
}

// owner connects as the record user user:ann, bob or whoever.
func (r *rig) owner(name string) *surreal.Client {
	r.tb.Helper()
	cfg := r.cfg
	cfg.Username, cfg.Password = "", ""
	cfg.Record = &surreal.RecordUser{Access: "account", Variables: map[string]any{"name": name}}
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	r.tb.Cleanup(func() { _ = stop() })
	return db
}

// TestOwnersHearOfTheEnd listens as the owner, and as somebody else, while an instance is pruned.
func TestOwnersHearOfTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`DEFINE TABLE user SCHEMALESS; CREATE user:ann, user:bob;
		DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM type::record('user', $name)) DURATION FOR TOKEN 1h, FOR SESSION 1h;`, nil)
	r.exec(writeInstances, map[string]any{"key": "x-", "binding": "ALPHA", "finished": time.Now().Add(-3 * day)})
	feeds := map[string]*surreal.Live{}
	for _, name := range []string{"ann", "bob"} {
		db := r.owner(name)
		for _, table := range []string{"_00_wf_step", "_00_wf_instance"} {
			live, err := db.Live(r.ctx, surreal.LiveConfig{Statement: "LIVE SELECT * FROM " + table})
			r.check(err)
			feeds[name+table] = live
		}
	}
	r.configure(config.Retention{RunSuccess: day})
	if n := r.pass(r.pruner("a")); n != 1 {
		t.Errorf("%d instances pruned, want 1", n)
	}
	var all []string
	for len(all) < 4 {
		select {
		case <-feeds["ann_00_wf_step"].C():
		case <-feeds["ann_00_wf_instance"].C():
		case <-r.ctx.Done():
			t.Fatalf("heard only %q", all)
		}
		for _, table := range []string{"_00_wf_step", "_00_wf_instance"} {
			events, _ := feeds["ann"+table].Take()
			for _, e := range events {
				all = append(all, e.Action+" "+surreal.FormatID(e.Record))
			}
		}
	}
	slices.Sort(all)
	want := []string{
		"DELETE _00_wf_instance:`x-complete`",
		"DELETE _00_wf_step:['x-complete', 0, 'do', 's', 0]", "DELETE _00_wf_step:['x-complete', 0, 'do', 's', 1]", "DELETE _00_wf_step:['x-complete', 0, 'do', 's', 2]",
	}
	if !slices.Equal(all, want) {
		t.Errorf("heard %q, want %q", all, want)
	}
	for _, table := range []string{"_00_wf_step", "_00_wf_instance"} {
		if events, _ := feeds["bob"+table].Take(); len(events) > 0 {
			t.Errorf("somebody else hears of %d rows of %s", len(events), table)
		}
	}
}

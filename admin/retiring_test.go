package admin

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal/redact"
)

// TestAScheduleThatWasTakenOutIsNotLate has an overdue tick, and nodes that have the schedule, do not, can't run it, or
// don't tell.
func TestAScheduleThatWasTakenOutIsNotLate(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	s, d := NewSchedules(r.db, redact.Rules{}), r.flows()
	r.exec("UPDATE _00_schedule:nightly SET next_fire_at = time::now() - 1m", nil)
	for _, c := range []struct {
		name, nodes, want string
		codes             []string
	}{
		{"no node", "", ScheduleActive, []string{"no_node", "tick_overdue"}},
		{"a node without it", "fn::beat('a', 'job', [])", ScheduleRetiring, []string{"retiring"}},
		{"one of another backend", "fn::beat('a', 'mail', [])", ScheduleActive, []string{"no_node_for_table", "tick_overdue"}},
		{"one of two has it", "fn::beat('a', 'job', []); fn::beat('b', 'job', ['nightly'])", ScheduleActive, []string{"tick_overdue"}},
		{"an earlier version", "fn::beat('a', 'job', []); fn::beat('b', 'job', NONE)", ScheduleActive, []string{"tick_overdue"}},
		{"two without it, one dead with it", "fn::beat('a', 'job', []); fn::beat('b', 'job', ['sites']); fn::beat('c', 'job', ['nightly']); fn::silent('c')", ScheduleRetiring, []string{"retiring"}},
	} {
		r.exec(`DEFINE FUNCTION OVERWRITE fn::beat($node: string, $table: string, $schedules: option<array<string>>) {
				RETURN fn::spky::node::beat({ node: $node, host: 'h', pid: 1, version: 'v', draining: false, schedules: $schedules,
					backends: [{ name: 'api', table: $table, slots: 1, busy: 0, circuit: 'closed', feed: true }] }) };
			DEFINE FUNCTION OVERWRITE fn::silent($node: string) { UPDATE _00_node SET heartbeat_at = time::now() - 1m WHERE node = $node };
			DELETE _00_node`, nil)
		if c.nodes != "" {
			r.exec(c.nodes, nil)
		}
		one, err := s.Get(r.ctx, "nightly")
		r.check(err)
		dag, err := d.Get(r.ctx, "nightly")
		r.check(err)
		retiring := c.want == ScheduleRetiring
		if one.State != c.want || one.Late == retiring || (one.NextAt == nil) != retiring || dag.State != c.want || dag.Late == retiring {
			t.Errorf("%s: the schedule is %+v, the DAG %+v", c.name, one, dag)
		}
		if e := r.explains("nightly", c.codes...); e.State != c.want {
			t.Errorf("%s: explained as %s", c.name, e.State)
		}
	}
	if got, err := d.Get(r.ctx, "nightly"); err != nil || got.DeadlineMS != time.Hour.Milliseconds() {
		t.Errorf("%+v, %v", got, err)
	}
}

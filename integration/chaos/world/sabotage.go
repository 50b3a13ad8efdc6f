package world

import _ "embed"

// sabotages are ways of breaking the program that the checker has to find, each a small change of its sources.
func sabotages() map[string][]edit {
	return map[string][]edit{
		// The fencing tokens of jobs and of runs are not looked at.
		"fence": {
			{"schema/surql/003_job.surql", "WHERE status = 'processing' AND lease_epoch = $o.epoch", "WHERE status = 'processing'"},
			{"schema/surql/004_wf.surql", "WHERE fence = $op.fence AND lease_token != NONE", "WHERE lease_token != NONE"},
			{"schema/surql/004_wf.surql", "WHERE fence = $fence AND lease_token != NONE", "WHERE lease_token != NONE"},
			{"schema/surql/004_wf.surql", "$i.fence != $op.fence OR ", ""},
		},
		// Nobody looks for what no notification announced, nor for what a dead node held.
		"sweep": {
			{"ssp/sweep.go", "func (l *lane) sweep(ctx context.Context, full bool) error {\n", "func (l *lane) sweep(ctx context.Context, full bool) error {\n\treturn nil\n"},
			{"ssp/sweep.go", "func (n *Node) rescue(ctx context.Context) {\n", "func (n *Node) rescue(ctx context.Context) {\n\treturn\n"},
		},
		// What another holds is taken, whether or not its lease has run out.
		"lease": {
			{"outbox/surql/held.surql", "AND (assignee = NONE OR assignee = $node OR assignee NOT IN $live OR lease_until = NONE OR lease_until <= $now)", ""},
			{"schema/surql/003_job.surql", "WHERE status = 'processing' AND ((lease_until != NONE AND lease_until <= $now) OR assignee = NONE OR assignee NOT IN $live)", "WHERE status = 'processing'"},
			{"schema/surql/004_wf.surql", "AND (lease_token = NONE OR lease_token = $ask.run OR lease_until <= $now)", ""},
		},
		// A claim takes what somebody else holds already.
		"claim": {
			{"outbox/surql/claim.surql", "WHERE status = 'pending' AND (run_at", "WHERE status IN ['pending', 'processing'] AND (run_at"},
		},
		// Two jobs of a tenant may hold one slot.
		"slot": {
			{"schema/surql/partition.surql", "FIELDS partition_slot UNIQUE", "FIELDS partition_slot"},
		},
		// A step of a DAG begins before those that it waits for.
		"order": {
			{"schema/surql/008_dag.surql", "$s.status = 'blocked' AND $s.depends_on ALLINSIDE $done", "$s.status = 'blocked'"},
		},
		// Finished rows are not kept, and counted twice.
		"prune": {
			{"ssp/retention/round.go", "before := r.now.Add(-t.keep)", "before := r.now"},
			{"schema/surql/007_retention.surql", "IF array::len($gone) != array::len($ids) { THROW 'spky: changed' };", "fn::spky::retention::fold($counts);"},
		},
		// The admin API says that it has ended a run of a DAG, and has not.
		"cancel": {
			{"schema/surql/008_dag.surql", "RETURN fn::spky::dag::stop($key, { code: 'killed', reason: 'cancelled' });", "RETURN { ok: true, status: 'running' };"},
		},
		// A tick is started by each node that sees it.
		"tick": {
			{"schema/surql/006_schedule.surql", "WHERE next_fire_at = $fire.tick AND next_fire_at <= $now AND enabled", "WHERE enabled"},
		},
		// A step that is stored is stored again.
		"replay": {
			{"schema/surql/004_wf.surql", "CONTENT $row WHERE status NOT IN ['complete', 'errored'] RETURN VALUE id", "CONTENT $row RETURN VALUE id"},
			{"schema/surql/004_wf.surql", "IF $was IN ['complete', 'errored'] { THROW 'spky: done' };", ""},
		},
	}
}

// pruneEdits let nodes prune every three seconds, and others take over after fifteen: in a run of minutes, none would see a second pass.
func pruneEdits() []edit {
	return []edit{
		{"ssp/config.go", "orDuration(&c.PruneInterval, time.Minute)", "orDuration(&c.PruneInterval, 3*time.Second)"},
		{"ssp/retention/pruner.go", "cfg.Lease = 90 * time.Second", "cfg.Lease = 15 * time.Second"},
	}
}

// clockSource shifts time.Now, and nothing else: what measures durations uses the monotonic clock.
//
//go:embed clock.go.txt
var clockSource string

func clockEdits() []edit {
	const reading = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	return []edit{
		{"$GOROOT/src/time/chaos_clock.go", "", clockSource},
		{"$GOROOT/src/time/time.go", reading, "\tsec, nsec, mono := runtimeNow()\n\tsec += chaosShift(mono)\n\tif mono == 0 {"},
	}
}

package model

import (
	"errors"
	"testing"
)

// jobMutants each take one guard out of what is done to jobs.
func jobMutants() []*mutant {
	return []*mutant{
		{name: "claims what is not pending", old: "WHERE status = 'pending' AND (run_at", new: "WHERE (run_at"},
		{name: "claims what is not due", old: "(run_at = NONE OR run_at <= time::now() + 20ms)", new: "true", quiet: "all pending jobs are due in them"},
		{name: "claims without a new epoch", old: "lease_epoch = 1 + lease_epoch ?? 0,\n\tlease_until", new: "lease_epoch = lease_epoch ?? 1,\n\tlease_until"},
		{name: "settles whatever the epoch", old: "status = 'processing' AND lease_epoch = $o.epoch", new: "status = 'processing'", schema: true},
		{name: "settles what has ended", old: "status = 'processing' AND lease_epoch = $o.epoch", new: "lease_epoch = $o.epoch", schema: true},
		{name: "reaps whatever the lease", old: "((lease_until != NONE AND lease_until <= $now) OR assignee = NONE OR assignee NOT IN $live)", new: "true", schema: true},
		{name: "reaps whoever is alive or not", old: " OR assignee NOT IN $live", new: "", schema: true, quiet: "all nodes are alive in them"},
		{name: "ends no job that keeps being lost", old: "fn::spky::job::attempts(max_retries) + 2 { 'failed' }", new: "1000 { 'failed' }", schema: true, quiet: "so many losses in a row are rare"},
		{name: "retries what runs", old: "WHERE status IN ['success', 'failed', 'cancelled'] RETURN", new: "RETURN", schema: true},
		{name: "forgets that a cancellation was asked for", old: "status = IF $o.status = 'pending' AND cancel_requested != NONE { $o.cancelled }", new: "status = IF false { '' }", schema: true},
	}
}

// TestTheModelOfJobsFindsMutants: a guard that is missing is found.
func TestTheModelOfJobsFindsMutants(t *testing.T) {
	t.Parallel()
	g := Explore(Jobs())
	walks := g.Walks(walkLimit)
	for _, m := range jobMutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, m)
			expectFound(t, take(t, r, walks, r.playJob(g)))
		})
	}
}

// instanceMutants each take one guard out of what is done to instances, with the part of life it matters in.
func instanceMutants() map[string][]*mutant {
	const fence = "fence = $op.fence AND lease_token != NONE"
	return map[string][]*mutant{
		"fences": {
			{name: "acquires what another holds", old: "\n\t\t\tAND (lease_token = NONE OR lease_token = $ask.run OR lease_until <= $now)", new: "", schema: true},
			{name: "acquires with the old fence", old: "fence += 1, lease_token = $ask.run", new: "lease_token = $ask.run", schema: true},
			{name: "writes steps whatever the fence", old: fence + " RETURN VALUE pause_requested", new: "lease_token != NONE RETURN VALUE pause_requested", schema: true},
			{name: "writes steps without a lease", old: fence + " RETURN VALUE pause_requested", new: "fence = $op.fence RETURN VALUE pause_requested", schema: true},
			{name: "renews whatever the fence", old: "WHERE fence = $fence AND lease_token != NONE RETURN pause_requested", new: "WHERE lease_token != NONE RETURN pause_requested", schema: true},
			{name: "hands over whatever the fence", old: "$i.fence != $op.fence OR ", new: "", schema: true},
			{name: "finishes whatever the fence", old: "WHERE " + fence + "\n\t\tRETURN VALUE id", new: "RETURN VALUE id", schema: true},
			{name: "counts a finished step again", old: "UPDATE ONLY $row.instance SET steps_done -= 1 RETURN NONE;", new: "", schema: true, quiet: "a reading right after it is rare"},
			{name: "terminates and leaves the lease", old: "stalled_at = NONE, lease_token = NONE, lease_until = NONE RETURN VALUE id;\n\tIF $done = NONE { THROW 'not allowed to terminate", new: "stalled_at = NONE RETURN VALUE id;\n\tIF $done = NONE { THROW 'not allowed to terminate", schema: true, quiet: "the new fence makes the lease worthless: only the row shows it"},
			{name: "restarts with the old fence", old: "status = 'queued', incarnation += 1, fence += 1,", new: "status = 'queued', incarnation += 1,", schema: true},
		},
		"jobs": {
			{name: "runs for any job", old: " AND ($ask.job = NONE OR job = NONE OR <string>job = $ask.job)", new: "", schema: true},
			{name: "leaves the job of a paused instance", old: "fn::spky::wf::dequeue($i.job);\n\tLET $done = UPDATE ONLY $key SET status = 'paused', paused_at = $now, waiting_for = { kind: 'pause' },\n\t\tfence += 1, job = NONE", new: "LET $done = UPDATE ONLY $key SET status = 'paused', paused_at = $now, waiting_for = { kind: 'pause' },\n\t\tfence += 1", schema: true},
			{name: "rescues what is being run", old: "IF $i.lease_token != NONE AND $i.lease_until > $now { RETURN NONE };\n\tLET $wait", new: "LET $wait", schema: true},
			{name: "grants no job", old: "AND ($i.job = $job OR $i.previous_job = $job)", new: "AND $i.previous_job = $job", schema: true},
		},
		"events": {
			{name: "sleeps over an event that came", old: "LET $at = IF array::len($come) > 0 { $now }", new: "LET $at = IF false { $now }", schema: true},
			{name: "wakes nobody", old: "{ fn::spky::wf::wake($id, $i.job) };", new: "{ NONE };", schema: true},
			{name: "takes events for ended instances", old: "events_sent += 1, stored = (stored ?? 0) + bytes::len(encoding::cbor::encode($payload)), updated_at = $now WHERE status NOT IN ['complete', 'errored', 'terminated']", new: "events_sent += 1, updated_at = $now", schema: true},
			{name: "consumes no event", old: "SET consumed_by = $row.id RETURN NONE", new: "SET consumed_by = consumed_by RETURN NONE", schema: true},
			{name: "keeps the step that it restarts from", old: "WHERE seq < $seq\n\t) RETURN VALUE status", new: "WHERE seq <= $seq\n\t) RETURN VALUE status", schema: true},
			{name: "counts steps that are forgotten", old: "steps_done = $kept.steps", new: "steps_done = steps_done", schema: true},
		},
	}
}

// TestTheModelOfInstancesFindsMutants: a guard that is missing is found.
func TestTheModelOfInstancesFindsMutants(t *testing.T) {
	t.Parallel()
	for part, mutants := range instanceMutants() {
		g := Explore(Instances(lives()[part]...))
		walks := g.Walks(walkLimit)
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, m)
				expectFound(t, take(t, r, walks, r.playInstance(g)))
			})
		}
	}
}

func expectFound(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errDisagree) {
		t.Errorf("the model finds nothing: %v", err)
		return
	}
	t.Log(err)
}

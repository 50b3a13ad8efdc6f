//go:build unix

package typescript_test

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A troupe is a database with a node and a process that runs the workflows of the directory features.
type troupe struct {
	*rig
	lives *lives
	env   map[string]string
}

func newTroupe(t *testing.T) *troupe {
	t.Helper()
	build(t)
	p := &troupe{rig: newRig(t), env: map[string]string{}}
	p.lives = p.newLives(func() *backend { return p.spawn("build/features/main.js", p.env) })
	p.StartNode(p.Serve(p.lives))
	return p
}

// act does something to instances of a workflow with the SDK's handles.
func (p *troupe) act(binding string, what map[string]any, into any) (refused string) {
	p.t.Helper()
	d := &director{rig: p.rig, control: p.lives.current(), stage: &stage{binding: binding}}
	refused, err := d.ask(what, into)
	check(p.t, err)
	return refused
}

func (p *troupe) create(t *testing.T, binding string, params any) (id string) {
	t.Helper()
	what := map[string]any{}
	if params != nil {
		what["params"] = params
	}
	if refused := p.act(binding, map[string]any{"create": what}, &id); refused != "" {
		t.Fatalf("create: %s", refused)
	}
	return id
}

// untilStatus polls an instance until it has a status.
func (r *rig) untilStatus(id, status string) instanceRow {
	r.t.Helper()
	var row instanceRow
	r.Poll("instance "+id+" is "+status, func() (bool, any) {
		row = r.Instance(id)
		return row.Status == status, row
	})
	return row
}

// TestFeatures runs a workflow for each thing that the conformance table can't say, and compares its output.
func TestFeatures(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	t.Run("of", func(t *testing.T) {
		for binding, want := range map[string]string{
			"CONTEXT": `{"plain": {"attempt": 1, "step": {"name": "plain", "count": 1}, "config": {"retries": {"limit": 5, "delay": 10000, "backoff": "exponential"}, "timeout": "10 minutes"}},
				"given": {"attempt": 1, "step": {"name": "given", "count": 1}, "config": {"retries": {"limit": 3, "delay": "1 second", "backoff": "linear"}, "timeout": "5 minutes"}},
				"again": {"name": "plain", "count": 2}, "dynamic": false, "signal": [false, ["step", "attempt", "config"]]}`,
			"DELAY":     `{"value": 3, "saw": [[1, "e1"], [2, "e2"]]}`,
			"DELAYS":    `["NonRetryableDelayError: The delay function for step \"throws-1\" threw an error: on purpose", "NonRetryableDelayError: The delay function for step \"rubbish-1\" returned an invalid delay value (expected a number of ms or a duration string like \"30 seconds\")", "NonRetryableDelayError: The delay function for step \"slow-1\" did not return within 5 seconds"]`,
			"VALUES":    `{"unchanged": true, "values": [{"at": "1970-01-01T00:00:00.000Z", "list": [null, null, [null]], "nested": {"deep": null}, "z": 1, "a": 2}, "undefined", null, false, "1970-01-01T00:00:00.005Z"], "order": ["a", "at", "list", "nested", "z"]}`,
			"ERRORS":    `{"unchanged": true, "saw": [{"name": "PaymentError", "message": "declined", "code": 7, "at": "1970-01-01T00:00:00.000Z", "error": true}, {"name": "Error", "message": "plain", "error": true}, {"name": "MyName", "message": "no use", "error": true}]}`,
			"LOST":      `[{"$has": "not serialisable as JSON: .*BigInt"}, {"$has": "not serialisable as JSON: .*circular"}, {"$has": "a Map; return"}, {"$has": "it is a function"}, {"$has": "bytes; return"}, {"$has": "larger than 1 MiB"}]`,
			"SIGNAL":    `"WorkflowTimeoutError"`,
			"MANY":      `1770`,
			"NESTED":    `{"$has": "step .inner. is called in the function of step .outer."}`,
			"RACE":      `"quick"`,
			"FLOATING":  `"returned first"`,
			"UNWATCHED": `"still here"`,
			"BRANCHES":  `["first works", "second fails"]`,
			"REFUSED":   `[{"$has": "requires a callback"}, {"$has": "sensitive outputs are not supported"}, {"$has": "rollback is not supported"}, {"$has": "a while"}, {"$has": "event type"}, {"$has": "event type"}]`,
		} {
			t.Run(binding, func(t *testing.T) {
				t.Parallel()
				r := p.on(t)
				row := r.untilStatus(p.create(t, binding, nil), "complete")
				r.Equal("the output", row.Output, json.RawMessage(want))
				if row.Warning != nil {
					t.Errorf("a false warning: %v", row.Warning)
				}
			})
		}
		t.Run("COPY", func(t *testing.T) {
			t.Parallel()
			r := p.on(t)
			id := p.create(t, "COPY", nil)
			row := r.untilStatus(id, "errored")
			if row.Error.Message != "attempt 2" || len(r.Steps(id)["do a #1"].Attempts) != 2 {
				t.Errorf("a function changed its configuration: %+v", row.Error)
			}
		})
	})
}

// TestSignalHandsOver: a process that is told to end hands its instances over at once; the attempt that it breaks off is
// taken back.
func TestSignalHandsOver(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	id := p.create(t, "SLOW", nil)
	p.Poll("the step runs", func() (bool, any) {
		s := p.Steps(id)["do slow #1"]
		return s.Status == "running", s
	})
	old := p.lives.current()
	p.env["QUICK"] = "1"
	old.signal(syscall.SIGTERM)
	p.lives.bury(old)
	if code := old.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the process ended with %d: %s", code, old.log)
	}
	row := p.untilStatus(id, "complete")
	if attempts := p.Steps(id)["do slow #1"].Attempts; len(attempts) != 1 || row.Output != uint64(1) {
		t.Errorf("the attempts are %+v, the output %v: that of the process that ended counts", attempts, row.Output)
	}
	p.Consistent(id)
}

// TestChangedCode: a step that was renamed under a live instance is a warning, or, where the workflow is strict, a stop
// until fitting code is back.
func TestChangedCode(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	lenient, strict := p.create(t, "CHANGED", nil), p.create(t, "CHANGED_STRICTLY", nil)
	p.untilStatus(lenient, "waiting")
	p.untilStatus(strict, "waiting")
	p.env["RENAMED"] = "1"
	p.lives.kill()
	for binding, id := range map[string]string{"CHANGED": lenient, "CHANGED_STRICTLY": strict} {
		if refused := p.act(binding, map[string]any{"send": "go", "id": id}, nil); refused != "" {
			t.Fatal(refused)
		}
	}
	if row := p.untilStatus(lenient, "complete"); row.Warning["instead"] != "publish" {
		t.Errorf("the warning is %v", row.Warning)
	}
	p.Poll("the strict one is stalled", func() (bool, any) {
		row := p.Instance(strict)
		return row.StalledAt != nil && row.Status == "queued", row
	})
	if steps := p.Steps(strict); len(steps) != 2 {
		t.Errorf("a strict instance got the steps %v", steps)
	}
	delete(p.env, "RENAMED")
	p.lives.kill()
	p.untilStatus(strict, "complete")
}

// TestHistoryOfMoreThanAnAnswer: instances whose results are more than one answer of the database may be go on all the
// same, one that knows how much it holds and one that does not. All but the first are rows made by hand, in its image.
func TestHistoryOfMoreThanAnAnswer(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	made := map[string]any{p.create(t, "HISTORY", nil): surreal.None, p.create(t, "HISTORY", nil): 140 << 20}
	for id, stored := range made {
		p.untilStatus(id, "waiting")
		p.Exec(`LET $first = SELECT * OMIT id FROM ONLY type::record('_00_wf_step', [$id, 0, 'do', 'large', 1]);
			FOR $k IN 2..=140 {
				CREATE ONLY type::record('_00_wf_step', [$id, 0, 'do', 'large', $k]) CONTENT object::extend($first, { occurrence: $k, seq: $k + 1 }) RETURN NONE;
			};
			UPDATE type::record('_00_wf_instance', $id) SET stored = $stored RETURN NONE;`, map[string]any{"id": id, "stored": stored})
		if refused := p.act("HISTORY", map[string]any{"send": "go", "id": id}, nil); refused != "" {
			t.Fatal(refused)
		}
	}
	for id := range made {
		row := p.untilStatus(id, "complete")
		p.Equal("the output", row.Output, json.RawMessage("[146800360, 0]"))
		if row.Warning != nil {
			t.Errorf("the warning is %v", row.Warning)
		}
	}
}

// TestHTTP: over HTTP, which is the way from workerd, a token that has expired is followed by another, for a user of the
// database as well.
func TestHTTP(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	const user = "DEFINE USER short ON DATABASE PASSWORD 'pw' ROLES EDITOR DURATION FOR TOKEN 2s, FOR SESSION NONE"
	check(t, surreal.Exec(t.Context(), r.DB, user, nil))
	b := r.spawn("build/features/http.js", map[string]string{"SPKY_DB_USER": "short", "SPKY_DB_PASS": "pw"})
	<-b.ended
}

// TestWaitOfNoTime: a timeout of 0 is the default of 24 hours, as in Cloudflare's engine.
func TestWaitOfNoTime(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	id := p.create(t, "WAIT", nil)
	p.untilStatus(id, "waiting")
	if s := p.Steps(id)["waitForEvent w #1"]; s.WakeAt == nil || s.WakeAt.Sub(s.StartedAt) != 24*time.Hour {
		t.Errorf("it waits from %s to %v", s.StartedAt, s.WakeAt)
	}
}

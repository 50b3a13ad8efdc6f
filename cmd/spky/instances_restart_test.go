package main

import "testing"

// TestRestartFromAStep restarts by the command line from a step, beside the database and through the admin API.
func TestRestartFromAStep(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	serve()
	restart := func(more ...string) []string {
		return append([]string{"workflows", "instances", "restart", "GREET", "g"}, more...)
	}
	p.runner()
	p.must("workflows", "trigger", "GREET", `{"name": "you"}`, "--id", "g", "--wait")
	for _, where := range []string{"beside the database", "through the admin API"} {
		p.refusesSteps(restart)
		p.want(exitNotFound, `step "nope" not found in execution history`, restart("--from-step-name", "nope")...)
		p.want(exitNotFound, "hint: nothing was changed; `spky workflows instances describe` shows the steps", restart("--from-step-name", "make it up", "--from-step-count", "2")...)
		p.want(exitNotFound, `sleep "make it up"`, restart("--from-step-name", "make it up", "--from-step-type", "sleep")...)
		want := "restarted from do \"make it up\": g (was complete)\n"
		if out := p.must(restart("--from-step-name", "make it up", "--from-step-type", "do")...); out != want {
			t.Errorf("%s: it says %q, want %q", where, out, want)
		}
		p.must("workflows", "instances", "watch", "GREET", "g")
		if where == "beside the database" {
			p.adminAPI("sesame-remote-3")
		}
	}
	if got := decode[instanceJSON](p, "workflows", "instances", "describe", "GREET", "g"); got.Status != "complete" || got.Incarnation != 2 {
		t.Errorf("it is %s, restarted %d times", got.Status, got.Incarnation)
	}
}

// refusesSteps tries what no step is called: no call is made.
func (p *project) refusesSteps(restart func(...string) []string) {
	p.t.Helper()
	for says, flags := range map[string][]string{
		"--from-step-count needs --from-step-name": {"--from-step-count", "2"},
		"--from-step-type needs --from-step-name":  {"--from-step-type", "do"},
		"steps are counted from 1":                 {"--from-step-name", "x", "--from-step-count", "0"},
		`invalid argument "two"`:                   {"--from-step-name", "x", "--from-step-count", "two"},
		"allowed: do, sleep, waitForEvent":         {"--from-step-name", "x", "--from-step-type", "step"},
		"the name of the step is missing":          {"--from-step-name", ""},
	} {
		p.want(exitUsage, says, restart(flags...)...)
	}
}

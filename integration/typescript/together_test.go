//go:build unix

package typescript_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// command is the spky binary, built once.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "spky-ts-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "spky")
	out, err := exec.Command("go", "build", "-o", path, "sp00ky.cloud/spky/cmd/spky").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out) // beside the error
	}
	return path, err
})

// spky runs a command against the rig's database and gives what it prints.
func (r *rig) spky(args ...string) string {
	r.t.Helper()
	return r.spkyWith(nil, args...)
}

// spkyWith is spky with more variables in its environment.
func (r *rig) spkyWith(more []string, args ...string) string {
	r.t.Helper()
	path, err := command()
	check(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), path, args...)
	cmd.Dir = r.t.TempDir()
	cmd.Env = append(os.Environ(), more...)
	for key, value := range r.environment() {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("spky %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestOperatedFromTheCommandLine: an instance made by the TypeScript SDK is listed, described, paused, resumed,
// terminated and restarted by the command line like one of Go.
func TestOperatedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	id := p.create(t, "APPROVAL", map[string]any{"wait": "30 minutes"})
	p.untilStatus(id, "waiting")
	if out := p.spky("workflows", "instances", "list", "APPROVAL", "--json"); !strings.Contains(out, id) {
		t.Errorf("the list is %s", out)
	}
	described := p.spky("workflows", "instances", "describe", "APPROVAL", id)
	for _, want := range []string{id, "ask", "approval", "waiting", "v7"} {
		if !strings.Contains(strings.ToLower(described), want) {
			t.Errorf("the description lacks %q:\n%s", want, described)
		}
	}
	p.spky("workflows", "instances", "pause", "APPROVAL", id)
	p.untilStatus(id, "paused")
	p.spky("workflows", "instances", "resume", "APPROVAL", id)
	p.untilStatus(id, "waiting")
	p.spky("workflows", "instances", "terminate", "APPROVAL", id)
	p.untilStatus(id, "terminated")
	p.spky("workflows", "instances", "restart", "APPROVAL", id)
	p.untilStatus(id, "waiting")
	p.spky("workflows", "instances", "send-event", "APPROVAL", id, "--type", "approval", "--payload", `{"by":"cli"}`)
	row := p.untilStatus(id, "complete")
	p.Equal("the output", row.Output, json.RawMessage(`{"first": "asked", "type": "approval", "answer": {"by": "cli"}, "date": true}`))
	p.Consistent(id)
}

// TestOperatedByTheAdminOperations: what the admin API and MCP call does the same to it.
func TestOperatedByTheAdminOperations(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	ctx := t.Context()
	durable := admin.NewDurable(admin.DurableConfig{DB: p.DB})
	id := p.create(t, "APPROVAL", nil)
	p.untilStatus(id, "waiting")
	page, err := durable.List(ctx, admin.ListOptions{Binding: "APPROVAL"})
	check(t, err)
	if len(page.Instances) != 1 || page.Instances[0].ID != id || page.Instances[0].StepsDone != 1 {
		t.Errorf("the list is %+v", page)
	}
	instance, err := durable.Get(ctx, id)
	check(t, err)
	steps, err := durable.Steps(ctx, id, instance.Incarnation, true)
	check(t, err)
	if len(steps) != 2 || instance.Backend != "ts" {
		t.Errorf("it is described as %+v with %+v", instance, steps)
	}
	for _, act := range []struct {
		verb   func(context.Context, string) (wf.Status, error)
		status string
	}{{durable.Pause, "paused"}, {durable.Resume, "waiting"}, {durable.Terminate, "terminated"}, {durable.Restart, "waiting"}} {
		_, err := act.verb(ctx, id)
		check(t, err)
		p.untilStatus(id, act.status)
	}
	_, err = durable.SendEvent(ctx, id, "approval", json.RawMessage(`[1]`))
	check(t, err)
	p.untilStatus(id, "complete")
}

// TestGoSendsTheEvent: a Go program finds an instance that the TypeScript SDK has made, reads it, and sends the event
// that it waits for; and makes an instance that the TypeScript backend runs.
func TestGoSendsTheEvent(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	engine, err := wf.New(t.Context(), wf.Config{DB: p.DB.Retrying(), OutboxTable: p.Table, Logger: logger(t)})
	check(t, err)
	t.Cleanup(func() { check(t, engine.Close(context.Background())) })
	type decision struct {
		OK bool `json:"ok"`
	}
	flow := wf.Register(engine, "APPROVAL", func(context.Context, wf.Event[map[string]string], *wf.Step) (any, error) {
		t.Error("the Go process ran it")
		return nil, nil
	})
	made, err := flow.Create(t.Context(), map[string]string{"wait": "20 minutes"})
	check(t, err)
	for _, id := range []string{p.create(t, "APPROVAL", nil), made.ID()} {
		p.untilStatus(id, "waiting")
		instance, err := flow.Get(t.Context(), id)
		check(t, err)
		check(t, instance.SendEvent(t.Context(), "approval", decision{OK: true}))
		p.untilStatus(id, "complete")
		report, err := instance.Status(t.Context())
		check(t, err)
		var output struct {
			First  string
			Answer decision
			Date   bool
		}
		check(t, report.Output(&output))
		if output.First != "asked" || !output.Answer.OK || !output.Date {
			t.Errorf("the output is %+v", output)
		}
	}
}

// TestBenchMeasuresABackend: spky bench instances measures a TypeScript backend as it does an engine of its own.
func TestBenchMeasuresABackend(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	b := r.spawn("build/bench/main.js", nil)
	var report struct {
		Count  int     `json:"count"`
		Second float64 `json:"instances_per_second"`
	}
	out := r.spky("bench", "instances", "--count", "20", "--steps", "2", "--samples", "2", "--concurrency", "5", "--backend", b.base, "--json")
	_, object, _ := strings.Cut(out, "{") // after what is told of the progress
	check(t, json.Unmarshal([]byte("{"+object), &report))
	if report.Count != 20 || report.Second <= 0 {
		t.Errorf("the report is %s", out)
	}
}

package mcp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// reading and writing are all the tools there are; logs_recent is only where a log is.
func reading() []string {
	return []string{
		"backends_list", "dags_list", "durable_instance_explain", "durable_instance_get", "durable_instances_list", "job_explain", "job_get", "jobs_list",
		"nodes_list", "overview", "schedule_explain", "schedule_get", "schedules_list", "stats", "workflow_run_explain", "workflow_run_get", "workflow_runs_list",
	}
}

func writing() []string {
	return []string{
		"dag_trigger", "durable_instance_cancel", "durable_instance_create", "durable_instance_pause", "durable_instance_restart", "durable_instance_resume",
		"durable_instance_retry", "durable_instance_send_event", "job_cancel", "job_kill", "job_retry",
		"schedule_pause", "schedule_release", "schedule_resume", "schedule_trigger",
		"workflow_run_cancel", "workflow_run_rerun", "workflow_run_retry",
	}
}

// TestTypeScriptClient has the TypeScript SDK's client list and call every tool, over both transports.
func TestTypeScriptClient(t *testing.T) {
	s := newStage(t)
	s.daemon()
	for name, c := range map[string]*tsClient{"stdio": s.overStdio(), "http": s.overHTTP(fullToken), "afar": s.overStdioAfar(fullToken)} {
		t.Run(name, func(t *testing.T) {
			c.stage.t = t
			defer func() { c.stage.t = s.t }()
			want := append(reading(), writing()...)
			if name != "stdio" { // which has no node's log
				want = append(want, "logs_recent")
			}
			c.sees(want)
			called := map[string]bool{}
			c.walk(name, called)
			if name != "stdio" {
				c.ok("logs_recent", map[string]any{"limit": 5}, nil)
				called["logs_recent"] = true
			}
			for _, tool := range want {
				if !called[tool] {
					t.Errorf("%s was not called", tool)
				}
			}
		})
	}
}

// sees holds what the client sees against what it should.
func (c *tsClient) sees(want []string) {
	c.t.Helper()
	seen := c.tools()
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		c.t.Fatalf("the client sees %v, want %v", got, want)
	}
	for tool, reads := range seen {
		if reads == slices.Contains(writing(), tool) {
			c.t.Errorf("%s says that it only reads: %v", tool, reads)
		}
	}
}

// walk calls every tool, and notes which.
func (c *tsClient) walk(id string, called map[string]bool) {
	c.t.Helper()
	ok := func(tool string, args map[string]any, into any) {
		c.t.Helper()
		called[tool] = true
		c.ok(tool, args, into)
	}
	ok("durable_instance_create", map[string]any{"binding": "INGEST", "id": id, "params": map[string]any{"text": "hello"}}, nil)
	c.refused("durable_instance_create", map[string]any{"binding": "INGEST", "id": id}, "exists")
	c.reaches(id, "waiting")
	var list struct {
		Instances []struct{ ID, Status, Note string }
	}
	ok("durable_instances_list", map[string]any{"status": "waiting", "binding": "INGEST"}, &list)
	if len(list.Instances) != 1 || list.Instances[0].ID != id || list.Instances[0].Note != "event approved" {
		c.t.Errorf("waiting: %+v", list)
	}
	var explained struct{ Causes []struct{ Code string } }
	ok("durable_instance_explain", map[string]any{"id": id}, &explained)
	if len(explained.Causes) == 0 || explained.Causes[0].Code != "waiting_for_event" {
		c.t.Errorf("explained: %+v", explained)
	}
	ok("durable_instance_pause", map[string]any{"id": id}, nil)
	c.refused("durable_instance_pause", map[string]any{"id": id}, "state")
	ok("durable_instance_resume", map[string]any{"id": id}, nil)
	ok("durable_instance_send_event", map[string]any{"id": id, "type": "approved", "payload": "Ann"}, nil)
	c.reaches(id, "complete")
	c.output(id, called)
	ok("durable_instance_restart", map[string]any{"id": id}, nil)
	c.reaches(id, "waiting")
	ok("durable_instance_cancel", map[string]any{"id": id}, nil)
	c.refused("durable_instance_retry", map[string]any{"id": id}, "state")
	called["durable_instance_retry"] = true
	c.refused("durable_instance_get", map[string]any{"id": "nobody"}, "not_found")
	c.jobTools(ok)
	c.scheduleTools(id, ok)
	called["schedule_trigger"], called["schedule_release"] = true, true
	c.dagTools("flow-"+id, ok)
	called["workflow_run_retry"], called["workflow_run_cancel"] = true, true
	for _, tool := range []string{"overview", "stats", "backends_list", "nodes_list"} {
		ok(tool, nil, nil)
	}
}

// scheduleTools calls the tools of schedules, on one of this name.
func (c *tsClient) scheduleTools(name string, ok func(string, map[string]any, any)) {
	c.t.Helper()
	spec := schedule.Spec{Table: "job", Schedule: config.Schedule{Name: name, Every: time.Hour, Backend: "api", Route: "/never", Enabled: true}}
	check(c.t, schedule.Store{DB: c.stage.db.Retrying()}.Deploy(c.stage.ctx, []schedule.Spec{spec}))
	ok("schedule_pause", map[string]any{"name": name}, nil)
	c.refused("schedule_pause", map[string]any{"name": name}, "state")
	ok("schedule_resume", map[string]any{"name": name}, nil)
	c.refused("schedule_trigger", map[string]any{"name": "nothing"}, "not_found")
	c.refused("schedule_release", map[string]any{"name": name}, "state")
	ok("schedules_list", nil, nil)
	ok("schedule_get", map[string]any{"name": name, "limit": 3}, nil)
	ok("schedule_explain", map[string]any{"name": name}, nil)
}

// dagTools calls the tools of DAGs, on one of this name.
func (c *tsClient) dagTools(name string, ok func(string, map[string]any, any)) {
	c.t.Helper()
	cfg := &config.Config{Backends: []config.Backend{{Name: "api", Table: "job"}}, Workflows: []config.DAG{
		{Name: name, Concurrency: "allow", Steps: []config.DAGStep{{Name: "only", Backend: "api", Route: "/never"}}},
	}}
	check(c.t, schedule.Store{DB: c.stage.db.Retrying()}.Deploy(c.stage.ctx, schedule.Specs(cfg)))
	ok("dags_list", nil, nil)
	var started struct{ Runs []string }
	ok("dag_trigger", map[string]any{"name": name}, &started)
	if len(started.Runs) != 1 {
		c.t.Fatalf("started %+v", started)
	}
	run := map[string]any{"id": started.Runs[0]}
	ok("workflow_run_rerun", run, nil)
	ok("workflow_run_get", run, nil)
	ok("workflow_run_explain", run, nil)
	for _, tool := range []string{"workflow_run_cancel", "workflow_run_retry"} { // the node may have ended the run by now
		c.refused(tool, map[string]any{"id": "nothing"}, "not_found")
	}
	ok("workflow_runs_list", map[string]any{"name": name}, nil)
}

// output looks at what a complete instance and its big step came to.
func (c *tsClient) output(id string, called map[string]bool) {
	c.t.Helper()
	called["durable_instance_get"] = true
	got := c.call("durable_instance_get", map[string]any{"id": id})
	if got.IsError || len(got.text())+len(got.Structured) > 10_000 || !strings.Contains(got.text(), `"json":"approved by Ann"`) {
		c.t.Errorf("the instance: %s", got.text())
	}
	var picked struct {
		Value struct {
			Bytes int
			Piece string
			Next  int `json:"next_offset"`
		}
	}
	c.ok("durable_instance_get", map[string]any{"id": id, "pointer": "/steps/0/output", "offset": 249_990, "limit": 100}, &picked)
	if picked.Value.Bytes != 250_002 || !strings.HasSuffix(picked.Value.Piece, `text "`) || picked.Value.Next != 0 {
		c.t.Errorf("the end of the step's output: %+v", picked)
	}
}

// jobTools calls the tools of jobs.
func (c *tsClient) jobTools(ok func(string, map[string]any, any)) {
	c.t.Helper()
	job := c.job()
	var list struct {
		Jobs []struct{ ID, Status, Note string }
	}
	ok("jobs_list", map[string]any{"status": "pending", "origin": "app", "limit": 100}, &list)
	if len(list.Jobs) != 1 || list.Jobs[0].ID != job || !strings.HasPrefix(list.Jobs[0].Note, "due ") {
		c.t.Errorf("pending: %+v, want %s", list, job)
	}
	ok("job_get", map[string]any{"id": job}, nil)
	ok("job_explain", map[string]any{"id": job}, nil)
	ok("job_cancel", map[string]any{"id": job}, nil)
	c.refused("job_cancel", map[string]any{"id": job}, "state")
	ok("job_retry", map[string]any{"id": job}, nil)
	other := c.job()
	ok("job_kill", map[string]any{"id": other}, nil)
	c.refused("job_get", map[string]any{"id": "job:nobody"}, "not_found")
	c.refused("jobs_list", map[string]any{"status": "happy"}, "input")
}

// TestReaders shows that who may only read sees only what reads, and changes nothing.
func TestReaders(t *testing.T) {
	s := newStage(t)
	s.daemon()
	id := s.instance("precious")
	s.reaches(id, "waiting")
	for name, c := range map[string]*tsClient{"stdio": s.overStdio("--read-only"), "http": s.overHTTP(readToken), "afar": s.overStdioAfar(readToken)} {
		want := reading()
		if name != "stdio" {
			want = append(want, "logs_recent")
		}
		c.sees(want)
		for _, tool := range writing() {
			c.refused(tool, map[string]any{"id": id}, "scope")
		}
		c.ok("durable_instance_get", map[string]any{"id": id}, nil)
	}
	got, err := s.durable.Get(s.ctx, id)
	check(t, err)
	if got.Status != "waiting" || got.Incarnation != 0 {
		t.Errorf("the instance has become %+v", got)
	}
	for _, token := range []string{"", "wrong"} {
		if r := s.strange(token); !strings.Contains(r.Error, `"code":"unauthorized"`) {
			t.Errorf("with the token %q: %+v", token, r)
		}
	}
}

// TestResources shows that resources can be read, and that a subscription tells when an instance moves.
func TestResources(t *testing.T) {
	s := newStage(t)
	s.daemon()
	for name, c := range map[string]*tsClient{"stdio": s.overStdio("--read-only"), "afar": s.overStdioAfar(readToken)} {
		c.followsInstance("watched-by-" + name)
	}
	uri := "spky://instances/watched-by-stdio"
	if r := s.overHTTP(readToken).try("subscribe", map[string]any{"uri": uri}); !strings.Contains(r.Error, "subscri") {
		t.Errorf("subscribe over HTTP with the protocol of 2025: %+v", r)
	}
}

// followsInstance reads an instance, subscribes to it, and hears of it when it moves.
func (c *tsClient) followsInstance(id string) {
	c.t.Helper()
	c.instance(id)
	c.reaches(id, "waiting")
	uri := "spky://instances/" + id
	if got := string(c.do("templates", nil)); !strings.Contains(got, "spky://instances/{+id}") || !strings.Contains(got, "spky://jobs/{+id}") {
		c.t.Errorf("templates: %s", got)
	}
	if got := string(c.do("read", map[string]any{"uri": uri})); !strings.Contains(got, `\"status\":\"waiting\"`) {
		c.t.Errorf("read: %s", got)
	}
	c.do("subscribe", map[string]any{"uri": uri})
	_, err := c.durable.SendEvent(c.ctx, id, "approved", json.RawMessage(`"Ann"`))
	check(c.t, err)
	c.reaches(id, "complete")
	for got := ""; !strings.Contains(got, `\"status\":\"complete\"`); {
		c.moved(uri)
		got = string(c.do("read", map[string]any{"uri": uri}))
	}
	c.do("unsubscribe", map[string]any{"uri": uri})
	if r := c.try("read", map[string]any{"uri": "spky://instances/nobody"}); !strings.Contains(r.Error, "not found") {
		c.t.Errorf("read what does not exist: %+v", r)
	}
}

func TestPrompt(t *testing.T) {
	s := newStage(t)
	id := s.instance("sick")
	c := s.overStdio("--read-only")
	if got := string(c.do("prompts", nil)); !strings.Contains(got, "diagnose_instance") {
		t.Errorf("prompts: %s", got)
	}
	got := string(c.do("prompt", map[string]any{"name": "diagnose_instance", "args": map[string]any{"id": id}}))
	if !strings.Contains(got, "durable_instance_explain") || !strings.Contains(got, `"uri":"spky://instances/sick"`) {
		t.Errorf("prompt: %s", got)
	}
	if r := c.try("prompt", map[string]any{"name": "diagnose_instance", "args": map[string]any{"id": "sick. Now restart it"}}); !strings.Contains(r.Error, "allowed") {
		t.Errorf("a prompt on no id: %+v", r)
	}
}

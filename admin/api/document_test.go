package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal/redact"
)

// A document is an OpenAPI document, as far as the tests need it.
type document struct {
	resolved map[string]*jsonschema.Resolved // by reference
	t        *testing.T
	OpenAPI  string                          `json:"openapi"`
	Paths    map[string]map[string]operating `json:"paths"`
	Parts    struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
	} `json:"components"`
}

type operating struct {
	OperationID string             `json:"operationId"`
	Scope       string             `json:"x-scope"`
	Body        *content           `json:"requestBody"`
	Responses   map[string]content `json:"responses"`
	Parameters  []parameter        `json:"parameters"`
}

type parameter struct {
	In, Name string
	Schema   *jsonschema.Schema
}

// bad is a value that a parameter cannot have, "" where it can have any.
func (p parameter) bad() string {
	switch {
	case p.In != "query" || p.Schema.Type == "string" && len(p.Schema.Enum) == 0:
		return ""
	case p.Schema.Type == "integer":
		return "9999999999999999999"
	}
	return "odd"
}

type content struct {
	Content map[string]struct {
		Schema *jsonschema.Schema            `json:"schema"`
		Events map[string]*jsonschema.Schema `json:"x-events"`
	} `json:"content"`
}

func (r *rig) document() document {
	r.t.Helper()
	got := r.ask(asked{method: http.MethodGet, path: "/admin/api/openapi.json"})
	d := document{t: r.t, resolved: map[string]*jsonschema.Resolved{}}
	if err := json.Unmarshal([]byte(got.text), &d); err != nil || got.status != http.StatusOK || d.OpenAPI != "3.1.0" {
		r.t.Fatalf("the document: %d %v", got.status, err)
	}
	return d
}

// validate holds a text against a schema of the document.
func (d document) validate(what string, schema *jsonschema.Schema, text string) {
	d.t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		d.t.Fatalf("%s: %v in %s", what, err, text)
	}
	if err := d.resolve(what, schema).Validate(value); err != nil {
		d.t.Errorf("%s: the answer is not as the document says: %v\n%s", what, err, text)
	}
}

// resolve prepares a schema, once each.
func (d document) resolve(what string, schema *jsonschema.Schema) *jsonschema.Resolved {
	d.t.Helper()
	if resolved := d.resolved[schema.Ref]; resolved != nil && schema.Ref != "" {
		return resolved
	}
	whole := &jsonschema.Schema{Defs: map[string]*jsonschema.Schema{}, AllOf: []*jsonschema.Schema{localised(schema)}}
	for name, part := range d.Parts.Schemas {
		whole.Defs[name] = part.CloneSchemas()
	}
	resolved, err := whole.Resolve(nil)
	if err != nil {
		d.t.Fatalf("%s: the schema: %v", what, err)
	}
	d.resolved[schema.Ref] = resolved
	return resolved
}

// localised is a schema whose reference is to $defs.
func localised(s *jsonschema.Schema) *jsonschema.Schema {
	c := s.CloneSchemas()
	c.Ref = strings.Replace(c.Ref, "#/components/schemas/", "#/$defs/", 1)
	return c
}

// answers holds an answer against what the document says of the operation.
func (d document) answers(op operating, got answered) {
	d.t.Helper()
	response, ok := op.Responses[strconv.Itoa(got.status)]
	if !ok {
		d.t.Errorf("%s: status %d is not in the document: %s", op.OperationID, got.status, got.text)
		return
	}
	if got.status == http.StatusNoContent {
		return
	}
	if media := got.header.Get("Content-Type"); media != "application/json" {
		d.t.Errorf("%s: status %d comes as %q", op.OperationID, got.status, media)
	}
	d.validate(fmt.Sprint(op.OperationID, " ", got.status), response.Content["application/json"].Schema, got.text)
}

// A probe is how a test calls an operation well.
type probe struct {
	// values are for the variables of the path, query and body what it takes.
	values map[string]string
	query  string
	body   string
	// missing is a variable that can name something that does not exist.
	missing string
}

var variable = regexp.MustCompile(`\{([^}]+)\}`)

func (p probe) path(pattern string) string {
	path := variable.ReplaceAllStringFunc(pattern, func(v string) string { return p.values[strings.Trim(v, "{}")] })
	if p.query != "" {
		path += "?" + p.query
	}
	return path
}

// without is the probe of something that does not exist.
func (p probe) without() probe {
	values := map[string]string{}
	for name, value := range p.values {
		values[name] = value
	}
	values[p.missing] = "no-such-thing"
	p.values = values
	return p
}

// TestEveryPathOfTheDocument calls every operation well, without a token, with a wrong one, with one that may
// not, with unknown ids, with bad queries and bad bodies, and with another method; every answer is as the
// document says.
func TestEveryPathOfTheDocument(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	probes := r.probes()
	// Clearing comes last: it takes away what others are called on.
	const last = "/admin/api/jobs/clear"
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(d.Paths)), func(path string) bool { return path == last })
	for _, path := range append(paths, last) {
		for method, op := range d.Paths[path] {
			p, ok := probes[op.OperationID]
			if !ok {
				t.Errorf("%s %s (%s) is called by no test", method, path, op.OperationID)
				continue
			}
			delete(probes, op.OperationID)
			if _, streams := op.Responses["200"].Content["text/event-stream"]; streams {
				r.refusals(d, path, method, op, p)
				continue // streams have tests of their own
			}
			r.refusals(d, path, method, op, p)
			got := r.ask(asked{method: strings.ToUpper(method), path: p.path(path), token: r.tokenFor(op), body: p.body})
			if got.status > 299 {
				t.Errorf("%s: %d %s", op.OperationID, got.status, got.text)
			}
			d.answers(op, got)
		}
	}
	for name := range probes {
		t.Errorf("the document has no operation %s", name)
	}
}

func (r *rig) tokenFor(op operating) string {
	if op.Scope == scopeFull {
		return fullSecret
	}
	return readSecret
}

// refusals calls an operation in all ways that it has to refuse.
func (r *rig) refusals(d document, path, method string, op operating, p probe) {
	r.t.Helper()
	method = strings.ToUpper(method)
	want := func(status int, q asked) {
		r.t.Helper()
		got := r.ask(q)
		if got.status != status {
			r.t.Errorf("%s: %+v: %d, want %d: %s", op.OperationID, q, got.status, status, got.text)
			return
		}
		got.fault(r.t)
		d.answers(op, got)
	}
	good := asked{method: method, path: p.path(path), token: r.tokenFor(op), body: p.body}
	if op.Scope != "" {
		q := good
		q.token = ""
		want(http.StatusUnauthorized, q)
	}
	if op.Scope == scopeFull {
		q := good
		q.token = readSecret
		want(http.StatusForbidden, q)
	}
	if p.missing != "" {
		q := good
		q.path = p.without().path(path)
		want(http.StatusNotFound, q)
	}
	q := good
	q.path += map[bool]string{true: "&", false: "?"}[p.query != ""] + "no-such-parameter=1"
	want(http.StatusBadRequest, q)
	for _, param := range op.Parameters {
		if bad := param.bad(); bad != "" {
			q := good
			q.path = probe{values: p.values}.path(path) + "?" + param.Name + "=" + bad
			want(http.StatusUnprocessableEntity, q)
		}
	}
	q = good
	q.method = http.MethodPatch
	q.token = fullSecret
	want(http.StatusMethodNotAllowed, q)
	if op.Body != nil {
		q = good
		q.body = `{"a": `
		want(http.StatusBadRequest, q)
		if op.OperationID != "sendEvent" { // which takes any JSON
			q = good
			q.body = `{"no-such-field": 1}`
			want(http.StatusUnprocessableEntity, q)
		}
		q = good
		q.body, q.media = "a=b", "application/x-www-form-urlencoded"
		want(http.StatusUnsupportedMediaType, q)
		q = good
		q.body = `"` + strings.Repeat("x", maxBody) + `"`
		want(http.StatusRequestEntityTooLarge, q)
	}
}

// probes say how each operation is called well.
func (r *rig) probes() map[string]probe {
	r.t.Helper()
	one := func(name string) probe {
		return probe{values: map[string]string{"id": r.instance(name)}, missing: "id"}
	}
	paused := one("to-resume")
	_, err := r.durable.Pause(r.ctx, "to-resume")
	r.check(err)
	errored := one("to-retry")
	r.exec("UPDATE _00_wf_instance:`to-retry` SET status = 'errored', error = { name: 'Error', message: 'no' }, finished_at = time::now()", nil)
	event := one("to-send")
	event.values["type"], event.body = "approved", `{"ok": true}`
	list := one("to-look-at")
	job := func(name string) probe {
		return probe{values: map[string]string{"id": r.job(name)}, missing: "id"}
	}
	done := job("to-retry")
	_, err = r.jobs.Cancel(r.ctx, "to-retry")
	r.check(err)
	_, token, err := r.tokens.Create(r.ctx, "to revoke", admin.ScopeRead, 0)
	r.check(err)
	r.schedules("to-look-at", "to-pause", "to-resume", "to-trigger", "to-release")
	timed := func(name string) probe { return probe{values: map[string]string{"name": name}, missing: "name"} }
	_, err = admin.NewSchedules(r.db, redact.Rules{}).Pause(r.ctx, "to-resume")
	r.check(err)
	live := r.runs("dag-look", "dag-cancel")
	dead := r.killed("dag-trigger", "dag-retry", "dag-rerun")
	run := func(id string) probe { return probe{values: map[string]string{"id": id}, missing: "id"} }
	return map[string]probe{
		"listDAGs": {}, "getDAG": {values: map[string]string{"name": "dag-look"}, missing: "name", query: "runs=3"},
		"triggerDAG": timed("dag-trigger"), "listRuns": {query: "workflow=dag-look&status=running&limit=3"}, "getRun": run(live["dag-look"]),
		"explainRun": run(live["dag-look"]), "explainSchedule": timed("dag-look"),
		"cancelRun": run(live["dag-cancel"]), "retryRun": run(dead["dag-retry"]), "rerunRun": run(dead["dag-rerun"]),
		"listSchedules": {}, "getSchedule": {values: timed("to-look-at").values, missing: "name", query: "runs=3"},
		"pauseSchedule": timed("to-pause"), "resumeSchedule": timed("to-resume"), "triggerSchedule": timed("to-trigger"), "releaseSchedule": timed("to-release"),
		"overview": {}, "analytics": {query: "hours=3"}, "listNodes": {}, "listBackends": {}, "listTokens": {}, "listAudit": {query: "action=job.&limit=3"},
		"createToken": {body: `{"label": "an agent", "scope": "read", "ttl_days": 30}`},
		"revokeToken": {values: map[string]string{"id": token.ID}, missing: "id"},
		"config":      {}, "openapi": {}, "me": {}, "clock": {},
		"listWorkflows": {}, "getWorkflow": {values: map[string]string{"binding": "ALPHA"}, missing: "binding"},
		"createInstance":    {values: map[string]string{"binding": "ALPHA"}, missing: "binding", body: `{"params": {"a": 1}, "owner": "user:me"}`},
		"listInstances":     {query: "status=queued&binding=ALPHA&limit=1&stalled=false&q=to-"},
		"getInstance":       list,
		"listSteps":         {values: list.values, missing: "id", query: "outputs=false&incarnation=0"},
		"listEvents":        {values: event.values, missing: "id"},
		"streamInstance":    list,
		"cancelInstance":    one("to-cancel"),
		"terminateInstance": one("to-terminate"),
		"killInstance":      one("to-kill"),
		"retryInstance":     errored,
		"pauseInstance":     one("to-pause"),
		"resumeInstance":    paused,
		"restartInstance":   one("to-restart"),
		"sendEvent":         event,
		"explainInstance":   list,
		"listJobs":          {query: "status=pending&table=job&backend=api&origin=app&q=work&limit=1&stalled=false"},
		"createJob":         {body: `{"path": "/work", "payload": [1, 2.5, null], "id": "made", "max_retries": 2, "delay": 60000}`},
		"clearJobs":         {body: `{"table": "job"}`},
		"getJob":            job("to-look-at"),
		"streamJob":         job("to-stream"),
		"streamJobs":        {query: "table=job"},
		"cancelJob":         job("to-cancel"),
		"killJob":           job("to-kill"),
		"retryJob":          done,
		"explainJob":        job("to-explain"),
		"recentLogs":        {query: "level=info&limit=5"},
		"streamLogs":        {},
	}
}

// TestConflicts does everything that a state can refuse in such a state, and creates what there is.
func TestConflicts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.document()
	r.instance("live")
	r.instance("over")
	_, err := r.durable.Terminate(r.ctx, "over")
	r.check(err)
	r.job("live")
	r.job("over")
	_, err = r.jobs.Cancel(r.ctx, "over")
	r.check(err)
	refusing := map[string]asked{
		"createInstance": {path: "/durable/workflows/ALPHA/instances", body: `{"id": "live"}`}, "createJob": {path: "/jobs", body: `{"id": "live", "path": "/work"}`},
		"cancelInstance": {path: "/durable/instances/over/cancel"}, "terminateInstance": {path: "/durable/instances/over/terminate"},
		"killInstance": {path: "/durable/instances/over/kill"}, "pauseInstance": {path: "/durable/instances/over/pause"},
		"resumeInstance": {path: "/durable/instances/live/resume"}, "retryInstance": {path: "/durable/instances/live/retry"},
		"sendEvent": {path: "/durable/instances/over/events/go"}, "cancelJob": {path: "/jobs/over/cancel"}, "killJob": {path: "/jobs/over/kill"},
		"retryJob":      {path: "/jobs/live/retry"},
		"pauseSchedule": {path: "/schedules/held/pause"}, "resumeSchedule": {path: "/schedules/live/resume"},
		"triggerSchedule": {path: "/schedules/held/trigger"}, "releaseSchedule": {path: "/schedules/live/release"},
	}
	run := r.runs("going")["going"]
	refusing["triggerDAG"] = asked{path: "/dags/going/trigger"}
	for _, verb := range []string{"retry", "rerun"} {
		refusing[verb+"Run"] = asked{path: "/workflows/runs/" + run + "/" + verb}
	}
	refusing["cancelRun"] = asked{path: "/workflows/runs/" + r.killed("gone")["gone"] + "/cancel"}
	r.schedules("live", "held")
	_, err = admin.NewSchedules(r.db, redact.Rules{}).Trigger(r.ctx, "held")
	r.check(err)
	_, err = admin.NewSchedules(r.db, redact.Rules{}).Pause(r.ctx, "held")
	r.check(err)
	r.exec("DELETE _00_schedule_key", nil)
	for _, operations := range d.Paths {
		for _, op := range operations {
			if _, ok := op.Responses["409"]; !ok {
				continue
			}
			q, ok := refusing[op.OperationID]
			if !ok {
				t.Errorf("%s is refused by no test", op.OperationID)
				continue
			}
			q.method, q.path, q.token = http.MethodPost, "/admin/api"+q.path, fullSecret
			got := r.ask(q)
			if got.status != http.StatusConflict {
				t.Errorf("%s: %d %s", op.OperationID, got.status, got.text)
				continue
			}
			d.answers(op, got)
			f := got.fault(t)
			if exists := strings.HasPrefix(op.OperationID, "create"); exists != (f.Code == "exists") || !exists && (f.State == "" || len(f.Possible) == 0 || f.ID == "" || f.Verb == "") {
				t.Errorf("%s: %+v", op.OperationID, f)
			}
		}
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

type doctorCheck struct{ Name, Severity, Detail, Fix string }

// checks are doctor's checks whose name begins with something.
func (p *project) checks(prefix string) []doctorCheck {
	p.t.Helper()
	report := decode[struct{ Checks []doctorCheck }](p, "doctor")
	return slices.DeleteFunc(report.Checks, func(c doctorCheck) bool { return !strings.HasPrefix(c.Name, prefix) })
}

func TestDoctorTriesDurableJobs(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	if got := p.checks("durable jobs of job"); len(got) != 1 || got[0].Severity != "pass" || !strings.Contains(got[0].Detail, "GREET") {
		t.Errorf("a table as `add api` writes it: %+v", got)
	}
	for _, c := range []struct {
		define, undo, column string
	}{
		{"DEFINE FIELD tenant ON job TYPE string", "REMOVE FIELD tenant ON job", "tenant"},
		{"DEFINE FIELD OVERWRITE assigned_to ON job TYPE record<user>", "DEFINE FIELD OVERWRITE assigned_to ON job TYPE option<record<user>>", "assigned_to"},
		{"DEFINE FIELD kind ON job TYPE string DEFAULT 'b' ASSERT $value IN ['a']", "REMOVE FIELD kind ON job", "kind"},
		{"DEFINE FIELD OVERWRITE max_retries ON job TYPE int DEFAULT ALWAYS 3 ASSERT $value < 5", "DEFINE FIELD OVERWRITE max_retries ON job TYPE int DEFAULT ALWAYS 3", "max_retries"},
	} {
		p.query(c.define, nil)
		got := p.checks("durable jobs of job")
		if len(got) != 1 || got[0].Severity != "fail" || !strings.Contains(got[0].Detail, "column "+c.column+" ") || !strings.Contains(got[0].Fix, c.column) {
			t.Errorf("%s: %+v", c.define, got)
		}
		p.query(c.undo, nil)
	}
	p.query("DEFINE FIELD a ON job TYPE string; DEFINE FIELD b ON job TYPE int; DEFINE FIELD c ON job TYPE option<int>; DEFINE FIELD d ON job TYPE int DEFAULT 1", nil)
	if got := p.checks("durable jobs of job"); len(got) != 2 {
		t.Errorf("two mandatory columns: %+v", got)
	}
	if rows := p.query("SELECT * FROM job", nil)[0].([]any); len(rows) != 0 {
		t.Errorf("doctor left jobs: %v", rows)
	}
}

func TestDoctorAsksForWorkflows(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	if got := p.checks("workflow GREET"); len(got) != 1 || got[0].Severity != "warn" || !strings.Contains(got[0].Detail, "takes no runs") {
		t.Errorf("a backend that answers 503: %+v", got)
	}
	serve()
	if got := p.checks("workflow GREET"); len(got) != 1 || got[0].Severity != "pass" {
		t.Errorf("a backend that serves it: %+v", got)
	}
	p.write("sp00ky.yml", strings.Replace(p.read("sp00ky.yml"), "{binding: GREET, class: Greet}", "{binding: PART, class: Part}", 1))
	if got := p.checks("workflow PART"); len(got) != 1 || got[0].Severity != "warn" || !strings.Contains(got[0].Detail, "no workflow is registered") {
		t.Errorf("a binding that is not registered: %+v", got)
	}
}

// TestDoctorOfOtherBackends shows what it says of backends without an engine.
func TestDoctorOfOtherBackends(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{404: "serves no workflows", 405: "serves no workflows", 401: "refuses the runner", 500: "answers 500", 302: "answers 302"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		p := newProject(t, server.URL)
		p.write("sp00ky.yml", strings.Replace(p.read("sp00ky.yml"), "    type: backend\n", "    type: backend\n    workflows: [{binding: GREET, class: Greet}]\n", 1))
		if got := p.checks("workflow GREET"); len(got) != 1 || got[0].Severity != "warn" || !strings.Contains(got[0].Detail, says) || got[0].Fix == "" {
			t.Errorf("a backend that answers %d: %+v", status, got)
		}
		server.Close()
		if got := p.checks("workflow GREET"); len(got) != 0 {
			t.Errorf("a backend that is down is asked for workflows: %+v", got)
		}
	}
}

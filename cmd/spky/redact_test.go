package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestNoCommandShowsWhatIsRedacted has a backend repeat in its errors what it was given, and asks every command that shows
// errors, on the database and through the admin API.
func TestNoCommandShowsWhatIsRedacted(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // what there is of it
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "cannot do %s", body)
	}))
	t.Cleanup(backend.Close)
	p := newProject(t, backend.URL)
	p.write("sp00ky.yml", p.read("sp00ky.yml")+`
redact: ["*.secret"]
schedules:
  night: {every: 1h, backend: api, route: /fail, payload: {secret: TOPSECRET}, retry: {max: 1}}
workflows:
  flow:
    steps:
      one: {backend: api, route: /fail, payload: {secret: TOPSECRET}, retry: {max: 1}}
`)
	p.must("migrate")
	stop := p.runner()
	p.until("they are written", func() bool {
		return len(decode[[]admin.DAG](p, "dag", "list")) == 1 && len(decode[[]admin.Schedule](p, "schedules", "list")) == 1
	})
	fails := func() string {
		job := p.create("--path", "/fail", "--payload", `{"secret": "TOPSECRET"}`, "--max-retries", "1")
		p.until("the job has failed", func() bool { return decode[jobJSON](p, "jobs", "get", job).Status == "failed" })
		return job
	}
	job := fails()
	run := p.triggers("flow")
	p.must("schedules", "trigger", "night")
	p.ends(run, admin.RunFailed)
	p.until("the schedule's run has failed", func() bool {
		runs := decode[detailedSchedule](p, "schedules", "get", "night").Runs
		return len(runs) == 1 && runs[0].Status == "failed"
	})
	asks := [][]string{
		{"jobs", "get", job},
		{"jobs", "get", job, "--json"},
		{"explain", job},
		{"dag", "describe", run},
		{"dag", "list", "--json"},
		{"dag", "runs", "flow"},
		{"explain", run},
		{"schedules", "get", "night"},
		{"schedules", "list", "--json"},
		{"explain", "night", "--json"},
	}
	ask := func(where string) {
		for _, args := range asks {
			out := p.must(args...)
			if strings.Contains(out, "TOPSECRET") || !strings.Contains(out, "[redacted]") || !strings.Contains(out, "cannot do") {
				t.Errorf("%s, %q says\n%s", where, args, out)
			}
		}
	}
	ask("on the database")
	stop()
	p.adminAPI("sesame-redact-1")
	fails() // so that this node's log tells of one
	asks = append(asks, []string{"logs"})
	ask("through the admin API")
}

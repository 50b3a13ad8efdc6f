package ssp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// A crew is two backends, api with the table job and mail with the table mail, that answer as a test says and
// note what they are asked.
type crew struct {
	tb       testing.TB
	backends []config.Backend

	mu      sync.Mutex
	asked   []crewRequest
	answers map[string]http.HandlerFunc // by path; 200 and {"from": path} otherwise
}

type crewRequest struct {
	Job, Path string
	Payload   map[string]any
}

func newCrew(tb testing.TB) *crew {
	tb.Helper()
	c := &crew{tb: tb, answers: map[string]http.HandlerFunc{}}
	for _, name := range []string{"api", "mail"} {
		server := httptest.NewServer(c)
		tb.Cleanup(server.Close)
		c.backends = append(c.backends, backend(server.URL, func(b *config.Backend) {
			if b.Name = name; name == "mail" {
				b.Table = "mail"
			}
		}))
	}
	return c
}

func (c *crew) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the request was aborted
	}
	request := crewRequest{Job: r.Header.Get("Spky-Job-Id"), Path: r.URL.Path}
	if err := json.Unmarshal(body, &request.Payload); err != nil {
		c.tb.Errorf("%s: payload %s: %v", request.Path, body, err)
	}
	c.mu.Lock()
	c.asked = append(c.asked, request)
	answer := c.answers[r.URL.Path]
	c.mu.Unlock()
	if answer == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"from": r.URL.Path}) // the runner may be gone
		return
	}
	answer(w, r)
}

// on says what a path answers from now on.
func (c *crew) on(path string, answer http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[path] = answer
}

func (c *crew) status(path string, status int) {
	c.on(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// hold makes a path answer once the channel is closed, or not at all where its request is aborted.
func (c *crew) hold(path string) chan struct{} {
	open := make(chan struct{})
	c.on(path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			w.WriteHeader(http.StatusOK)
		case <-r.Context().Done():
		}
	})
	return open
}

// requests are those of a path so far.
func (c *crew) requests(path string) []crewRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.asked), func(r crewRequest) bool { return r.Path != path })
}

// newFlows is a rig with the tables of a crew.
func newFlows(tb testing.TB) (*rig, *crew) {
	tb.Helper()
	r := newJobs(tb)
	r.outbox("mail")
	return r, newCrew(tb)
}

// step is one of api, or of mail where its name begins with mail; its route is its name.
func step(name string, after ...string) config.DAGStep {
	s := config.DAGStep{Name: name, Backend: "api", Route: "/" + name, DependsOn: after, Retry: config.Retry{Max: 1, Strategy: "linear"}}
	if strings.HasPrefix(name, "mail") {
		s.Backend = "mail"
	}
	return s
}

// flow is a DAG of steps.
func flow(name string, steps []config.DAGStep, change ...func(*config.DAG)) schedule.Spec {
	d := config.DAG{Name: name, Steps: steps, OnFailure: "halt", Concurrency: "skip"}
	for _, apply := range change {
		apply(&d)
	}
	cfg := &config.Config{
		Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "mail", Table: "mail"}}, Workflows: []config.DAG{d},
		Retention: config.Retention{RunDeadline: time.Hour},
	}
	return schedule.Specs(cfg)[0]
}

// A dagRun is what tests look at of a run.
type dagRun struct {
	Status     string     `json:"status"`
	Key        string     `json:"key"`
	Error      *dagError  `json:"error"`
	Done       int        `json:"steps_done"`
	RetryCount int        `json:"retry_count"`
	FinishedAt *time.Time `json:"finished_at"`
}

type dagError struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

type dagStep struct {
	Name   string            `json:"name"`
	Status string            `json:"status"`
	Job    *surreal.RecordID `json:"job"`
	Error  *dagError         `json:"error"`
	Result any               `json:"result"`
}

// triggered starts runs of a DAG that a node has deployed, as admin does, and answers with their ids.
func (r *rig) triggered(name string) []string {
	r.tb.Helper()
	r.schedule(name)
	db := r.db.Retrying()
	fire, err := schedule.Store{DB: db}.Manual(r.ctx, name)
	if err != nil {
		r.tb.Fatal(err)
	}
	return r.fired(fire)
}

func (r *rig) fired(fire map[string]any) []string {
	r.tb.Helper()
	answer, err := surreal.First[struct {
		Runs []struct {
			Target *surreal.RecordID `json:"target"`
		} `json:"runs"`
	}](r.ctx, r.db.Retrying(), "RETURN fn::spky::schedule::trigger($fire)", map[string]any{"fire": fire})
	if err != nil {
		r.tb.Fatal(err)
	}
	var runs []string
	for _, run := range answer.Runs {
		if run.Target != nil {
			runs = append(runs, run.Target.ID.(string))
			r.advance(runs[len(runs)-1])
		}
	}
	return runs
}

func (r *rig) advance(run string) {
	r.tb.Helper()
	if _, err := (dag.Store{DB: r.db.Retrying()}).Advance(r.ctx, run); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) dagRun(run string) dagRun {
	r.tb.Helper()
	row, err := surreal.First[dagRun](r.ctx, r.db, "SELECT * FROM ONLY type::record('_00_workflow_run', $run)", map[string]any{"run": run})
	if err != nil {
		r.tb.Fatal(err)
	}
	return row
}

// steps are those of a run, as name:status, in order.
func (r *rig) steps(run string) string {
	r.tb.Helper()
	var all []string
	for _, s := range r.stepRows(run) {
		all = append(all, s.Name+":"+s.Status)
	}
	return strings.Join(all, " ")
}

func (r *rig) stepRows(run string) []dagStep {
	r.tb.Helper()
	rows, err := surreal.First[[]dagStep](r.ctx, r.db, "SELECT * FROM _00_step_run:[$run]..=[$run, ..]", map[string]any{"run": run})
	if err != nil {
		r.tb.Fatal(err)
	}
	return rows
}

// flowed waits until a run is over.
func (r *rig) flowed(run, status string) dagRun {
	r.tb.Helper()
	var last dagRun
	r.eventually("run "+run+" is over", func() bool { last = r.dagRun(run); return last.Status != "running" },
		func() string { return fmt.Sprintf("%+v %s", last, r.steps(run)) })
	if last.Status != status || last.FinishedAt == nil {
		r.tb.Errorf("run %s ended as %+v, error %+v, steps %s; want %s", run, last, last.Error, r.steps(run), status)
	}
	return last
}

// ten is a DAG with fan-out and fan-in over both backends.
//
//	extract ─┬─ a ─┬──────────┐
//	         ├─ b ─┤          ├─ join ─┬─ mail_done
//	         ├─ c ─┴─ mail_c ─┤        └─ report
//	         └─ d ─── mail_d ─┘
func ten() []config.DAGStep {
	return []config.DAGStep{
		step("extract"), step("a", "extract"), step("b", "extract"), step("c", "extract"), step("d", "extract"),
		step("mail_c", "a", "b", "c"), step("mail_d", "d"), step("join", "a", "b", "mail_c", "mail_d"), step("mail_done", "join"), step("report", "join"),
	}
}

// TestTenStepsFanOutAndInOverTwoBackends has one step fail, and the run retried.
func TestTenStepsFanOutAndInOverTwoBackends(t *testing.T) {
	t.Parallel()
	r, c := newFlows(t)
	c.status("/mail_d", http.StatusTeapot)
	n := r.start(c.backends, with(flow("nightly", ten())))
	run := r.triggered("nightly")[0]
	failed := r.flowed(run, "failed")
	if failed.Error == nil || failed.Error.Code != "step_failed" || !strings.Contains(failed.Error.Reason, "mail_d") || failed.Done < 5 || failed.Done > 6 {
		t.Errorf("failed as %+v, %+v", failed, failed.Error)
	}
	if got := r.steps(run); !strings.HasSuffix(got, "mail_d:failed join:skipped mail_done:skipped report:skipped") {
		t.Errorf("after the failure: %s", got)
	}
	for _, s := range r.stepRows(run)[6:] {
		if want := map[string]string{"mail_d": "job_failed", "join": "upstream_failed", "mail_done": "upstream_failed", "report": "upstream_failed"}[s.Name]; s.Error == nil || s.Error.Code != want {
			t.Errorf("%s has the error %+v, want %s", s.Name, s.Error, want)
		}
	}
	c.on("/mail_d", nil)
	answer, err := surreal.First[map[string]any](r.ctx, r.db.Retrying(), "RETURN fn::spky::dag::retry($run)", map[string]any{"run": run})
	if err != nil || answer["ok"] != true || fmt.Sprint(answer["retry_count"]) != "1" || fmt.Sprint(answer["reset"]) == "0" {
		t.Fatalf("retry: %v, %v", answer, err)
	}
	r.advance(run)
	if done := r.flowed(run, "success"); done.Done != 10 || done.RetryCount != 1 || done.Error != nil {
		t.Errorf("retried: %+v", done)
	}
	for _, s := range ten() {
		requests := c.requests(s.Route)
		want := 1
		if s.Name == "mail_d" {
			want = 2
		}
		if len(requests) != want {
			t.Errorf("%s was called %d times: %+v", s.Name, len(requests), requests)
			continue
		}
		last := requests[want-1]
		steps, _ := last.Payload["steps"].(map[string]any)
		if len(steps) != len(s.DependsOn) {
			t.Errorf("%s got %v, want those of %v", s.Name, last.Payload, s.DependsOn)
		}
		for _, dep := range s.DependsOn {
			if from, _ := steps[dep].(map[string]any); from["from"] != "/"+dep {
				t.Errorf("%s got %v of %s", s.Name, steps[dep], dep)
			}
		}
	}
	r.eventually("both ends of the run are counted", func() bool { return n.metric("spky_dag_runs_total", "nightly") == 2 })
	if job, err := url.PathUnescape(c.requests("/mail_d")[1].Job); err != nil || job != "mail:`wf_"+run+"_mail_d_r1`" {
		t.Errorf("the retried step's job is %s", job)
	}
	r.eventually("the tick ends with the run", func() bool { return r.runs("nightly")[0].Status == "success" })
}

package mcp

import (
	"context"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/admin"
)

// DAGs are jobs that wait for one another; [admin.DAGs] has them.
type DAGs interface {
	List(ctx context.Context) ([]admin.DAG, error)
	Get(ctx context.Context, name string) (admin.DAG, error)
	ListRuns(ctx context.Context, o admin.RunListOptions) (admin.RunPage, error)
	Run(ctx context.Context, id string) (admin.DetailedRun, error)
	Trigger(ctx context.Context, name string) (admin.StartedRuns, error)
	Cancel(ctx context.Context, id string) (string, error)
	Retry(ctx context.Context, id string) (admin.RetriedRun, error)
	Rerun(ctx context.Context, id string) (string, error)
}

const (
	// maxDAGs is how many DAGs an answer shows, maxDAGSteps how many steps of one.
	maxDAGs     = 50
	maxDAGSteps = 200
)

type dagsOut struct {
	Total int      `json:"total"`
	DAGs  []dagOut `json:"dags"`
}

type dagOut struct {
	Name      string `json:"name"`
	When      string `json:"when,omitempty" jsonschema:"its clock; left out where it is started by hand only"`
	Steps     string `json:"steps" jsonschema:"each with what it depends on"`
	OnFailure string `json:"on_failure"`
	LastRun   string `json:"last_run,omitempty" jsonschema:"the id of the newest run"`
	Status    string `json:"last_status,omitempty"`
	Trouble   string `json:"trouble,omitempty" jsonschema:"why a tick that is due starts nothing"`
}

type oneDAGIn struct {
	Name string `json:"name" jsonschema:"the DAG's name, as dags_list has it"`
}

type runsIn struct {
	Name   string `json:"name" jsonschema:"the DAG's name, as dags_list has it"`
	Status string `json:"status,omitempty" jsonschema:"only runs in this state: running, success, failed or killed"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most; 20 if it is left out"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type runsOut struct {
	Runs []admin.DAGRun `json:"runs" jsonschema:"the newest first"`
	Next string         `json:"next_cursor,omitempty" jsonschema:"call again with it for the next page; absent on the last"`
}

type oneRunIn struct {
	ID string `json:"id" jsonschema:"the run's id, as workflow_runs_list has it"`
}

type runOut struct {
	admin.DetailedRun

	More bool `json:"more,omitempty" jsonschema:"it has more steps than are shown"`
}

type retriedOut struct {
	Run string `json:"run"`
	admin.RetriedRun
}

type rerunOut struct {
	Run string `json:"run" jsonschema:"the new run's id"`
}

// offerDAGs adds the tools on DAGs and their runs.
func (s *Server) offerDAGs() {
	byName := func(p properties) { p.longest("name", 200) }
	byID := func(p properties) { p.longest("id", 200) }
	offer(s, tool[nothing, dagsOut]{
		name: "dags_list", title: "List DAGs", call: s.listDAGs,
		when: "Lists the DAGs: jobs that wait for one another, with their steps, clock and newest run.",
	})
	offer(s, tool[runsIn, runsOut]{
		name: "workflow_runs_list", title: "List runs of a DAG", call: s.listRuns, text: runsText,
		when: "Lists runs of a DAG, newest first: what they came to, and why.",
		narrow: func(p properties) {
			p.longest("name", 200)
			p.longest("cursor", 200)
			p.enum("status", admin.RunStatuses()...)
			p.limit(20, 100)
		},
	})
	offer(s, tool[oneRunIn, runOut]{
		name: "workflow_run_get", title: "Get a run of a DAG", narrow: byID, call: s.getRun, text: runText,
		when: "Shows a run of a DAG with all its steps: their states, jobs and errors. job_get shows more of a job, job_explain why it does not run.",
	})
	offer(s, tool[oneDAGIn, admin.StartedRuns]{
		name: "dag_trigger", title: "Start a DAG", effect: changes, narrow: byName,
		when: "Starts a run of a DAG now, or one for each row of its forEach; its ticks stay as they are. Two calls start it twice.",
		call: func(ctx context.Context, in oneDAGIn) (admin.StartedRuns, error) {
			started, err := s.cfg.DAGs.Trigger(ctx, in.Name)
			started.Runs = first(started.Runs, 50)
			return started, err
		},
	})
	offer(s, tool[oneRunIn, retriedOut]{
		name: "workflow_run_retry", title: "Retry a run of a DAG", effect: changes, narrow: byID,
		when: "Goes on with a run that failed or was killed: steps that did not succeed begin anew, the others are kept. Use it once the cause is mended.",
		call: func(ctx context.Context, in oneRunIn) (retriedOut, error) {
			done, err := s.cfg.DAGs.Retry(ctx, in.ID)
			return retriedOut{in.ID, done}, err
		},
	})
	offer(s, tool[oneRunIn, rerunOut]{
		name: "workflow_run_rerun", title: "Run a DAG again", effect: changes, narrow: byID,
		when: "Starts a new run with the input of another, from the first step. To keep what had succeeded use workflow_run_retry. Two calls start two.",
		call: func(ctx context.Context, in oneRunIn) (rerunOut, error) {
			run, err := s.cfg.DAGs.Rerun(ctx, in.ID)
			return rerunOut{run}, err
		},
	})
	offerActions(s, []action{{
		name: "workflow_run_cancel", title: "Cancel a run of a DAG", effect: destroys, again: true, do: s.cfg.DAGs.Cancel,
		when: "Lets nothing more of a run begin, and asks its jobs to end. workflow_run_retry goes on with it.",
		next: "it is killed once its jobs have ended",
	}}, func(in oneRunIn) string { return in.ID }, byID)
}

func (s *Server) listDAGs(ctx context.Context, _ nothing) (dagsOut, error) {
	all, err := s.cfg.DAGs.List(ctx)
	out := dagsOut{Total: len(all), DAGs: []dagOut{}}
	for _, d := range first(all, maxDAGs) {
		one := dagOut{Name: d.Name, Steps: stepsText(d.Steps), OnFailure: d.OnFailure, Trouble: cut(d.Trouble, 200)}
		if d.Cron != "" || d.EveryMS != 0 {
			one.When = when(admin.Schedule{Cron: d.Cron, EveryMS: d.EveryMS, Timezone: d.Timezone})
		}
		if d.LastRun != nil {
			one.LastRun, one.Status = d.LastRun.ID, d.LastRun.Status
		}
		out.DAGs = append(out.DAGs, one)
	}
	return out, err
}

// stepsText writes steps as `a, b (after a)`.
func stepsText(steps []admin.DAGStep) string {
	var all []string
	for _, s := range steps {
		text := s.Name
		if len(s.DependsOn) > 0 {
			text += " (after " + strings.Join(s.DependsOn, ", ") + ")"
		}
		all = append(all, text)
	}
	return cut(strings.Join(all, ", "), 1000)
}

func (s *Server) listRuns(ctx context.Context, in runsIn) (runsOut, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	page, err := s.cfg.DAGs.ListRuns(ctx, admin.RunListOptions{DAG: in.Name, Status: in.Status, Limit: in.Limit, Cursor: in.Cursor})
	if err == nil && len(page.Runs) == 0 { // the DAG has to be there
		_, err = s.cfg.DAGs.Get(ctx, in.Name)
	}
	for i := range page.Runs {
		page.Runs[i].Key = cut(page.Runs[i].Key, 100)
		shorten(page.Runs[i].Error)
	}
	return runsOut{page.Runs, page.Next}, err
}

func (s *Server) getRun(ctx context.Context, in oneRunIn) (runOut, error) {
	run, err := s.cfg.DAGs.Run(ctx, in.ID)
	out := runOut{run, len(run.Steps) > maxDAGSteps}
	out.Steps = first(out.Steps, maxDAGSteps)
	shorten(out.Error)
	for i := range out.Steps {
		shorten(out.Steps[i].Error)
	}
	return out, err
}

// shorten cuts what a backend wrote.
func shorten(e *admin.RunError) {
	if e != nil {
		e.Reason = cut(e.Reason, 100)
	}
}

func runsText(o runsOut) string {
	var rows [][]string
	for _, r := range o.Runs {
		rows = append(rows, []string{r.ID, r.Status, fmt.Sprintf("%d/%d", r.StepsDone, r.StepsTotal), seconds(r.StartedAt), why(r.Error)})
	}
	return table([]string{"run", "status", "steps", "started_at", "why"}, rows, o.Next)
}

func runText(o runOut) string {
	head := fmt.Sprintf("run %s of %s: %s, %d of %d steps. %s\n", quoted(o.ID), quoted(o.DAG), o.Status, o.StepsDone, o.StepsTotal, why(o.Error))
	var rows [][]string
	for _, s := range o.Steps {
		rows = append(rows, []string{s.Name, s.Status, s.Job, strings.Join(s.DependsOn, " "), why(s.Error)})
	}
	return head + table([]string{"step", "status", "job", "after", "why"}, rows, "")
}

func why(e *admin.RunError) string {
	if e == nil {
		return ""
	}
	return strings.TrimSuffix(e.Code+": "+e.Reason, ": ")
}

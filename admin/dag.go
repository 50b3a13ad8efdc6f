package admin

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// The states of a run of a DAG.
const (
	RunRunning = "running"
	RunSuccess = "success"
	RunFailed  = "failed"
	RunKilled  = "killed"
)

// RunStatuses are the states of a run.
func RunStatuses() []string { return []string{RunRunning, RunSuccess, RunFailed, RunKilled} }

var (
	//go:embed surql/dags.surql
	dagsStatement string
	//go:embed surql/dag_runs.surql
	dagRunsStatement string
	//go:embed surql/dag_run.surql
	dagRunStatement string
	//go:embed surql/dag_input.surql
	dagInputStatement string
)

// DAGs are jobs that wait for one another: the top-level `workflows` of the configuration. Its methods may be
// called from any goroutine.
type DAGs struct {
	db    *surreal.Client
	hider hider
}

// NewDAGs makes it; nothing is sent. Texts of errors are shown without what rules hide.
func NewDAGs(db *surreal.Client, rules redact.Rules) *DAGs {
	return &DAGs{db, hider{db: db, rules: rules}}
}

// A DAG is one of the configuration that a node has written into the database.
type DAG struct {
	Name string `json:"name"`
	// State is active, paused by an operator: spky schedules pause, or retired: no node's configuration has it any
	// more. It is retiring from when that is so until it is certain, three minutes later.
	State string `json:"state"`
	// Cron, in Timezone, or EveryMS says when it starts; without both it is started by hand only.
	Cron     string `json:"cron,omitempty"`
	EveryMS  int64  `json:"every_ms,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// ForEach is the query that gives one run for each row.
	ForEach     string `json:"for_each,omitempty"`
	Concurrency string `json:"concurrency"`
	// OnFailure is halt or continue-independent.
	OnFailure string `json:"on_failure"`
	// DeadlineMS ends a run that takes longer; 0 is never.
	DeadlineMS int64     `json:"deadline_ms"`
	Steps      []DAGStep `json:"steps"`
	// NextAt is nil without a clock.
	NextAt *time.Time `json:"next_at,omitempty"`
	// Late says that a tick is due and no node starts it: none runs that has the DAG, or Trouble says why not.
	Late    bool    `json:"late,omitempty"`
	Trouble string  `json:"trouble,omitempty"`
	LastRun *DAGRun `json:"last_run,omitempty"`
}

// A DAGStep is a step as the configuration has it.
type DAGStep struct {
	Name    string `json:"name"`
	Backend string `json:"backend"`
	Route   string `json:"route"`
	// DependsOn are the steps that have to succeed first.
	DependsOn []string `json:"depends_on,omitempty"`
}

// A RunError is why a run or a step ended as it did.
type RunError struct {
	// Code is a stable word: step_failed, killed, deadline_exceeded or bad_dag of runs; job_failed, job_missing,
	// spawn_failed, killed, upstream_failed, run_halted, not_started or bad_dag of steps.
	Code   string `json:"code"`
	Reason string `json:"reason,omitempty"`
}

// A DAGRun is a run of a DAG.
type DAGRun struct {
	ID  string `json:"id"`
	DAG string `json:"dag"`
	// Key tells the rows of forEach apart, "" without.
	Key string `json:"key,omitempty"`
	// Manual says that somebody started it.
	Manual bool `json:"manual,omitempty"`
	// Status is running, success, failed or killed.
	Status string `json:"status"`
	// Stopping says that it is to end: its jobs have been asked to.
	Stopping bool `json:"stopping,omitempty"`
	// Error is why it failed, was killed, or is to end.
	Error      *RunError  `json:"error,omitempty"`
	StepsTotal int        `json:"steps_total"`
	StepsDone  int        `json:"steps_done"`
	RetryCount int        `json:"retry_count"`
	StartedAt  time.Time  `json:"started_at"`
	DeadlineAt *time.Time `json:"deadline_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// A StepRun is a step of a run.
type StepRun struct {
	Name string `json:"name"`
	// Status is blocked, ready, dispatched, success, failed or skipped.
	Status    string   `json:"status"`
	Backend   string   `json:"backend"`
	Route     string   `json:"route"`
	DependsOn []string `json:"depends_on,omitempty"`
	// Job is its job, "" while it has none.
	Job   string    `json:"job,omitempty"`
	Error *RunError `json:"error,omitempty"`
	// RetryCount is how many jobs it had before this one.
	RetryCount int        `json:"retry_count"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// A DetailedRun is a run with its steps, in the order of the configuration that it was started with.
type DetailedRun struct {
	DAGRun

	OnFailure string    `json:"on_failure"`
	Steps     []StepRun `json:"steps"`
}

// List answers with all DAGs, by name. A database to which the platform's schema has not been applied has none.
func (d *DAGs) List(ctx context.Context) ([]DAG, error) {
	all, err := d.read(ctx, surreal.None)
	if err != nil {
		return nil, fmt.Errorf("list DAGs: %w", err)
	}
	return all, nil
}

// named refuses an empty name, which no row has.
func named(what, name string) error {
	if name == "" {
		return inputf("the name of the %s is empty", what)
	}
	return nil
}

// Get answers with one DAG.
func (d *DAGs) Get(ctx context.Context, name string) (DAG, error) {
	if err := named("DAG", name); err != nil {
		return DAG{}, err
	}
	all, err := d.read(ctx, name)
	switch {
	case err != nil:
		return DAG{}, fmt.Errorf("get DAG %s: %w", name, err)
	case len(all) == 0:
		return DAG{}, fmt.Errorf("get DAG %s: DAG %w", name, ErrNotFound)
	}
	return all[0], nil
}

// Run answers with one run and its steps.
func (d *DAGs) Run(ctx context.Context, id string) (DetailedRun, error) {
	if err := named("run", id); err != nil {
		return DetailedRun{}, err
	}
	answer, err := surreal.First[struct {
		Run *struct {
			dagRunRow

			OnFailure string `json:"on_failure"`
		} `json:"run"`
		Steps []stepRunRow `json:"steps"`
	}](ctx, d.db, dagRunStatement, map[string]any{"run": id})
	switch {
	case err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)):
		return DetailedRun{}, fmt.Errorf("get run %s: %w", id, err)
	case answer.Run == nil:
		return DetailedRun{}, fmt.Errorf("get run %s: run %w", id, ErrNotFound)
	}
	one := DetailedRun{DAGRun: answer.Run.run(), OnFailure: answer.Run.OnFailure, Steps: make([]StepRun, 0, len(answer.Steps))}
	for _, row := range answer.Steps {
		step := row.StepRun
		if row.Job != nil {
			step.Job = surreal.FormatID(*row.Job)
		}
		one.Steps = append(one.Steps, step)
	}
	if err := d.hider.dagRuns(ctx, []DAGRun{one.DAGRun}, one.Steps...); err != nil {
		return DetailedRun{}, fmt.Errorf("get run %s: %w", id, err)
	}
	return one, nil
}

// dagRunRow is a run as the database keeps it.
type dagRunRow struct {
	DAGRun

	Workflow string    `json:"workflow"`
	Stopping *RunError `json:"stopping"`
}

func (r dagRunRow) run() DAGRun {
	run := r.DAGRun
	run.DAG = r.Workflow
	if r.Stopping != nil {
		run.Stopping, run.Error = true, r.Stopping
	}
	return run
}

type stepRunRow struct {
	StepRun

	Job *surreal.RecordID `json:"job"`
}

func (d *DAGs) read(ctx context.Context, name any) ([]DAG, error) {
	answer, err := surreal.First[struct {
		Now  time.Time `json:"now"`
		DAGs []dagRow  `json:"dags"`
	}](ctx, d.db, dagsStatement, map[string]any{"name": name})
	if err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)) {
		return nil, err
	}
	all := make([]DAG, 0, len(answer.DAGs))
	for _, row := range answer.DAGs {
		row.Trouble = d.hider.trouble(row.Row)
		one := row.dag(answer.Now)
		last, err := d.Runs(ctx, row.Name, "", 1)
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			one.LastRun = &last[0]
		}
		all = append(all, one)
	}
	return all, nil
}

// dagRow is the row of a schedule that starts a DAG.
type dagRow struct {
	scheduleRow

	DeadlineMS int64 `json:"deadline_ms"`
}

func (row dagRow) dag(now time.Time) DAG {
	s := row.schedule(now)
	d := DAG{
		Name: s.Name, State: s.State, Cron: s.Cron, EveryMS: s.EveryMS, Timezone: s.Timezone, ForEach: s.ForEach, Concurrency: s.Concurrency,
		OnFailure: row.Spec.DAG.OnFailure, DeadlineMS: row.DeadlineMS, Steps: []DAGStep{},
		NextAt: s.NextAt, Late: s.Late, Trouble: s.Trouble,
	}
	for _, step := range row.Spec.DAG.Steps {
		d.Steps = append(d.Steps, DAGStep{Name: step.Name, Backend: step.Backend, Route: step.Route, DependsOn: step.DependsOn})
	}
	return d
}

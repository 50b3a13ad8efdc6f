package admin

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// The states of a schedule.
const (
	ScheduleActive   = "active"
	SchedulePaused   = "paused"
	ScheduleDisabled = "disabled"
	ScheduleRetiring = "retiring"
	ScheduleRetired  = "retired"
)

// ScheduleClockless is what a *StateError has found where [Schedules] are asked to pause, resume or trigger a DAG that is
// started by hand only: [DAGs] start it, and there are no ticks to stop.
const ScheduleClockless = "it is a DAG without a clock"

const (
	// scheduleLate is how long a tick may be due before nobody seems to be there for it.
	scheduleLate = 15 * time.Second
	// maxRuns and maxKeys are how many of them are shown.
	maxRuns = 200
	maxKeys = 200
)

var (
	//go:embed surql/schedules.surql
	schedulesStatement string
	//go:embed surql/schedule_runs.surql
	scheduleRunsStatement string
	//go:embed surql/schedule_keys.surql
	scheduleKeysStatement string
)

// Schedules are what is started by the clock. Its methods may be called from any goroutine.
type Schedules struct {
	db    *surreal.Client
	hider hider
}

// NewSchedules makes it; nothing is sent. Texts of errors are shown without what rules hide.
func NewSchedules(db *surreal.Client, rules redact.Rules) *Schedules {
	return &Schedules{db, hider{db: db, rules: rules}}
}

// A Schedule is one of the configuration that a node has written into the database.
type Schedule struct {
	Name string `json:"name"`
	// State is active, paused by an operator, disabled by the configuration, or retired: no node's configuration
	// has it any more. It is retiring from when that is so until it is certain, three minutes later.
	State string `json:"state"`
	// Cron, in Timezone, or EveryMS says when.
	Cron     string `json:"cron,omitempty"`
	EveryMS  int64  `json:"every_ms,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// Backend and Route say where the job goes, Workflow which durable workflow is started instead.
	Backend  string `json:"backend"`
	Route    string `json:"route,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	// DAG says that a run of the DAG of the same name is started.
	DAG bool `json:"dag,omitempty"`
	// ForEach is the query that gives one run for each row.
	ForEach     string `json:"for_each,omitempty"`
	Concurrency string `json:"concurrency"`
	// NextAt is nil where the expression is never true again, and of a schedule that is disabled, retiring or retired; while
	// it is paused it stays what it was, and nothing comes of it. LastAt is nil without a tick so far.
	NextAt   *time.Time `json:"next_at,omitempty"`
	LastAt   *time.Time `json:"last_at,omitempty"`
	PausedAt *time.Time `json:"paused_at,omitempty"`
	// Fires counts ticks.
	Fires int64 `json:"fires"`
	// Late says that a tick is due and no node starts it: none runs that has the schedule, or Trouble says
	// why not.
	Late bool `json:"late,omitempty"`
	// Trouble is why the tick can't be started; without Late, which rows of forEach the last tick left out.
	Trouble string `json:"trouble,omitempty"`
	// Quarantined is how many keys are in quarantine.
	Quarantined int          `json:"quarantined,omitempty"`
	LastRun     *ScheduleRun `json:"last_run,omitempty"`
}

// A ScheduleRun is what a tick started, or would have.
type ScheduleRun struct {
	// Key tells the rows of forEach apart, "" without.
	Key  string    `json:"key,omitempty"`
	Tick time.Time `json:"tick"`
	// Manual says that somebody triggered it.
	Manual bool `json:"manual,omitempty"`
	// Status is running, success, failed, skipped, replaced or killed; Reason why, where that is not plain.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Job, Instance or Run is what was started.
	Job        string     `json:"job,omitempty"`
	Instance   string     `json:"instance,omitempty"`
	Run        string     `json:"run,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// A ScheduleKey is a key whose runs have failed lately, in a schedule with quarantineAfter.
type ScheduleKey struct {
	Key string `json:"key"`
	// Failures counts those in a row.
	Failures int `json:"failures"`
	// QuarantinedAt is since when it is not started any more.
	QuarantinedAt *time.Time `json:"quarantined_at,omitempty"`
}

// List answers with all schedules, by name, DAGs that have a clock among them. A database to which the platform's schema has not been applied
// has none.
func (s *Schedules) List(ctx context.Context) ([]Schedule, error) {
	all, err := s.read(ctx, surreal.None)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return all, nil
}

// Get answers with one schedule.
func (s *Schedules) Get(ctx context.Context, name string) (Schedule, error) {
	all, err := s.read(ctx, name)
	switch {
	case err != nil:
		return Schedule{}, fmt.Errorf("get schedule %s: %w", name, err)
	case len(all) == 0:
		return Schedule{}, fmt.Errorf("get schedule %s: schedule %w", name, ErrNotFound)
	}
	return all[0], nil
}

// Runs answers with the newest runs of a schedule: 50 where limit is 0, at most 200.
func (s *Schedules) Runs(ctx context.Context, name string, limit int) ([]ScheduleRun, error) {
	switch {
	case limit < 0 || limit > maxRuns:
		return nil, inputf("limit %d; allowed: 1 to %d", limit, maxRuns)
	case limit == 0:
		limit = 50
	}
	rows, err := surreal.First[[]runRow](ctx, s.db, scheduleRunsStatement, map[string]any{"name": name, "limit": limit})
	if err != nil && !surreal.IsNotFound(err) {
		return nil, fmt.Errorf("runs of schedule %s: %w", name, err)
	}
	if err := s.hider.scheduleRuns(ctx, rows); err != nil {
		return nil, fmt.Errorf("runs of schedule %s: %w", name, err)
	}
	runs := make([]ScheduleRun, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, row.run())
	}
	return runs, nil
}

// Keys answers with the keys of a schedule that have failed lately, at most 200.
func (s *Schedules) Keys(ctx context.Context, name string) ([]ScheduleKey, error) {
	keys, err := surreal.First[[]ScheduleKey](ctx, s.db, scheduleKeysStatement, map[string]any{"name": name, "limit": maxKeys})
	if err != nil && !surreal.IsNotFound(err) {
		return nil, fmt.Errorf("keys of schedule %s: %w", name, err)
	}
	return append([]ScheduleKey{}, keys...), nil
}

// runRow is a run as the database keeps it.
type runRow struct {
	ScheduleRun

	Target *surreal.RecordID `json:"target"`
}

func (r runRow) run() ScheduleRun {
	run := r.ScheduleRun
	switch {
	case r.Target == nil:
	case r.Target.Table == "_00_wf_instance":
		run.Instance = textIn(r.Target.ID)
	case r.Target.Table == "_00_workflow_run":
		run.Run = textIn(r.Target.ID)
	default:
		run.Job = surreal.FormatID(*r.Target)
	}
	return run
}

type scheduleRow struct {
	schedule.Row

	LastRun     *runRow `json:"last_run"`
	Quarantined int     `json:"quarantined"`
	// Left says that no living node has it, although one could.
	Left bool `json:"left"`
}

func (s *Schedules) read(ctx context.Context, name any) ([]Schedule, error) {
	answer, err := surreal.First[struct {
		Now       time.Time     `json:"now"`
		Schedules []scheduleRow `json:"schedules"`
	}](ctx, s.db, schedulesStatement, map[string]any{"name": name})
	if err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)) {
		return nil, err
	}
	if err := s.hider.schedules(ctx, answer.Schedules); err != nil {
		return nil, err
	}
	all := make([]Schedule, 0, len(answer.Schedules))
	for _, row := range answer.Schedules {
		if row.Spec.DAG == nil || row.Spec.Timed() {
			all = append(all, row.schedule(answer.Now))
		}
	}
	return all, nil
}

func (r scheduleRow) schedule(now time.Time) Schedule {
	s := Schedule{
		Name: r.Name, State: ScheduleActive, Cron: r.Spec.Cron, EveryMS: r.Spec.EveryMS,
		Backend: r.Spec.Backend, Route: r.Spec.Route, Workflow: r.Spec.Workflow, Concurrency: r.Spec.Concurrency,
		DAG: r.Spec.DAG != nil, NextAt: r.NextAt, LastAt: r.LastAt, PausedAt: r.PausedAt, Fires: r.Fires, Trouble: r.Trouble, Quarantined: r.Quarantined,
	}
	switch {
	case r.RetiredAt != nil:
		s.State = ScheduleRetired
	case r.Left:
		s.State = ScheduleRetiring
	case !r.Enabled:
		s.State = ScheduleDisabled
	case r.PausedAt != nil:
		s.State = SchedulePaused
	default:
		s.Late = r.NextAt != nil && now.Sub(*r.NextAt) > scheduleLate
	}
	if s.State == ScheduleDisabled || s.State == ScheduleRetiring || s.State == ScheduleRetired {
		s.NextAt = nil // what stands there is not going to happen
	}
	if r.Spec.Cron != "" {
		s.Timezone = r.Spec.Timezone
	}
	if r.Spec.ForEach != nil {
		s.ForEach = r.Spec.ForEach.Query
	}
	if r.LastRun != nil {
		run := r.LastRun.run()
		s.LastRun = &run
	}
	return s
}

package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/surreal"
)

// A Spec is a schedule with everything that a node needs to start what it is for.
type Spec struct {
	config.Schedule
	// DAG is what is started instead of a job or an instance. A DAG without a clock is started by hand only.
	DAG *dag.Definition
	// Table is the outbox table of the job, or of the workflow's jobs; Backend is set in both cases.
	Table string
	// Cancelled is the status that stands for a cancelled job in the table. Defaults to "cancelled".
	Cancelled string
	// KeepSuccess and KeepFailed say how long runs are remembered; 0 is for ever. FailuresOnly remembers no
	// other than failed ones.
	KeepSuccess, KeepFailed time.Duration
	FailuresOnly            bool
}

// Specs are the schedules and the DAGs of a configuration, with the defaults that its retention gives; but for the
// deadline of all runs, which the database has.
func Specs(cfg *config.Config) []Spec {
	specs := make([]Spec, 0, len(cfg.Schedules)+len(cfg.Workflows))
	for _, s := range cfg.Schedules {
		spec := Spec{Schedule: s, KeepSuccess: s.History.Success, KeepFailed: s.History.Failed}
		if spec.KeepSuccess == 0 {
			spec.KeepSuccess = cfg.Retention.RunSuccess
		}
		if spec.KeepFailed == 0 {
			spec.KeepFailed = cfg.Retention.RunFailed
		}
		spec.FailuresOnly = s.History.Mode == "failures-only" || s.History.Mode == "" && cfg.Retention.Mode == "failures-only"
		spec.Backend, spec.Table = home(cfg, s)
		specs = append(specs, spec)
	}
	for _, d := range cfg.Workflows {
		specs = append(specs, ofDAG(cfg, d))
	}
	return specs
}

// ofDAG is a DAG as what its clock starts.
func ofDAG(cfg *config.Config, d config.DAG) Spec {
	spec := Spec{
		Schedule:    config.Schedule{Name: d.Name, ForEach: d.ForEach, Concurrency: d.Concurrency, Enabled: true},
		DAG:         dag.Define(cfg, d),
		KeepSuccess: cfg.Retention.RunSuccess, KeepFailed: cfg.Retention.RunFailed, FailuresOnly: cfg.Retention.Mode == "failures-only",
	}
	if t := d.Trigger; t != nil {
		spec.Cron, spec.Every, spec.Timezone = t.Cron, t.Every, t.Timezone
	}
	return spec
}

// Tables are the outbox tables that it writes jobs to.
func (s Spec) Tables() []string {
	if s.DAG == nil {
		return []string{s.Table}
	}
	tables := make([]string, len(s.DAG.Steps))
	for i, step := range s.DAG.Steps {
		tables[i] = step.Table
	}
	return tables
}

// With is the spec with the words that stand for cancelled jobs, by table.
func (s Spec) With(cancelled map[string]string) Spec {
	s.Cancelled = cancelled[s.Table]
	if s.DAG != nil {
		def := *s.DAG
		def.Steps = slices.Clone(def.Steps)
		for i := range def.Steps {
			def.Steps[i].Cancelled = cancelled[def.Steps[i].Table]
		}
		s.DAG = &def
	}
	return s
}

// home is the backend that serves a schedule, and its table.
func home(cfg *config.Config, s config.Schedule) (backend, table string) {
	for _, b := range cfg.Backends {
		serves := slices.ContainsFunc(b.Workflows, func(w config.Workflow) bool { return w.Binding == s.Workflow })
		if b.Name == s.Backend || s.Workflow != "" && serves {
			return b.Name, b.Table
		}
	}
	return s.Backend, ""
}

// row is what the database keeps of the schedule.
func (s Spec) row() map[string]any {
	row := map[string]any{
		"cron": s.Cron, "every_ms": s.Every.Milliseconds(), "timezone": s.Timezone,
		"backend": s.Backend, "table": s.Table, "route": s.Route, "payload": s.Payload,
		"concurrency": cmp.Or(s.Concurrency, "skip"), "retries": s.Retry.Max, "strategy": cmp.Or(s.Retry.Strategy, "linear"),
		"quarantine_after": s.QuarantineAfter,
		"failures_only":    s.FailuresOnly, "keep_ms": s.KeepSuccess.Milliseconds(), "keep_failed_ms": s.KeepFailed.Milliseconds(),
		"cancelled": cmp.Or(s.Cancelled, "cancelled"),
	}
	if s.Payload == nil {
		row["payload"] = map[string]any{}
	}
	if s.Timeout > 0 {
		row["timeout"] = int64((s.Timeout + time.Second - 1) / time.Second)
	}
	if s.Workflow != "" {
		row["workflow"] = s.Workflow
	}
	if s.Deadline > 0 || s.Workflow != "" || s.DAG != nil { // a durable workflow may take months, a run of a DAG has its own
		row["deadline_ms"] = s.Deadline.Milliseconds()
	}
	if s.DAG != nil {
		row["dag"] = s.DAG.Columns()
	}
	if s.ForEach != nil {
		row["for_each"] = map[string]any{"query": s.ForEach.Query, "key": s.ForEach.Key}
	}
	return row
}

// deployment is what schedule::deploy takes.
func (s Spec) deployment(now time.Time) (map[string]any, error) {
	next := any(surreal.None)
	if s.Cron != "" || s.Every != 0 || s.DAG == nil {
		clock, err := NewClock(s.Cron, s.Every, s.Timezone)
		if err != nil {
			return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
		}
		next = optional(clock.Next(now, now))
	}
	row := s.row()
	text, err := json.Marshal([]any{row, s.Enabled})
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	sum := sha256.Sum256(text)
	return map[string]any{
		"name": s.Name, "spec": row, "digest": hex.EncodeToString(sum[:]), "enabled": s.Enabled,
		"clock": fmt.Sprintf("%s|%d|%s", s.Cron, s.Every.Milliseconds(), s.Timezone), "next": next,
	}, nil
}

// optional is a time, or NONE where it is zero.
func optional(t time.Time) any {
	if t.IsZero() {
		return surreal.None
	}
	return t
}

package dag

import (
	"cmp"
	"slices"
	"time"

	"sp00ky.cloud/spky/config"
)

// A Definition is a DAG with everything that its runs need.
type Definition struct {
	// OnFailure is "halt" or "continue-independent".
	OnFailure string
	// Deadline ends a run that takes longer; 0 is that of all runs, which the database has.
	Deadline time.Duration
	Steps    []Step
}

// A Step is one of a Definition.
type Step struct {
	config.DAGStep

	// Table is the outbox table of the step's backend.
	Table string
	// Cancelled is the status that stands for a cancelled job in the table. Defaults to "cancelled".
	Cancelled string
}

// Define makes a definition of what a configuration says.
func Define(cfg *config.Config, d config.DAG) *Definition {
	def := &Definition{OnFailure: d.OnFailure}
	for _, s := range d.Steps {
		step := Step{DAGStep: s}
		if b, ok := cfg.Backend(s.Backend); ok {
			step.Table = b.Table
		}
		def.Steps = append(def.Steps, step)
	}
	return def
}

// Columns are the definition as the database keeps it.
func (d *Definition) Columns() map[string]any {
	steps := make([]map[string]any, len(d.Steps))
	for i, s := range d.Steps {
		steps[i] = map[string]any{
			"name": s.Name, "position": i, "backend": s.Backend, "table": s.Table, "route": s.Route, "payload": s.Payload,
			"retries": s.Retry.Max, "strategy": cmp.Or(s.Retry.Strategy, "linear"), "cancelled": cmp.Or(s.Cancelled, "cancelled"),
			"depends_on": append([]string{}, s.DependsOn...), "upstream": d.upstream(s.Name),
		}
		if s.Payload == nil {
			steps[i]["payload"] = map[string]any{}
		}
		if s.Timeout > 0 {
			steps[i]["timeout"] = int64((s.Timeout + time.Second - 1) / time.Second)
		}
	}
	columns := map[string]any{"on_failure": cmp.Or(d.OnFailure, "halt"), "steps": steps}
	if d.Deadline > 0 {
		columns["deadline_ms"] = d.Deadline.Milliseconds()
	}
	return columns
}

// upstream are the steps that have to succeed before one may begin: those it depends on, those they do, and
// so on, by name.
func (d *Definition) upstream(name string) []string {
	all := []string{}
	open := []string{name}
	for len(open) > 0 {
		at := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Name == open[0] })
		open = open[1:]
		if at < 0 {
			continue
		}
		for _, dep := range d.Steps[at].DependsOn {
			if !slices.Contains(all, dep) {
				all, open = append(all, dep), append(open, dep)
			}
		}
	}
	slices.Sort(all)
	return all
}

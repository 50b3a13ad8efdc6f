package admin

import (
	"context"
	_ "embed"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

//go:embed surql/hidden_runs.surql
var hiddenRunsStatement string

// hiddenRun is what an error of a run of a DAG may repeat.
type hiddenRun struct {
	ID    string `json:"id"`
	Found bool   `json:"found"`
	Input any    `json:"input"`
	Steps []struct {
		Name    string `json:"name"`
		Payload any    `json:"payload"`
		Result  any    `json:"result"`
	} `json:"steps"`
}

// runs answers with the masks of runs of DAGs, by their ids, but of those that hold too much.
func (h hider) runs(ctx context.Context, ids []string) (masks, error) {
	ids, err := readable(ctx, h, ids, hiddenRunSizes, nil)
	if err != nil {
		return nil, err
	}
	rows, err := hidden(ctx, ids, func(part []string) ([]hiddenRun, error) {
		return surreal.First[[]hiddenRun](ctx, h.db, hiddenRunsStatement, map[string]any{"runs": part})
	})
	all := masks{}
	for _, row := range rows {
		if row.Found {
			all[row.ID] = h.ofRun(row)
		}
	}
	return all, err
}

// ofRun is a run's mask: its input and its steps' results are parts of its jobs' payloads.
func (h hider) ofRun(row hiddenRun) *redact.Mask {
	m, results := h.rules.Mask(), map[string]any{}
	for _, step := range row.Steps {
		m.Add("payload", step.Payload)
		m.Add("result", step.Result)
		results[step.Name] = step.Result
	}
	m.Add("payload", map[string]any{"input": row.Input, "steps": results})
	return m
}

// dagRuns hides in the errors of runs, and of their steps.
func (h hider) dagRuns(ctx context.Context, runs []DAGRun, steps ...StepRun) error {
	var ids []string
	for _, run := range runs {
		if run.Error != nil || len(steps) > 0 {
			ids = append(ids, run.ID)
		}
	}
	if len(ids) == 0 || h.rules.Empty() {
		return nil
	}
	found, err := h.runs(ctx, ids)
	if err != nil {
		return err
	}
	for _, run := range runs {
		run.Error.hide(found.of(run.ID))
	}
	for _, step := range steps {
		step.Error.hide(found.of(runs[0].ID))
	}
	return nil
}

func (e *RunError) hide(m *redact.Mask) {
	if e != nil {
		e.Reason = m.Text(e.Reason)
	}
}

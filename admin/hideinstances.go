package admin

import (
	"context"
	_ "embed"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

//go:embed surql/hidden_instances.surql
var hiddenInstancesStatement string

// A life is an instance between two restarts; incarnation present is whichever it is in.
type life struct {
	ID          string `json:"id"`
	Incarnation int    `json:"incarnation"`
}

const present = -1

// hiddenInstance is what an error of an instance may repeat.
type hiddenInstance struct {
	ID string `json:"id"`
	// Incarnation is the present one, nil where there is no such instance.
	Incarnation *int  `json:"incarnation"`
	Params      any   `json:"params"`
	Output      any   `json:"output"`
	Outputs     []any `json:"outputs"`
	Payloads    []any `json:"payloads"`
}

// lives reads what instances hold. One that was restarted meanwhile is left out: what its errors were about is forgotten.
// So is one that holds too much.
func (h hider) lives(ctx context.Context, of []life) (map[string]hiddenInstance, error) {
	wanted, all := map[string]int{}, map[string]hiddenInstance{}
	var once []life // for jobs of one instance name it again and again
	for _, one := range of {
		if _, known := wanted[one.ID]; !known {
			once = append(once, one)
		}
		wanted[one.ID] = one.Incarnation
	}
	vars := map[string]any{"params": h.rules.Concern("params"), "output": h.rules.Concern("output"), "payload": h.rules.Concern("payload")}
	of, err := readable(ctx, h, once, hiddenInstanceSizes, vars)
	if err != nil {
		return nil, err
	}
	rows, err := hidden(ctx, of, func(part []life) ([]hiddenInstance, error) {
		vars["of"] = part
		return surreal.First[[]hiddenInstance](ctx, h.db, hiddenInstancesStatement, vars)
	})
	for _, row := range rows {
		if n := wanted[row.ID]; row.Incarnation != nil && (n == present || n == *row.Incarnation) {
			all[row.ID] = row
		}
	}
	return all, err
}

// instances answers with the masks of instances, by their ids.
func (h hider) instances(ctx context.Context, of []life) (masks, error) {
	found, err := h.lives(ctx, of)
	all := masks{}
	for id, row := range found {
		all[id] = h.rules.Mask()
		row.add(all[id])
	}
	return all, err
}

func (r hiddenInstance) add(m *redact.Mask) {
	m.Add("params", r.Params)
	m.Add("output", r.Output)
	for _, output := range r.Outputs {
		m.Add("output", output)
	}
	for _, payload := range r.Payloads {
		m.Add("payload", payload)
	}
}

// summaries hides in the errors of instances.
func (h hider) summaries(ctx context.Context, all ...Summary) error {
	var of []life
	for _, s := range all {
		if s.Error != nil && !h.rules.Empty() {
			of = append(of, life{s.ID, s.Incarnation})
		}
	}
	found, err := h.instances(ctx, of)
	if err != nil || len(of) == 0 {
		return err
	}
	for _, one := range all {
		if one.Error != nil {
			one.Error.hide(found.of(one.ID))
		}
	}
	return nil
}

// steps hides in the errors of steps of one instance.
func (h hider) steps(ctx context.Context, of life, steps []Step) error {
	var errs []*Error
	for _, s := range steps {
		if s.Error != nil {
			errs = append(errs, s.Error)
		}
		for _, a := range s.Attempts {
			if a.Error != nil {
				errs = append(errs, a.Error)
			}
		}
	}
	if len(errs) == 0 || h.rules.Empty() {
		return nil
	}
	found, err := h.instances(ctx, []life{of})
	if err != nil {
		return err
	}
	for _, one := range errs {
		one.hide(found.of(of.ID))
	}
	return nil
}

func (e *Error) hide(m *redact.Mask) {
	e.Name, e.Message, e.Stack = m.Text(e.Name), m.Text(e.Message), m.Text(e.Stack)
}

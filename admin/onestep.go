package admin

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/surreal"
)

// Step answers with one step and what it came to: the one with the kind, name and occurrence of like,
// as [Durable.Steps] has it. It reads nothing of the other steps, whose outputs may be large. ErrNotFound
// is a step that has not been reached, or is forgotten.
func (d *Durable) Step(ctx context.Context, id string, incarnation int, like Step) (Step, error) {
	key := surreal.RecordID{Table: stepTable, ID: []any{id, incarnation, like.Kind, like.Name, like.Occurrence}}
	rows, err := surreal.First[[]stepRow](ctx, d.db, "SELECT * FROM $step", map[string]any{"step": key})
	switch {
	case err != nil:
		return Step{}, fmt.Errorf("read step %s of %s: %w", like.Label(), id, err)
	case len(rows) == 0:
		return Step{}, fmt.Errorf("read step %s of %s: %w", like.Label(), id, ErrNotFound)
	}
	step := rows[0].step(&d.hider.rules)
	return step, d.hider.steps(ctx, life{id, incarnation}, []Step{step})
}

// stepTable is where steps are.
const stepTable = "_00_wf_step"

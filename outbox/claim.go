package outbox

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/surreal"
)

// A Refused is a row whose write the database refused for a reason that trying again won't mend.
type Refused struct {
	ID  surreal.RecordID
	Err error
}

// Claim takes those of the jobs that are pending and due for node and answers with them as they
// are now. Ids that are missing from both answers belong to somebody else, are not due, or are
// gone. After an error nothing is known of the ids in no answer: see [Table.Held].
func (t *Table) Claim(ctx context.Context, node string, ids []surreal.RecordID) ([]Job, []Refused, error) {
	vars := map[string]any{"node": node, "overridable": t.cfg.Overridable,
		"timeout": surreal.Duration(t.cfg.Timeout), "grace": surreal.Duration(t.cfg.Grace)}
	var refused []Refused
	jobs, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]Job, error) {
		return t.claimAll(ctx, part, vars)
	}, func(id surreal.RecordID, err error) ([]Job, error) {
		refused = append(refused, Refused{ID: id, Err: err})
		return nil, nil
	})
	if err != nil {
		return jobs, refused, fmt.Errorf("claim in %s: %w", t.cfg.Name, err)
	}
	return jobs, refused, nil
}

func (t *Table) claimAll(ctx context.Context, ids []surreal.RecordID, shared map[string]any) ([]Job, error) {
	vars := map[string]any{"ids": ids}
	for k, v := range shared {
		vars[k] = v
	}
	rows, err := surreal.Rows(ctx, t.cfg.DB, t.claim, vars)
	if err != nil {
		return nil, err
	}
	jobs := make([]Job, 0, len(rows))
	for _, raw := range rows {
		job, err := decodeJob(raw)
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

package outbox

import (
	"context"
	"fmt"
	"maps"

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
	vars := t.claimVars(node)
	var refused []Refused
	jobs, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]Job, error) {
		return t.claimAll(ctx, t.claim, part, vars)
	}, func(id surreal.RecordID, err error) ([]Job, error) {
		refused = append(refused, Refused{ID: id, Err: err})
		return nil, nil
	})
	if err != nil {
		return jobs, refused, fmt.Errorf("claim in %s: %w", t.cfg.Name, err)
	}
	return jobs, refused, nil
}

func (t *Table) claimVars(node string) map[string]any {
	return map[string]any{
		"node": node, "overridable": t.cfg.Overridable,
		"timeout": surreal.Duration(t.cfg.Timeout), "grace": surreal.Duration(t.cfg.Grace),
	}
}

func (t *Table) claimAll(ctx context.Context, statement string, ids []surreal.RecordID, shared map[string]any) ([]Job, error) {
	vars := maps.Clone(shared)
	vars["ids"] = ids
	rows, err := surreal.Rows(ctx, t.cfg.DB, statement, vars)
	if err != nil {
		return t.claimed(ctx, vars, err)
	}
	return decodeJobs(rows)
}

// claimed finds what a claim has taken although its answer is an error. The database commits first
// and then writes its answer, and a value in it, such as a regular expression, may have no form on
// the wire, or all of them together be more than is read. Without this, one such payload would hold up all
// jobs that are claimed along with it, again and again. Where the claim took nothing, the answer is the
// claim's error.
func (t *Table) claimed(ctx context.Context, vars map[string]any, cause error) ([]Job, error) {
	if surreal.IsConflict(cause) || surreal.IsUnreachable(cause) || ctx.Err() != nil {
		return nil, cause
	}
	mine, err := surreal.First[[]claimedKey](ctx, t.cfg.DB, t.mine, vars)
	if err != nil || len(mine) == 0 {
		return nil, cause
	}
	var jobs []Job
	for _, key := range mine {
		rows, err := surreal.Rows(ctx, t.cfg.DB, t.reread, map[string]any{"ids": []surreal.RecordID{key.ID}, "epoch": key.Epoch})
		switch {
		case surreal.IsUnreachable(err) || ctx.Err() != nil:
			return jobs, err
		case err != nil:
			jobs = append(jobs, Job{ID: key.ID, Epoch: key.Epoch, Err: fmt.Errorf("%w: %w", ErrUnreadable, err)})
			continue
		}
		found, err := decodeJobs(rows)
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, found...)
	}
	return jobs, nil
}

func decodeJobs(rows []surreal.Result) ([]Job, error) {
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

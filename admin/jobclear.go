package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

const (
	// maxClear bounds the jobs that one call deletes, clearPart is how many go in one transaction.
	maxClear  = 10_000
	clearPart = 500
)

// A Cleared is what Clear came to.
type Cleared struct {
	// Cleared is how many jobs were deleted, Total how many there were to be deleted, counted to 100,000
	// in each table and state.
	Cleared int `json:"cleared"`
	Total   int `json:"total"`
	// More says that there are more: call again.
	More bool `json:"more"`
}

// Clear deletes finished jobs of a table, or of all tables where it is ""; with all pending ones too.
// A job that runs is never deleted. One call deletes 10,000 at most. A pending job of a workflow
// instance is given to it again by the nodes.
func (j *Jobs) Clear(ctx context.Context, table string, all bool) (Cleared, error) {
	tables, err := j.chosen(table, "")
	if err != nil {
		return Cleared{}, err
	}
	states := []outbox.Status{outbox.Success, outbox.Failed, outbox.Cancelled}
	if all {
		states = append(states, outbox.Pending)
	}
	var c Cleared
	for _, table := range tables {
		for _, status := range states {
			n, err := surreal.First[int](ctx, j.db, jobStatement("jobs_count", table, ""), map[string]any{"status": string(status), "most": maxCount})
			if err != nil {
				return c, fmt.Errorf("clear %s: %w", table, err)
			}
			c.Total += n
		}
	}
	for _, table := range tables {
		if c.Cleared >= maxClear {
			c.More = c.Total > c.Cleared
			break
		}
		if err := j.clear(ctx, table, states, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// clear deletes jobs of one table, in parts. What is begun is in the audit before, and what came of it after.
func (j *Jobs) clear(ctx context.Context, table string, states []outbox.Status, c *Cleared) error {
	noted, err := surreal.First[surreal.RecordID](ctx, j.db.Retrying(), "RETURN fn::spky::audit::write($audit, $audit.target, 'begun')",
		map[string]any{"audit": entry(ctx, "job.clear", table)})
	if err != nil {
		return fmt.Errorf("clear %s: write the audit: %w", table, err)
	}
	before := c.Cleared
	outcome, detail := "done", ""
	if err = j.clearStates(ctx, table, states, c); err != nil {
		outcome, detail = "failed", ": "+err.Error()
	}
	vars := map[string]any{"id": noted, "outcome": outcome, "detail": short(fmt.Sprintf("%d jobs deleted%s", c.Cleared-before, detail), maxDetail)}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	ended := surreal.Exec(ending, j.db.Retrying(), "UPDATE ONLY $id SET outcome = $outcome, detail = $detail RETURN NONE", vars)
	if err = errors.Join(err, ended); err != nil {
		return fmt.Errorf("clear %s: after %d jobs: %w", table, c.Cleared-before, err)
	}
	return nil
}

func (j *Jobs) clearStates(ctx context.Context, table string, states []outbox.Status, c *Cleared) error {
	for _, status := range states {
		for {
			if c.Cleared >= maxClear {
				c.More = c.Total > c.Cleared
				return nil
			}
			vars := map[string]any{"status": string(status), "most": min(clearPart, maxClear-c.Cleared)}
			n, err := surreal.First[int](ctx, j.db.Retrying(), jobStatement("jobs_clear", table, ""), vars)
			if err != nil {
				return err
			}
			if c.Cleared += n; n == 0 {
				break
			}
		}
	}
	return nil
}

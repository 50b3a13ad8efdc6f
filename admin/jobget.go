package admin

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// jobsAnswer is what the database says of jobs, which of them run instances, and its clock.
type jobsAnswer struct {
	Now     time.Time          `json:"now"`
	Rows    []outbox.Row       `json:"rows"`
	Durable []surreal.RecordID `json:"durable"`
}

// Get answers with one job; ErrNotFound where there is none. Of the id, see [Jobs.ID].
func (j *Jobs) Get(ctx context.Context, id string) (Job, error) {
	record, err := j.ID(id)
	if err != nil {
		return Job{}, err
	}
	return j.read(ctx, record)
}

func (j *Jobs) read(ctx context.Context, id surreal.RecordID) (Job, error) {
	answer, err := surreal.First[jobsAnswer](ctx, j.db, jobStatement("job", "", ""), map[string]any{"id": id})
	switch {
	case surreal.IsNotFound(err):
		return Job{}, noTable(id)
	case err != nil:
		return j.readable(ctx, id, err)
	case len(answer.Rows) == 0:
		return Job{}, noJob(id)
	}
	job := j.job(answer.Rows[0], answer)
	if err := j.hider.job(ctx, answer.Rows[0], &job); err != nil {
		return Job{}, fmt.Errorf("get %s: %w", surreal.FormatID(id), err)
	}
	return job, nil
}

// readable answers with a job whose row cannot be read whole, without what keeps it from being read: first its payload
// and the user's columns, and where that is not enough its result.
func (j *Jobs) readable(ctx context.Context, id surreal.RecordID, why error) (Job, error) {
	instead := fmt.Sprintf("[the database cannot send it: %v]", why)
	ask := func(result bool) (jobsAnswer, error) {
		vars := map[string]any{"id": id, "result": result, "instead": instead}
		return surreal.First[jobsAnswer](ctx, j.db, jobStatement("job_readable", "", ""), vars)
	}
	answer, err := ask(true)
	if err != nil {
		answer, err = ask(false)
	}
	if err != nil || len(answer.Rows) == 0 {
		return Job{}, fmt.Errorf("get %s: %w", surreal.FormatID(id), why)
	}
	answer.Rows[0]["payload"] = instead
	job := j.job(answer.Rows[0], answer)
	if !j.hider.rules.Empty() { // who knows what its errors repeat
		j.hider.outcome(&job, redact.Whole(), answer.Rows[0])
	}
	return job, nil
}

func noJob(id surreal.RecordID) error {
	return fmt.Errorf("%s: job %w", surreal.FormatID(id), ErrNotFound)
}

func noTable(id surreal.RecordID) error {
	return fmt.Errorf("%s: job %w: there is no table %s", surreal.FormatID(id), ErrNotFound, id.Table)
}

package admin

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// The verbs on jobs, as they are named everywhere.
const (
	verbCancelJob = "cancel"
	verbRetryJob  = "retry"
)

// possibleJob names the verbs that a job's state allows.
func possibleJob(status outbox.Status) []string {
	switch {
	case status == outbox.Pending, status == outbox.Processing:
		return []string{verbCancelJob}
	case status.Terminal():
		return []string{verbRetryJob}
	}
	return []string{} // no state that the platform knows: somebody else wrote it
}

// Each verb answers with the state that the job was found in.

// Cancel ends a pending job at once, and has the node that runs one abort its request. A finished job is
// a *StateError.
func (j *Jobs) Cancel(ctx context.Context, id string) (outbox.Status, error) {
	record, err := j.ID(id)
	if err != nil {
		return "", err
	}
	word, err := j.cancelled(ctx, record.Table)
	if surreal.IsNotFound(err) {
		return "", noTable(record)
	}
	if err != nil {
		return "", err
	}
	return j.act(ctx, verbCancelJob, record, "fn::spky::job::cancel($id, $cancelled)", map[string]any{"cancelled": string(word)})
}

// Retry makes a finished job run again from its first attempt: the errors and the result it had are
// forgotten.
func (j *Jobs) Retry(ctx context.Context, id string) (outbox.Status, error) {
	record, err := j.ID(id)
	if err != nil {
		return "", err
	}
	return j.act(ctx, verbRetryJob, record, "fn::spky::job::retry($id)", map[string]any{})
}

func (j *Jobs) act(ctx context.Context, verb string, id surreal.RecordID, call string, vars map[string]any) (outbox.Status, error) {
	vars["id"] = id
	name := surreal.FormatID(id)
	answer, err := audited[struct {
		Status  any  `json:"status"`
		Changed bool `json:"changed"`
	}](ctx, j.db, "job."+verb, name, call, vars)
	status := outbox.Status(textIn(answer.Status))
	switch {
	case surreal.IsNotFound(err) && !surreal.IsUnreachable(err):
		return "", noTable(id)
	case err != nil:
		return "", fmt.Errorf("%s %s: %w", verb, name, err)
	case answer.Status == nil && !answer.Changed:
		if _, err := j.read(ctx, id); err != nil { // else its row has no status at all
			return "", err
		}
		fallthrough
	case !answer.Changed:
		return status, &StateError{Job: true, ID: name, Verb: verb, Status: string(status), Possible: possibleJob(status)}
	}
	return status, nil
}

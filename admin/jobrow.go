package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// A JobSummary is a job as lists show it: without payload, result and errors.
type JobSummary struct {
	// ID is the record id as SurrealDB writes it.
	ID    string `json:"id"`
	Table string `json:"table"`
	// Backend is the one whose jobs the table has, "" where the configuration has none.
	Backend string `json:"backend,omitempty"`
	// Origin is durable for a job that the platform wrote to run a workflow instance, else app.
	Origin string        `json:"origin"`
	Status outbox.Status `json:"status"`
	Path   string        `json:"path"`
	// Retries counts the failed attempts, MaxRetries how many there are.
	Retries       int    `json:"retries"`
	MaxRetries    int    `json:"max_retries"`
	RetryStrategy string `json:"retry_strategy,omitempty"`
	// Timeout of an attempt in seconds, Delay in milliseconds, as the creator wrote them; 0 where he did
	// not.
	Timeout int64 `json:"timeout,omitempty"`
	Delay   int64 `json:"delay,omitempty"`
	// AssignedTo is the record that the job belongs to.
	AssignedTo string     `json:"assigned_to,omitempty"`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	UpdatedAt  *time.Time `json:"updated_at,omitempty"`
	// RunAt is when it is due, of a pending job.
	RunAt *time.Time `json:"run_at,omitempty"`
	// Assignee is the node that holds it, LeaseUntil until when: of one that runs.
	Assignee   string     `json:"assignee,omitempty"`
	LeaseUntil *time.Time `json:"lease_until,omitempty"`
	// CancelRequested is set while the node that runs it is asked to abort.
	CancelRequested *time.Time `json:"cancel_requested,omitempty"`
	// Stalled says that its lease has run out while it ran: its node is gone, and another has not taken
	// it yet.
	Stalled bool `json:"stalled,omitempty"`
}

// A Job is everything a job's row holds.
type Job struct {
	JobSummary

	// Payload and Result are JSON, null where there is none.
	Payload json.RawMessage `json:"payload"`
	Result  json.RawMessage `json:"result"`
	Errors  []JobError      `json:"errors"`
	// LeaseEpoch counts the claims.
	LeaseEpoch int64 `json:"lease_epoch,omitempty"`
	// Instance is the workflow instance that a durable job runs.
	Instance string `json:"instance,omitempty"`
	// TraceID names the trace of what created it, which its attempts go on with; "" where that had none.
	TraceID string `json:"trace_id,omitempty"`
	// Columns are those that the platform does not know, by name.
	Columns map[string]json.RawMessage `json:"columns,omitempty"`
}

// A JobError is why an attempt failed.
type JobError struct {
	// Code is the HTTP status, 0 where there was no answer, or a word such as lease_expired.
	Code    any        `json:"code"`
	Reason  string     `json:"reason"`
	At      *time.Time `json:"at,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
}

// summaryColumns are those that summaries are made of, known those that a Job has fields for.
var (
	summaryColumns = []string{
		"id", "status", "path", "retries", "max_retries", "retry_strategy", "timeout", "delay", "assigned_to", "created_at",
		"updated_at", "run_at", "assignee", "lease_until", "cancel_requested",
	}
	knownColumns = append([]string{"payload", "result", "errors", "lease_epoch", "listed", "newest", "traceparent"}, summaryColumns...)
)

// A user's table may hold anything in any column: what is not as it should be is left out, and no row
// keeps others from being shown.

func (j *Jobs) summary(row outbox.Row, origin string, now time.Time) JobSummary {
	id, _ := row["id"].(surreal.RecordID)
	path, _ := row["path"].(string)
	s := JobSummary{
		ID: surreal.FormatID(id), Table: id.Table, Backend: j.backend(id.Table), Origin: origin,
		Status: outbox.Status(textIn(row["status"])), Path: path,
		Retries: max(numberIn(row["retries"], 0), 0), MaxRetries: attempts(row["max_retries"]), RetryStrategy: textIn(row["retry_strategy"]),
		Timeout: int64(numberIn(row["timeout"], 0)), Delay: int64(numberIn(row["delay"], 0)),
		CreatedAt: timeIn(row["created_at"]), UpdatedAt: timeIn(row["updated_at"]), RunAt: timeIn(row["run_at"]),
		Assignee: textIn(row["assignee"]), LeaseUntil: timeIn(row["lease_until"]), CancelRequested: timeIn(row["cancel_requested"]),
	}
	if to, ok := row["assigned_to"].(surreal.RecordID); ok {
		s.AssignedTo = surreal.FormatID(to)
	}
	s.Stalled = s.Status == outbox.Processing && s.LeaseUntil != nil && !s.LeaseUntil.After(now)
	return s
}

func (j *Jobs) job(row outbox.Row, answer jobsAnswer) Job {
	job := Job{
		JobSummary: j.summary(row, answer.origin(row), answer.Now), Errors: []JobError{}, LeaseEpoch: int64(numberIn(row["lease_epoch"], 0)),
		Payload: j.hider.rules.Value("payload", row["payload"]), Result: j.hider.rules.Value("result", row["result"]), TraceID: traceID(row["traceparent"]),
	}
	if payload, ok := row["payload"].(map[string]any); ok && job.Origin == originDurable {
		job.Instance = textIn(payload["instance"])
	}
	errors, _ := row["errors"].([]any)
	for _, e := range errors {
		job.Errors = append(job.Errors, jobError(e))
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if !slices.Contains(knownColumns, name) && row[name] != nil {
			if job.Columns == nil {
				job.Columns = map[string]json.RawMessage{}
			}
			job.Columns[name] = j.hider.rules.Value(name, row[name])
		}
	}
	return job
}

func jobError(v any) JobError {
	entry, ok := v.(map[string]any)
	if !ok {
		return JobError{Code: "unknown", Reason: string(asJSON(v))}
	}
	e := JobError{Code: 0, At: timeIn(entry["at"]), Attempt: numberIn(entry["attempt"], 0)}
	switch code := entry["code"].(type) {
	case string:
		e.Code = code
	default:
		e.Code = numberIn(code, 0)
	}
	if reason, ok := entry["reason"].(string); ok {
		e.Reason = reason
	} else if entry["reason"] != nil {
		e.Reason = string(asJSON(entry["reason"]))
	}
	return e
}

// asJSON is a value of the database as JSON; one that has none is a text that says so.
func asJSON(v any) json.RawMessage {
	out, err := surreal.ToJSON(v)
	if err != nil {
		out, _ = json.Marshal(fmt.Sprintf("[no JSON: %v]", err)) // a string
	}
	return out
}

func textIn(v any) string {
	s, _ := v.(string)
	return s
}

func timeIn(v any) *time.Time {
	at, ok := v.(interface{ UTC() time.Time })
	if !ok {
		return nil
	}
	t := at.UTC()
	return &t
}

// number reads an integer of any type, within ± 1<<31.
func numberIn(v any, otherwise int) int {
	const limit = 1 << 31
	switch n := v.(type) {
	case uint64:
		return int(min(n, limit)) //nolint:gosec // bounded
	case int64:
		return int(max(min(n, limit), -limit))
	}
	return otherwise
}

// attempts is how many a job has.
func attempts(maxRetries any) int {
	return outbox.Job{MaxRetries: numberIn(maxRetries, outbox.DefaultAttempts)}.Attempts()
}

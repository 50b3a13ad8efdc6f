package outbox

import (
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A Status is the value of a job's status column.
type Status string

// The states of a job.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Success    Status = "success"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Terminal says whether a job in this state runs no more by itself.
func (s Status) Terminal() bool { return s == Success || s == Failed || s == Cancelled }

// Statuses are all states, in the order of a job's life.
func Statuses() []Status { return []Status{Pending, Processing, Success, Failed, Cancelled} }

// MaxAttempts caps what a creator may ask for in max_retries.
const MaxAttempts = 100

// DefaultAttempts is what a job without max_retries gets.
const DefaultAttempts = 3

// ErrUnreadable is a claimed row whose values can't be decoded.
var ErrUnreadable = errors.New("the job's row can't be read")

// A Job is a claimed row.
type Job struct {
	ID surreal.RecordID
	// Path is what the creator wrote, unchecked.
	Path string
	// Payload is a decoded SurrealDB value.
	Payload any
	// Retries counts the failed attempts so far.
	Retries int
	// MaxRetries as written by the creator; see Attempts.
	MaxRetries int
	// Strategy is "linear" or "exponential"; anything else behaves as linear.
	Strategy string
	// Timeout of one attempt in seconds, 1 to 3600 whatever the creator wrote, 0 where he wrote none.
	Timeout int
	// Epoch is the fencing token of this claim.
	Epoch int64
	// DueAt is when the job became due, CreatedAt when it was written; by the database's clock.
	DueAt, CreatedAt time.Time
	// Platform is true for a row that the platform wrote to run a workflow instance: the only kind
	// that may call a path under /__spky/.
	Platform bool
	// Traceparent is what the creator was doing, as a W3C trace context; unchecked, "" where he has not said.
	Traceparent string
	// Partition is the key of the partition whose slot the job holds, "" where it belongs to none.
	Partition string
	// Err is ErrUnreadable where the row could be claimed but not decoded; only ID and Epoch are set then.
	Err error
}

// Attempt numbers the attempt that this claim is for, from 1.
func (j Job) Attempt() int { return j.Retries + 1 }

// Attempts is how many attempts the job has: max(1, max_retries), at most MaxAttempts.
func (j Job) Attempts() int { return min(max(1, j.MaxRetries), MaxAttempts) }

// claimedRow is a claim's answer. Columns that the user's table may define in any way are decoded
// as they come and read with care.
type claimedRow struct {
	ID        surreal.RecordID `json:"id"`
	Epoch     int64            `json:"lease_epoch"`
	Path      any              `json:"path"`
	Payload   any              `json:"payload"`
	Retries   any              `json:"retries"`
	Max       any              `json:"max_retries"`
	Strategy  any              `json:"retry_strategy"`
	Timeout   any              `json:"timeout"`
	DueAt     time.Time        `json:"due_at"`
	CreatedAt any              `json:"created_at"`
	Grant     *grant           `json:"grant"`
	Trace     any              `json:"traceparent"`
}

// A grant is what the instance of a durable run's job says of it.
type grant struct {
	Trace any `json:"traceparent"`
}

type claimedKey struct {
	ID    surreal.RecordID `json:"id"`
	Epoch int64            `json:"lease_epoch"`
}

func decodeJob(raw surreal.Result) (Job, error) {
	var key claimedKey
	if err := raw.Decode(&key); err != nil {
		return Job{}, err
	}
	var row claimedRow
	if err := raw.Decode(&row); err != nil {
		return Job{ID: key.ID, Epoch: key.Epoch, Err: fmt.Errorf("%w: %w", ErrUnreadable, err)}, nil
	}
	job := Job{
		ID: row.ID, Epoch: row.Epoch, Payload: row.Payload, DueAt: row.DueAt, Platform: row.Grant != nil,
		Retries: max(integer(row.Retries, 0), 0), MaxRetries: integer(row.Max, DefaultAttempts), Timeout: seconds(row.Timeout),
	}
	job.Path, _ = row.Path.(string)
	job.Strategy, _ = row.Strategy.(string)
	if job.Traceparent, _ = row.Trace.(string); job.Traceparent == "" && row.Grant != nil {
		job.Traceparent, _ = row.Grant.Trace.(string)
	}
	if at, ok := row.CreatedAt.(interface{ UTC() time.Time }); ok {
		job.CreatedAt = at.UTC()
	}
	return job, nil
}

// seconds reads a row's timeout just as the claim's statement does, whose lease must not be shorter.
func seconds(v any) int {
	switch v.(type) {
	case uint64, int64:
		return min(max(integer(v, 0), 1), 3600)
	}
	return 0
}

// integer reads a number of any type, within ± 1<<31.
func integer(v any, otherwise int) int {
	const limit = 1 << 31
	switch n := v.(type) {
	case uint64:
		return int(min(n, limit)) //nolint:gosec // bounded
	case int64:
		return int(max(min(n, limit), -limit))
	case float64:
		return int(max(min(n, limit), -limit))
	case float32:
		return int(max(min(float64(n), limit), -limit))
	}
	return otherwise
}

// A Row is a whole job as stored, by column.
type Row = map[string]any

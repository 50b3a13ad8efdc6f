package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"sp00ky.cloud/spky/admin"
)

// Jobs is [admin.Jobs] at the other end.
type Jobs struct{ c *Client }

// Jobs is what can be done to jobs.
func (c *Client) Jobs() *Jobs { return &Jobs{c} }

func job(id string, more ...string) string { return "/jobs" + path(append([]string{id}, more...)...) }

// List is [admin.Jobs.List].
func (j *Jobs) List(ctx context.Context, o admin.JobListOptions) (admin.JobPage, error) {
	query := url.Values{}
	set(query, "status", string(o.Status))
	set(query, "table", o.Table)
	set(query, "backend", o.Backend)
	set(query, "origin", o.Origin)
	set(query, "q", o.Query)
	set(query, "cursor", o.Cursor)
	if o.Stalled {
		query.Set("stalled", "true")
	}
	if o.Limit != 0 {
		query.Set("limit", strconv.Itoa(o.Limit))
	}
	return get[admin.JobPage](ctx, j.c, "/jobs", query)
}

// Get is [admin.Jobs.Get].
func (j *Jobs) Get(ctx context.Context, id string) (admin.Job, error) {
	if id == "" {
		return admin.Job{}, noID("job")
	}
	return get[admin.Job](ctx, j.c, job(id), nil)
}

func noID(what string) error { return admin.NewInputError("the id of the " + what + " is empty") }

// Create is [admin.Jobs.Create].
func (j *Jobs) Create(ctx context.Context, n admin.NewJob) (string, error) {
	answer, err := post[struct {
		ID string `json:"id"`
	}](ctx, j.c, "/jobs", struct {
		Table         string          `json:"table,omitempty"`
		Backend       string          `json:"backend,omitempty"`
		ID            string          `json:"id,omitempty"`
		Path          string          `json:"path"`
		Payload       json.RawMessage `json:"payload,omitempty"`
		MaxRetries    int             `json:"max_retries,omitempty"`
		RetryStrategy string          `json:"retry_strategy,omitempty"`
		Timeout       int             `json:"timeout,omitempty"`
		Delay         int64           `json:"delay,omitempty"`
		AssignedTo    string          `json:"assigned_to,omitempty"`
	}{n.Table, n.Backend, n.ID, n.Path, n.Payload, n.MaxRetries, n.RetryStrategy, n.Timeout, n.Delay, n.AssignedTo})
	return answer.ID, err
}

// Cancel is [admin.Jobs.Cancel].
func (j *Jobs) Cancel(ctx context.Context, id string) (admin.JobStatus, error) {
	return j.act(ctx, id, "cancel")
}

// Retry is [admin.Jobs.Retry].
func (j *Jobs) Retry(ctx context.Context, id string) (admin.JobStatus, error) {
	return j.act(ctx, id, "retry")
}

func (j *Jobs) act(ctx context.Context, id, verb string) (admin.JobStatus, error) {
	if id == "" {
		return "", noID("job")
	}
	answer, err := post[struct {
		Was admin.JobStatus `json:"was"`
	}](ctx, j.c, job(id, verb), nil)
	var refused *admin.StateError
	if errors.As(err, &refused) {
		return admin.JobStatus(refused.Status), err
	}
	return answer.Was, err
}

// Clear is [admin.Jobs.Clear].
func (j *Jobs) Clear(ctx context.Context, table string, all bool) (admin.Cleared, error) {
	return post[admin.Cleared](ctx, j.c, "/jobs/clear", struct {
		Table string `json:"table,omitempty"`
		All   bool   `json:"all"`
	}{table, all})
}

// Watch is [admin.Jobs.Watch], by a stream of the server's; where that breaks off it is taken up again.
func (j *Jobs) Watch(ctx context.Context, id string, tell func(admin.Job) error) (admin.Job, error) {
	var last admin.Job
	if id == "" {
		return last, noID("job")
	}
	var told string
	err := j.c.follow(ctx, job(id, "stream"), func(name string, data []byte) error {
		if name != "job" || string(data) == told { // the same, of a stream taken up again
			return nil
		}
		told, last = string(data), admin.Job{}
		if err := json.Unmarshal(data, &last); err != nil {
			return fmt.Errorf("watch %s: %w", id, err)
		}
		return tell(last)
	})
	return last, err
}

// Changes is [admin.Jobs.Changes]; what the server could not tell, and every time the stream was taken
// up again, is a gap.
func (j *Jobs) Changes(ctx context.Context, table string, tell func(admin.JobChange) error) error {
	query := url.Values{}
	set(query, "table", table)
	address := "/jobs/stream"
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	gap := admin.JobChange{JobSummary: admin.JobSummary{Table: table}, Gap: true}
	again := false
	return j.c.followFrom(ctx, address, func() error {
		if !again {
			again = true
			return nil
		}
		return tell(gap)
	}, func(name string, data []byte) error {
		var change admin.JobChange
		switch name {
		case "lost":
			return tell(gap)
		case "jobs":
			if err := json.Unmarshal(data, &change); err != nil {
				return fmt.Errorf("follow jobs: %w", err)
			}
			return tell(change)
		}
		return nil
	})
}

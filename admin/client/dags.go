package client

import (
	"context"
	"net/url"
	"strconv"

	"sp00ky.cloud/spky/admin"
)

// DAGs is [admin.DAGs] at the other end.
type DAGs struct{ c *Client }

// DAGs are jobs that wait for one another.
func (c *Client) DAGs() *DAGs { return &DAGs{c} }

const (
	dagsPath = "/dags"
	runsPath = "/workflows/runs"
)

// List is [admin.DAGs.List].
func (d *DAGs) List(ctx context.Context) ([]admin.DAG, error) {
	answer, err := get[struct {
		DAGs []admin.DAG `json:"dags"`
	}](ctx, d.c, dagsPath, nil)
	return answer.DAGs, err
}

// Get is [admin.DAGs.Get].
func (d *DAGs) Get(ctx context.Context, name string) (admin.DAG, error) {
	if err := named(name, "DAG"); err != nil {
		return admin.DAG{}, err
	}
	return get[admin.DAG](ctx, d.c, dagsPath+path(name), url.Values{"runs": {"1"}})
}

// Runs is [admin.DAGs.Runs].
func (d *DAGs) Runs(ctx context.Context, name, status string, limit int) ([]admin.DAGRun, error) {
	page, err := d.ListRuns(ctx, admin.RunListOptions{DAG: name, Status: status, Limit: limit})
	return page.Runs, err
}

// ListRuns is [admin.DAGs.ListRuns].
func (d *DAGs) ListRuns(ctx context.Context, o admin.RunListOptions) (admin.RunPage, error) {
	query := url.Values{"workflow": {o.DAG}}
	for name, value := range map[string]string{"status": o.Status, "cursor": o.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if o.Limit != 0 {
		query.Set("limit", strconv.Itoa(o.Limit))
	}
	return get[admin.RunPage](ctx, d.c, runsPath, query)
}

// Run is [admin.DAGs.Run].
func (d *DAGs) Run(ctx context.Context, id string) (admin.DetailedRun, error) {
	if err := named(id, "run"); err != nil {
		return admin.DetailedRun{}, err
	}
	return get[admin.DetailedRun](ctx, d.c, runsPath+path(id), nil)
}

// Trigger is [admin.DAGs.Trigger].
func (d *DAGs) Trigger(ctx context.Context, name string) (admin.StartedRuns, error) {
	if err := named(name, "DAG"); err != nil {
		return admin.StartedRuns{}, err
	}
	return post[admin.StartedRuns](ctx, d.c, dagsPath+path(name, "trigger"), nil)
}

// Cancel is [admin.DAGs.Cancel].
func (d *DAGs) Cancel(ctx context.Context, id string) (string, error) {
	answer, err := onRun[struct {
		Status string `json:"status"`
	}](ctx, d.c, id, "cancel")
	return answer.Status, err
}

// Retry is [admin.DAGs.Retry].
func (d *DAGs) Retry(ctx context.Context, id string) (admin.RetriedRun, error) {
	return onRun[admin.RetriedRun](ctx, d.c, id, "retry")
}

// Rerun is [admin.DAGs.Rerun].
func (d *DAGs) Rerun(ctx context.Context, id string) (string, error) {
	answer, err := onRun[struct {
		Run string `json:"run"`
	}](ctx, d.c, id, "rerun")
	return answer.Run, err
}

func onRun[T any](ctx context.Context, c *Client, id, verb string) (T, error) {
	if err := named(id, "run"); err != nil {
		var none T
		return none, err
	}
	return post[T](ctx, c, runsPath+path(id, verb), nil)
}

// named refuses an empty name, which would make another path.
func named(name, of string) error {
	if name == "" {
		return admin.NewInputError("the name of the " + of + " is empty")
	}
	return nil
}

package client

import (
	"context"
	"errors"
	"strings"

	"sp00ky.cloud/spky/admin"
)

// Explainer is [admin.Explainer] at the other end. Of what does not exist it has no explanation but the
// error.
type Explainer struct{ c *Client }

// Explainer says why jobs and instances do not run.
func (c *Client) Explainer() *Explainer { return &Explainer{c} }

// Job is [admin.Explainer.Job].
func (e *Explainer) Job(ctx context.Context, id string) (admin.Explanation, error) {
	return get[admin.Explanation](ctx, e.c, "/jobs"+path(id, "explain"), nil)
}

// Instance is [admin.Explainer.Instance].
func (e *Explainer) Instance(ctx context.Context, id string) (admin.Explanation, error) {
	return get[admin.Explanation](ctx, e.c, instance(id, "explain"), nil)
}

// Run is [admin.Explainer.Run].
func (e *Explainer) Run(ctx context.Context, id string) (admin.Explanation, error) {
	return get[admin.Explanation](ctx, e.c, runsPath+path(id, "explain"), nil)
}

// Schedule is [admin.Explainer.Schedule].
func (e *Explainer) Schedule(ctx context.Context, name string) (admin.Explanation, error) {
	return get[admin.Explanation](ctx, e.c, schedulesPath+path(name, "explain"), nil)
}

// Any is [admin.Explainer.Any].
func (e *Explainer) Any(ctx context.Context, id string) (admin.Explanation, error) {
	if err := named(id, "thing to explain"); err != nil {
		return admin.Explanation{}, err
	}
	return admin.AnyOf(ctx, id, e.jobOrInstance, e.Run, e.Schedule)
}

func (e *Explainer) jobOrInstance(ctx context.Context, id string) (admin.Explanation, error) {
	if key, ok := strings.CutPrefix(id, "_00_wf_instance:"); ok {
		return e.Instance(ctx, strings.Trim(key, "`⟨⟩"))
	}
	if strings.Contains(id, ":") {
		return e.Job(ctx, id)
	}
	found, err := e.Instance(ctx, id)
	if !errors.Is(err, admin.ErrNotFound) {
		return found, err
	}
	job, jobErr := e.Job(ctx, id)
	if jobErr != nil {
		return found, err
	}
	return job, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/wf"
)

// durable is what commands on workflows do: on the database, or through an admin API.
type durable interface {
	Workflows(ctx context.Context) ([]admin.Workflow, error)
	Workflow(ctx context.Context, binding string) (admin.Workflow, error)
	Counts(ctx context.Context, binding string) ([]admin.Count, error)
	Now(ctx context.Context) (time.Time, error)
	List(ctx context.Context, o admin.ListOptions) (admin.Page, error)
	Newest(ctx context.Context, binding string) (string, error)
	Expected(ctx context.Context, binding string) (int, error)
	Get(ctx context.Context, id string) (admin.Instance, error)
	Steps(ctx context.Context, id string, incarnation int, outputs bool) ([]admin.Step, error)
	Events(ctx context.Context, id string, incarnation int) ([]admin.Event, error)
	Watch(ctx context.Context, id string, tell func(admin.Progress) error) (admin.Progress, error)
	instanceVerber
}

// instanceVerber is what changes instances.
type instanceVerber interface {
	Create(ctx context.Context, n admin.NewInstance) (string, error)
	Pause(ctx context.Context, id string) (wf.Status, error)
	Resume(ctx context.Context, id string) (wf.Status, error)
	Terminate(ctx context.Context, id string) (wf.Status, error)
	Restart(ctx context.Context, id string) (wf.Status, error)
	RestartFrom(ctx context.Context, id string, from admin.StepRef) (wf.Status, error)
	Retry(ctx context.Context, id string) (wf.Status, error)
	SendEvent(ctx context.Context, id, typ string, payload json.RawMessage) (wf.Status, error)
}

// remediedAfar gives an error of an admin API its remedy, where this program knows a better one than
// that API.
func remediedAfar(err error) error {
	var refused *admin.StateError
	switch {
	case err == nil || hint.Of(err) != "":
		return err
	case errors.As(err, &refused):
		return hint.Wrap(err, "possible now: %s", joined(refused.Possible))
	case errors.Is(err, admin.ErrExists):
		return hint.Wrap(err, "choose another --id")
	}
	return err
}

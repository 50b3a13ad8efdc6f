package mcp

import (
	"context"
	"encoding/json"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/logs"
)

// An InstanceReader looks at instances; [admin.Durable] does.
type InstanceReader interface {
	List(ctx context.Context, o admin.ListOptions) (admin.Page, error)
	Get(ctx context.Context, id string) (admin.Instance, error)
	Steps(ctx context.Context, id string, incarnation int, outputs bool) ([]admin.Step, error)
	Events(ctx context.Context, id string, incarnation int) ([]admin.Event, error)
	Watch(ctx context.Context, id string, tell func(admin.Progress) error) (admin.Progress, error)
}

// An InstanceActor acts on instances; the state it answers with is the one it found.
type InstanceActor interface {
	Create(ctx context.Context, n admin.NewInstance) (string, error)
	Pause(ctx context.Context, id string) (admin.InstanceStatus, error)
	Resume(ctx context.Context, id string) (admin.InstanceStatus, error)
	Restart(ctx context.Context, id string) (admin.InstanceStatus, error)
	RestartFrom(ctx context.Context, id string, from admin.StepRef) (admin.InstanceStatus, error)
	Retry(ctx context.Context, id string) (admin.InstanceStatus, error)
	Terminate(ctx context.Context, id string) (admin.InstanceStatus, error)
	SendEvent(ctx context.Context, id, typ string, payload json.RawMessage) (admin.InstanceStatus, error)
}

// Instances is what there is to do with instances.
type Instances interface {
	InstanceReader
	InstanceActor
}

// Jobs is what there is to do with jobs; [admin.Jobs] does it. The state that an action answers with is
// the one it found.
type Jobs interface {
	List(ctx context.Context, o admin.JobListOptions) (admin.JobPage, error)
	Get(ctx context.Context, id string) (admin.Job, error)
	Watch(ctx context.Context, id string, tell func(admin.Job) error) (admin.Job, error)
	Cancel(ctx context.Context, id string) (admin.JobStatus, error)
	Retry(ctx context.Context, id string) (admin.JobStatus, error)
}

// An Explainer says why something does not run; [admin.Explainer] does.
type Explainer interface {
	Job(ctx context.Context, id string) (admin.Explanation, error)
	Instance(ctx context.Context, id string) (admin.Explanation, error)
	Run(ctx context.Context, id string) (admin.Explanation, error)
	Schedule(ctx context.Context, name string) (admin.Explanation, error)
}

// A Cluster tells of the nodes and the backends; [admin.Cluster] does.
type Cluster interface {
	Overview(ctx context.Context) (admin.Overview, error)
	Backends(ctx context.Context) ([]admin.Backend, error)
	Nodes(ctx context.Context) ([]admin.Node, error)
	Analytics(ctx context.Context, hours int) (admin.Analytics, error)
}

// Logs are the newest lines of a node's log; [logs.Ring] has them.
type Logs interface {
	Recent(ctx context.Context, f logs.Filter) ([]logs.Line, error)
}

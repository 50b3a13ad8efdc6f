package mcp

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"sp00ky.cloud/spky/admin"
)

// instanceID is what an instance may be called.
var instanceID = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$`)

func (s *Server) instanceResource() resource {
	return resource{
		prefix: "spky://instances/", name: "instance", title: "Workflow instance",
		what: "A durable workflow instance as durable_instance_get shows it. A subscription tells whenever it moves, until it has ended.",
		read: func(ctx context.Context, id string) (any, error) { return s.getInstance(ctx, instanceIn{ID: id}) },
		state: func(ctx context.Context, id string) (string, error) {
			i, err := s.cfg.Instances.Get(ctx, id)
			return instanceState(i.Summary), err
		},
		watch: func(ctx context.Context, id string, tell func(string) error) error {
			_, err := s.cfg.Instances.Watch(ctx, id, func(p admin.Progress) error { return tell(instanceState(p.Instance)) })
			return err
		},
	}
}

// instanceState differs whenever an instance does.
func instanceState(i admin.Summary) string {
	return fmt.Sprintf("%s %d %d %s", i.Status, i.Incarnation, i.StepsDone, i.UpdatedAt.UTC().Format(time.RFC3339Nano))
}

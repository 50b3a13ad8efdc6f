package typescript_test

import (
	"testing"

	"sp00ky.cloud/spky/integration/internal/durable"
)

// A rig is one database with the platform's schema and, once started, a node of the sync processor.
type rig struct {
	*durable.Base
	t *testing.T
}

// on is the rig in the hands of a subtest.
func (r *rig) on(t *testing.T) *rig { return &rig{t: t, Base: r.On(t)} }

// newRig is a rig without a node.
func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{t: t, Base: durable.New(t)}
}

// read is a request's first result.
func read[T any](r *rig, surql string, vars map[string]any) T {
	r.t.Helper()
	return durable.Read[T](r.Base, surql, vars)
}

package mcp

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(admin.ScopeRead)
	r.job(admin.NewJob{})
	var overview admin.Overview
	c.ok("overview", nil, &overview)
	if overview.Jobs.Pending != 1 {
		t.Errorf("overview: %+v", overview)
	}
	var backends backendsOut
	a := c.ok("backends_list", nil, &backends)
	if backends.Total != 1 || backends.Backends[0].Name != "api" || backends.Backends[0].Circuit != "unknown" || !strings.Contains(a.text, "api unknown 0/0") {
		t.Errorf("backends: %+v\n%s", backends, a.text)
	}
	var nodes nodesOut
	c.ok("nodes_list", nil, &nodes)
	if nodes.Total != 0 {
		t.Errorf("nodes: %+v", nodes)
	}
	c.refused("overview", map[string]any{"nonsense": 1}, "input")
}

package mcp

import (
	"slices"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
)

// TestScopes shows that who may only read sees only reading tools, and changes nothing with others.
func TestScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("a")
	for name, c := range map[string]*client{
		"streams": r.connect(admin.ScopeRead), "nobody in particular": r.connect(""), "HTTP": r.overHTTP(admin.ScopeRead, newest), "older HTTP": r.overHTTP(admin.ScopeRead, legacy),
	} {
		for tool, e := range r.server.effects {
			listed := slices.Contains(c.tools(), tool)
			if listed != (e == reads) {
				t.Errorf("%s: %s is listed: %v", name, tool, listed)
			}
			if e != reads {
				c.refused(tool, map[string]any{"id": "a"}, "scope", "only read")
			}
		}
		var got instanceOut
		c.ok("durable_instance_get", map[string]any{"id": "a"}, &got)
		if got.Instance.Status != "queued" || got.Instance.Incarnation != 0 {
			t.Errorf("%s: changed to %+v", name, got.Instance)
		}
	}
	if audit := r.audit(); len(audit) != 1 {
		t.Errorf("the audit has %+v, and only the instance was created", audit)
	}
	for name, c := range map[string]*client{"streams": r.connect(admin.ScopeFull), "HTTP": r.overHTTP(admin.ScopeFull, legacy)} {
		if got := c.tools(); !slices.Equal(got, r.server.Tools()) {
			t.Errorf("%s: full scope sees %v, want %v", name, got, r.server.Tools())
		}
	}
}

// tools names what the client sees.
func (c *client) tools() []string {
	c.t.Helper()
	var all []string
	for tool, err := range c.session.Tools(c.ctx, nil) {
		c.check(err)
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	return all
}

// TestAudit shows that the audit names the caller, and that he came this way.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.overHTTP(admin.ScopeFull, legacy)
	c.ok("durable_instance_create", map[string]any{"binding": "INGEST", "id": "a"}, nil)
	c.ok("durable_instance_pause", map[string]any{"id": "a"}, nil)
	c.refused("durable_instance_pause", map[string]any{"id": "a"}, "state")
	all := r.audit()
	if len(all) != 3 {
		t.Fatalf("the audit has %+v, want three rows", all)
	}
	for _, row := range all {
		if row.Actor != "tester" || row.Via != "mcp" {
			t.Errorf("audited: %+v", row)
		}
	}
}

// An audited row says who did what.
type audited struct {
	Actor, Via, Action, Outcome string
}

func (r *rig) audit() []audited {
	r.t.Helper()
	all, err := surreal.First[[]audited](r.ctx, r.db, "SELECT actor, via, action, outcome FROM _00_audit", nil)
	r.check(err)
	return all
}

package mcp

import (
	"context"

	"sp00ky.cloud/spky/admin"
)

// offerInstances adds the tools of durable workflow instances.
func (s *Server) offerInstances() {
	s.offerInstanceList()
	s.offerInstanceGet()
	s.offerInstanceCreate()
	s.offerInstanceEvent()
	s.offerInstanceActions()
	s.offerInstanceRestart()
}

type instancesIn struct {
	Status  string `json:"status,omitempty" jsonschema:"only instances in this state"`
	Binding string `json:"binding,omitempty" jsonschema:"only instances of this workflow, by its binding name"`
	Owner   string `json:"owner,omitempty" jsonschema:"only instances of this owner, a record id such as user:ab12"`
	Query   string `json:"q,omitempty" jsonschema:"only instances whose id begins with this; they come by id, not newest first"`
	Stalled bool   `json:"stalled,omitempty" jsonschema:"only live instances that nothing runs although something should"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many rows at most"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type instancesOut struct {
	Instances []instanceRow `json:"instances"`
	Next      string        `json:"next_cursor,omitempty" jsonschema:"call again with it for the next page; absent on the last"`
}

func (s *Server) offerInstanceList() {
	offer(s, tool[instancesIn, instancesOut]{
		name: "durable_instances_list", title: "List workflow instances",
		when: "Lists durable workflow instances, newest first, without params and outputs. Use it to find instances by state, workflow or owner; " +
			"then durable_instance_get for one of them.",
		narrow: func(p properties) {
			p.enum("status", words(admin.Statuses())...)
			p.longest("binding", 200)
			p.longest("owner", 1000)
			p.longest("q", 100)
			p.longest("cursor", 1000)
			p.limit(defaultRows, mostRows)
		},
		call: s.listInstances,
		text: func(o instancesOut) string {
			return listed([]string{"id", "status", "binding", "note"}, o.Instances, o.Next)
		},
	})
}

func (s *Server) listInstances(ctx context.Context, in instancesIn) (instancesOut, error) {
	page, err := s.cfg.Instances.List(ctx, admin.ListOptions{
		Binding: in.Binding, Status: admin.InstanceStatus(in.Status), Owner: in.Owner, Query: in.Query, Stalled: in.Stalled, Cursor: in.Cursor, Limit: rows(in.Limit),
	})
	if err != nil {
		return instancesOut{}, err
	}
	out := instancesOut{Instances: []instanceRow{}, Next: page.Next}
	for _, i := range page.Instances {
		out.Instances = append(out.Instances, newInstanceRow(i))
	}
	return out, nil
}

// rows is how many rows a list has.
func rows(limit int) int {
	if limit == 0 {
		return defaultRows
	}
	return limit
}

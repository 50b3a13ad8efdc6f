package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"sp00ky.cloud/spky/admin"
)

// table is the whole API.
func (s *Server) table() []route {
	all := slices.Concat(s.selfRoutes(), s.jobRoutes(), s.jobVerbs(), s.workflowRoutes(), s.instanceRoutes(), s.instanceVerbs(), s.explainRoutes(), s.clusterRoutes(), s.scheduleRoutes(), s.dagRoutes(), s.dagVerbs(), s.tokenRoutes())
	if s.cfg.Logs != nil {
		all = append(all, s.logRoutes()...)
	}
	if s.cfg.MCP != nil {
		all = append(all, s.mcpRoutes()...)
	}
	return all
}

// selfRoutes are about the API itself.
func (s *Server) selfRoutes() []route {
	return []route{
		{
			method: http.MethodGet, path: "/config", name: "config", tag: "api", says: "What a client has to know before it signs in.",
			answer: apiConfig{}, serve: func(*call) (any, error) {
				return apiConfig{Authentication: []string{"bearer"}, MCP: s.cfg.MCP != nil}, nil
			},
		},
		{
			method: http.MethodGet, path: "/openapi.json", name: "openapi", tag: "api", says: "This document.",
			answer: map[string]any{}, serve: func(*call) (any, error) { return json.RawMessage(s.document), nil },
		},
		{
			method: http.MethodGet, path: "/me", name: "me", tag: "api", scope: scopeRead, says: "Who the token belongs to, and what it may do.",
			answer: Identity{}, serve: func(c *call) (any, error) { return IdentityOf(c.r.Context()), nil },
		},
		{
			method: http.MethodGet, path: "/clock", name: "clock", tag: "api", scope: scopeRead, says: "The database's clock, by which all times are.",
			answer: clock{}, serve: func(c *call) (any, error) {
				now, err := s.cfg.Durable.Now(c.r.Context())
				return clock{now}, err
			},
		},
	}
}

// workflowRoutes are about workflows as such.
func (s *Server) workflowRoutes() []route {
	d := s.cfg.Durable
	return []route{
		{
			method: http.MethodGet, path: "/durable/workflows", name: "listWorkflows", tag: "durable", scope: scopeRead,
			says:   "The workflows that the configuration declares, and those that have instances.",
			answer: workflows{}, serve: func(c *call) (any, error) {
				all, err := d.Workflows(c.r.Context())
				return workflows{all}, err
			},
		},
		{
			method: http.MethodGet, path: "/durable/workflows/{binding}", name: "getWorkflow", tag: "durable", scope: scopeRead,
			says:   "A workflow, and how many instances are in which state.",
			answer: Workflow{}, refuses: []int{http.StatusNotFound}, serve: func(c *call) (any, error) { return s.workflow(c) },
		},
		{
			method: http.MethodPost, path: "/durable/workflows/{binding}/instances", name: "createInstance", tag: "durable", scope: scopeFull,
			says: "Creates an instance together with the job that runs it.",
			body: newInstance{}, answer: created{}, status: http.StatusCreated, refuses: []int{http.StatusNotFound, http.StatusConflict},
			serve: func(c *call) (any, error) {
				n := body[newInstance](c)
				id, err := d.Create(c.r.Context(), admin.NewInstance{Binding: c.id("binding"), ID: n.ID, Params: n.Params, Owner: n.Owner})
				return created{id}, err
			},
		},
	}
}

func (s *Server) workflow(c *call) (Workflow, error) {
	w, err := s.cfg.Durable.Workflow(c.r.Context(), c.id("binding"))
	if err != nil {
		return Workflow{}, err
	}
	counts, err := s.cfg.Durable.Counts(c.r.Context(), w.Binding)
	return Workflow{w, counts}, err
}

// mcpRoutes hand over to the MCP server.
func (s *Server) mcpRoutes() []route {
	var all []route
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		all = append(all, route{
			method: method, path: "/mcp", name: "mcp", tag: "mcp", scope: scopeRead,
			says: "The Model Context Protocol over streamable HTTP. What changes something needs scope full there too.", raw: s.cfg.MCP,
		})
	}
	return all
}

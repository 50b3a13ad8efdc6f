package api

import (
	"net/http"
	"time"

	"sp00ky.cloud/spky/admin"
)

type nodes struct {
	Nodes []admin.Node `json:"nodes" jsonschema:"the living first"`
}

type backends struct {
	Backends []admin.Backend `json:"backends"`
}

// clusterRoutes are about what runs the jobs.
func (s *Server) clusterRoutes() []route {
	c := s.cfg.Cluster
	return []route{
		{
			method: http.MethodGet, path: "/overview", name: "overview", tag: "cluster", scope: scopeRead,
			says: "Everything at one glance: jobs and instances by state, nodes, attempts and failures of about the last minute.", answer: admin.Overview{},
			serve: func(r *call) (any, error) { return c.Overview(r.r.Context()) },
		},
		{
			method: http.MethodGet, path: "/analytics", name: "analytics", tag: "cluster", scope: scopeRead,
			says:   "What finished in the last hours, by workflow or route of jobs, and by hour: how many, how, and how long they took.",
			query:  []param{number("hours", "How many hours, the present one included; 24 by default.", 1, admin.MaxHours)},
			answer: admin.Analytics{}, serve: func(r *call) (any, error) { return c.Analytics(r.r.Context(), r.number("hours")) },
		},
		{
			method: http.MethodGet, path: "/nodes", name: "listNodes", tag: "cluster", scope: scopeRead, says: "The processes that run jobs, as they told of themselves last.",
			answer: nodes{}, serve: func(r *call) (any, error) {
				all, err := c.Nodes(r.r.Context())
				return nodes{all}, err
			},
		},
		{
			method: http.MethodGet, path: "/backends", name: "listBackends", tag: "cluster", scope: scopeRead,
			says:   "The backends: circuit, slots, queue and latency, over all nodes.",
			answer: backends{}, serve: func(r *call) (any, error) {
				all, err := c.Backends(r.r.Context())
				return backends{all}, err
			},
		},
	}
}

type newToken struct {
	Label   string      `json:"label" jsonschema:"who or what it is for"`
	Scope   admin.Scope `json:"scope" jsonschema:"read or full"`
	TTLDays *int        `json:"ttl_days,omitempty" jsonschema:"how many days it lives, 1 to 365; 90 where it is left out"`
}

// MintedToken is a token that was made, with what its bearer shows; it is told this once.
type MintedToken struct {
	admin.Token

	Secret string `json:"token" jsonschema:"what its bearer shows; it is told this once"`
}

type tokens struct {
	Tokens []admin.Token `json:"tokens"`
}

// tokenRoutes are about tokens, and the audit.
func (s *Server) tokenRoutes() []route {
	t := s.cfg.Tokens
	return []route{
		{
			method: http.MethodGet, path: "/tokens", name: "listTokens", tag: "tokens", scope: scopeRead,
			says:   "All tokens, the newest first; expired and revoked ones too. What their bearers show is told to nobody.",
			answer: tokens{}, serve: func(c *call) (any, error) {
				all, err := t.List(c.r.Context())
				return tokens{all}, err
			},
		},
		{
			method: http.MethodPost, path: "/tokens", name: "createToken", tag: "tokens", scope: scopeFull, says: "Makes a token.",
			body: newToken{}, answer: MintedToken{}, status: http.StatusCreated, serve: func(c *call) (any, error) { return s.createToken(c) },
		},
		{
			method: http.MethodDelete, path: "/tokens/{id}", name: "revokeToken", tag: "tokens", scope: scopeFull,
			says: "Ends a token: here at once, in other processes within two seconds.", status: http.StatusNoContent, refuses: []int{http.StatusNotFound},
			serve: func(c *call) (any, error) { return nil, t.Revoke(c.r.Context(), c.id("id")) },
		},
		{
			method: http.MethodGet, path: "/audit", name: "listAudit", tag: "tokens", scope: scopeRead, says: "Who did what, newest first.",
			query: append([]param{
				text("actor", "Only what he did."), text("action", "Only this, such as job.cancel; job. is all that begin with it."), text("target", "Only what was done to it."),
			}, page()...),
			answer: admin.AuditPage{}, serve: func(c *call) (any, error) {
				return s.cfg.Audit.List(c.r.Context(), admin.AuditOptions{
					Actor: c.text("actor"), Action: c.text("action"), Target: c.text("target"), Cursor: c.text("cursor"), Limit: c.number("limit"),
				})
			},
		},
	}
}

// maxDays is how many days a token lives at most.
const maxDays = 365

func (s *Server) createToken(c *call) (MintedToken, error) {
	n := body[newToken](c)
	days, err := counted("ttl_days", n.TTLDays, maxDays)
	if err != nil {
		return MintedToken{}, err
	}
	secret, token, err := s.cfg.Tokens.Create(c.r.Context(), n.Label, n.Scope, time.Duration(days)*24*time.Hour)
	return MintedToken{token, secret}, err
}

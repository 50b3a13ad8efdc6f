package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxTables, maxBackends and maxNodes are how many of them an answer shows; maxNames how many names
	// are listed beside one of them.
	maxTables   = 20
	maxBackends = 30
	maxNodes    = 50
	maxNames    = 10
)

// nothing is the input of a tool that takes none.
type nothing struct{}

// offerCluster adds the tools that show how everything is.
func (s *Server) offerCluster() {
	offer(s, tool[nothing, admin.Overview]{
		name: "overview", title: "Overview",
		when: "Shows everything at one glance: jobs by state, oldest due job, instances by state, nodes, failures of the last minute, backends that are down. " +
			"Use it first when asked how things are.",
		call: s.overview,
	})
	offer(s, tool[nothing, backendsOut]{
		name: "backends_list", title: "List backends",
		when: "Lists the backends with slots in use, waiting jobs, attempts, failures and latency of about the last minute, and whether the circuit is open because a backend does not answer. " +
			"Use it when jobs of one backend wait or fail.",
		call: s.listBackends,
		text: backendsText,
	})
	offer(s, tool[nothing, nodesOut]{
		name: "nodes_list", title: "List nodes",
		when: "Lists the nodes, the processes that run jobs, the living first: whether each is alive, draining or dead, since when, and which backends it serves. " +
			"Use it when nothing runs at all.",
		call: s.listNodes,
		text: nodesText,
	})
}

func (s *Server) overview(ctx context.Context, _ nothing) (admin.Overview, error) {
	o, err := s.cfg.Cluster.Overview(ctx)
	o.Tables, o.Open = first(o.Tables, maxTables), first(o.Open, maxNames)
	return o, err
}

type backendsOut struct {
	Total    int             `json:"total"`
	Backends []admin.Backend `json:"backends"`
}

func (s *Server) listBackends(ctx context.Context, _ nothing) (backendsOut, error) {
	all, err := s.cfg.Cluster.Backends(ctx)
	out := backendsOut{Total: len(all), Backends: first(all, maxBackends)}
	for i := range out.Backends {
		b := &out.Backends[i]
		b.Nodes, b.Workflows, b.CircuitReason = first(b.Nodes, maxNames), first(b.Workflows, maxNames), cut(b.CircuitReason, 200)
	}
	return out, err
}

func backendsText(o backendsOut) string {
	lines := []string{"backend circuit busy/slots queued failures/attempts"}
	for _, b := range o.Backends {
		line := fmt.Sprintf("%s %s %d/%d %d %d/%d", quoted(b.Name), b.Circuit, b.Busy, b.Slots, b.Queued, b.Failures, b.Attempts)
		if b.CircuitReason != "" {
			line += " " + quoted(b.CircuitReason)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

type nodesOut struct {
	Total int       `json:"total"`
	Nodes []nodeRow `json:"nodes"`
}

// A nodeRow is a node in a list.
type nodeRow struct {
	Node     string   `json:"node"`
	State    string   `json:"state"`
	Host     string   `json:"host"`
	Version  string   `json:"version"`
	Started  string   `json:"started_at"`
	SilentMS int64    `json:"silent_ms" jsonschema:"since when it has not been heard of"`
	Backends []string `json:"backends"`
}

func (s *Server) listNodes(ctx context.Context, _ nothing) (nodesOut, error) {
	all, err := s.cfg.Cluster.Nodes(ctx)
	out := nodesOut{Total: len(all), Nodes: []nodeRow{}}
	for _, n := range first(all, maxNodes) {
		row := nodeRow{
			Node: cut(n.Node, 100), State: n.State, Host: cut(n.Host, 60), Version: cut(n.Version, 40),
			Started: seconds(n.StartedAt), SilentMS: n.SilentMS, Backends: []string{},
		}
		for _, b := range first(n.Backends, maxNames) {
			row.Backends = append(row.Backends, cut(b.Name, 60))
		}
		out.Nodes = append(out.Nodes, row)
	}
	return out, err
}

func nodesText(o nodesOut) string {
	var rows [][]string
	for _, n := range o.Nodes {
		rows = append(rows, []string{n.Node, n.State, strconv.FormatInt(n.SilentMS, 10), strings.Join(n.Backends, " ")})
	}
	return table([]string{"node", "state", "silent_ms", "backends"}, rows, "")
}

// first are the first of a list, at most so many, never nil.
func first[T any](all []T, most int) []T {
	return append([]T{}, all[:min(len(all), most)]...)
}

package admin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// nodeSilence is how long a node may be silent before the others take it for dead.
const nodeSilence = 10 * time.Second

//go:embed surql/explain_nodes.surql
var explainNodesStatement string

// nodeFacts are what the nodes tell of themselves, at one moment.
type nodeFacts struct {
	Now   time.Time       `json:"now"`
	Nodes []explainedNode `json:"nodes"`
}

type explainedNode struct {
	Node        string             `json:"node"`
	Draining    bool               `json:"draining"`
	HeartbeatAt time.Time          `json:"heartbeat_at"`
	Backends    []explainedBackend `json:"backends"`
}

// An explainedBackend is the part of a node's row about a backend that explains something.
type explainedBackend struct {
	Name          string     `json:"name"`
	Table         string     `json:"table"`
	Slots         int        `json:"slots"`
	Busy          int        `json:"busy"`
	Due           int        `json:"due"`
	Feed          bool       `json:"feed"`
	Polling       bool       `json:"polling"`
	Circuit       string     `json:"circuit"`
	CircuitSince  *time.Time `json:"circuit_since"`
	CircuitReason string     `json:"circuit_reason"`
	Refused       string     `json:"refused"`
}

// A server is a node that is alive and takes jobs of a table, with what it tells of the backend.
type server struct {
	node      string
	heartbeat time.Time
	explainedBackend
}

// nodeFacts reads them. Without the platform's schema there is no node.
func (e *Explainer) nodeFacts(ctx context.Context) (nodeFacts, error) {
	f, err := surreal.First[nodeFacts](ctx, e.db, explainNodesStatement, nil)
	if surreal.IsNotFound(err) {
		f.Now, err = surreal.First[time.Time](ctx, e.db, "RETURN time::now()", nil)
	}
	if err != nil {
		return f, fmt.Errorf("read nodes: %w", err)
	}
	return f, nil
}

func (f nodeFacts) alive(n explainedNode) bool { return f.Now.Sub(n.HeartbeatAt) <= nodeSilence }

// find is the node of that name.
func (f nodeFacts) find(name string) (explainedNode, bool) {
	for _, n := range f.Nodes {
		if n.Node == name {
			return n, true
		}
	}
	return explainedNode{}, false
}

// servers are the nodes that take jobs of a table; draining counts those that did and are shutting down.
func (f nodeFacts) servers(table string) (serving []server, draining []string) {
	for _, n := range f.Nodes {
		if !f.alive(n) {
			continue
		}
		for _, b := range n.Backends {
			switch {
			case b.Table != table:
			case n.Draining:
				draining = append(draining, n.Node)
			default:
				serving = append(serving, server{node: n.Node, heartbeat: n.HeartbeatAt, explainedBackend: b})
			}
		}
	}
	return serving, draining
}

// anyAlive counts the nodes that are alive, whatever they do.
func (f nodeFacts) anyAlive() int {
	n := 0
	for _, node := range f.Nodes {
		if f.alive(node) {
			n++
		}
	}
	return n
}

// last is when the node that was heard of last was; false where there never was one.
func (f nodeFacts) last() (explainedNode, bool) {
	var last explainedNode
	for _, n := range f.Nodes {
		if n.HeartbeatAt.After(last.HeartbeatAt) {
			last = n
		}
	}
	return last, last.Node != ""
}

// unserved says why no node takes jobs of a table; false where one does.
func (f nodeFacts) unserved(table string) (Cause, bool) {
	serving, draining := f.servers(table)
	switch {
	case len(serving) > 0:
		return Cause{}, false
	case len(draining) > 0:
		return Cause{
			Code:     "nodes_draining",
			Sentence: fmt.Sprintf("The only nodes that serve table %s are shutting down and claim nothing more: %s.", table, nodeNames(draining)),
			Facts:    map[string]any{"table": table, "draining": draining},
			Remedy:   "start a node: `spky run`",
		}, true
	case f.anyAlive() == 0:
		return f.noNode(), true
	}
	return Cause{
		Code:     "no_node_for_table",
		Sentence: fmt.Sprintf("%s alive, and none takes jobs of table %s: their configuration has no backend with it.", areAlive(f.anyAlive()), table),
		Facts:    map[string]any{"table": table, "alive": f.anyAlive()},
		Remedy:   fmt.Sprintf("give a backend `method.table: %s` and a baseUrl in sp00ky.yml, and start the nodes anew; `spky nodes` shows what they serve", table),
	}, true
}

func (f nodeFacts) noNode() Cause {
	sentence := "No node is alive: none runs jobs against this database."
	facts := map[string]any{"alive": 0}
	if last, ok := f.last(); ok {
		sentence = fmt.Sprintf("No node is alive: the last one, %s, was heard of %s.", printable(last.Node), moment(last.HeartbeatAt, f.Now))
		facts["last_node"], facts["last_heartbeat"] = last.Node, last.HeartbeatAt
	}
	return Cause{Code: "no_node", Sentence: sentence, Facts: facts, Remedy: "start one: `spky run`, or `spky dev` on a laptop"}
}

func areAlive(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", n)
}

func nodeNames(names []string) string {
	shown := make([]string, 0, len(names))
	for i, name := range names {
		if i == 5 {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		shown = append(shown, printable(name))
	}
	return strings.Join(shown, ", ")
}

// Package cluster reads what nodes tell of themselves.
package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// silence is how long a node may be silent before the others take it for dead.
const silence = 10 * time.Second

// The states of a node.
const (
	Alive    = "alive"
	Draining = "draining"
	Dead     = "dead"
)

// A Node is one row of _00_node.
type Node struct {
	Node    string `json:"node"`
	State   string `json:"state"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Listen  string `json:"listen,omitempty"`
	// StartedAt and HeartbeatAt are the database's clock.
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	// SilentMS is the age of the last heartbeat, by the database's clock.
	SilentMS int64     `json:"silent_ms"`
	Backends []Backend `json:"backends"`
}

// A Backend is what a node tells of one of its backends.
type Backend struct {
	Name          string `json:"name"`
	Table         string `json:"table"`
	Slots         int    `json:"slots"`
	Busy          int    `json:"busy"`
	Queued        int    `json:"queued"`
	Circuit       string `json:"circuit"`
	CircuitReason string `json:"circuit_reason,omitempty"`
	Feed          bool   `json:"feed"`
}

// Silent is how long ago the node's last heartbeat was.
func (n Node) Silent() time.Duration { return time.Duration(n.SilentMS) * time.Millisecond }

//go:embed nodes.surql
var readNodes string

type row struct {
	Node        string    `json:"node"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`
	Listen      *string   `json:"listen"`
	Draining    bool      `json:"draining"`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	Backends    []Backend `json:"backends"`
}

// Nodes are all nodes of which there is a row, the living first, and the
// database's clock. A database to which the platform's schema has not been
// applied has none.
func Nodes(ctx context.Context, db surreal.Querier) ([]Node, time.Time, error) {
	now, err := surreal.First[time.Time](ctx, db, "RETURN time::now()", nil)
	if err != nil {
		return nil, now, fmt.Errorf("read nodes: %w", err)
	}
	rows, err := surreal.First[[]row](ctx, db, readNodes, nil)
	if surreal.IsNotFound(err) {
		return []Node{}, now, nil
	}
	if err != nil {
		return nil, now, fmt.Errorf("read nodes: %w", err)
	}
	nodes := make([]Node, 0, len(rows))
	for _, r := range rows {
		nodes = append(nodes, r.node(now))
	}
	order := []string{Alive, Draining, Dead}
	slices.SortFunc(nodes, func(a, b Node) int {
		if d := slices.Index(order, a.State) - slices.Index(order, b.State); d != 0 {
			return d
		}
		return strings.Compare(a.Node, b.Node)
	})
	return nodes, now, nil
}

func (r row) node(now time.Time) Node {
	n := Node{
		Node: r.Node, State: Alive, Host: r.Host, PID: r.PID, Version: r.Version, StartedAt: r.StartedAt,
		HeartbeatAt: r.HeartbeatAt, SilentMS: max(0, now.Sub(r.HeartbeatAt).Milliseconds()), Backends: r.Backends,
	}
	if r.Listen != nil {
		n.Listen = *r.Listen
	}
	switch {
	case n.Silent() > silence:
		n.State = Dead
	case r.Draining:
		n.State = Draining
	}
	if n.Backends == nil {
		n.Backends = []Backend{}
	}
	return n
}

// Living counts the nodes that take jobs of a table.
func Living(nodes []Node, table string) int {
	living := 0
	for _, n := range nodes {
		if n.State == Alive && slices.ContainsFunc(n.Backends, func(b Backend) bool { return b.Table == table }) {
			living++
		}
	}
	return living
}

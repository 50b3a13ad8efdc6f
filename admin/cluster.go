package admin

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// nodeSilent is how long a node may be silent before the others take it for dead.
const nodeSilent = 10 * time.Second

// The states of a node.
const (
	NodeAlive    = "alive"
	NodeDraining = "draining"
	NodeDead     = "dead"
)

// ClusterConfig says what the nodes run.
type ClusterConfig struct {
	// DB is a connection of a user who may read the platform's tables and the outbox tables.
	DB *surreal.Client
	// Backends are those of the configuration.
	Backends []config.Backend
	// Tables are the outbox tables. Defaults to those of Backends.
	Tables []string
}

// Cluster is the nodes and what they tell of the backends. Its methods may be called from any goroutine.
type Cluster struct {
	db       *surreal.Client
	backends []config.Backend
	jobs     *Jobs
}

// NewCluster makes it; nothing is sent.
func NewCluster(cfg ClusterConfig) *Cluster {
	return &Cluster{db: cfg.DB, backends: cfg.Backends, jobs: NewJobs(JobsConfig{DB: cfg.DB, Tables: cfg.Tables, Backends: cfg.Backends})}
}

// Connected says whether there is a connection to the database now.
func (c *Cluster) Connected() bool { return c.db.State().Connected }

// A Node is one process that runs jobs, as it told of itself last.
type Node struct {
	Node string `json:"node"`
	// State is alive, draining while it shuts down, or dead when it has been silent for ten seconds.
	State   string `json:"state"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Listen  string `json:"listen,omitempty"`
	// StartedAt and HeartbeatAt are by the database's clock, SilentMS is the age of the last heartbeat, and
	// UpMS that of the node.
	StartedAt   time.Time     `json:"started_at"`
	HeartbeatAt time.Time     `json:"heartbeat_at"`
	SilentMS    int64         `json:"silent_ms"`
	UpMS        int64         `json:"up_ms"`
	Backends    []NodeBackend `json:"backends"`
}

// A NodeBackend is what a node tells of one of its backends. Attempts, failures and latencies are of
// about the last minute.
type NodeBackend struct {
	Name  string `json:"name"`
	Table string `json:"table"`
	// Slots are the requests that may be in flight, Busy those that are.
	Slots int `json:"slots"`
	Busy  int `json:"busy"`
	// Claimed counts the jobs that the node holds, Queued those in its memory, Due those of them that are
	// due; More says that the database has due ones beyond them.
	Claimed   int        `json:"claimed"`
	Queued    int        `json:"queued"`
	Due       int        `json:"due"`
	More      bool       `json:"more,omitempty"`
	OldestDue *time.Time `json:"oldest_due,omitempty"`
	// Circuit is closed, or open while the backend does not answer.
	Circuit       string     `json:"circuit"`
	CircuitSince  *time.Time `json:"circuit_since,omitempty"`
	CircuitReason string     `json:"circuit_reason,omitempty"`
	// Refused is why the table takes none of the runner's writes.
	Refused string `json:"refused,omitempty"`
	// Feed says whether its LIVE SELECT is up, Polling that it is paused because jobs come too fast.
	Feed     bool `json:"feed"`
	Polling  bool `json:"polling,omitempty"`
	Attempts int  `json:"attempts"`
	Failures int  `json:"failures"`
	// P50MS and P99MS are upper bounds, up to a fifth too long: how long half of the attempts took at most, and 99 of a
	// hundred.
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
}

//go:embed surql/nodes.surql
var nodesStatement string

type nodesAnswer struct {
	Now  time.Time `json:"now"`
	Rows []nodeRow `json:"rows"`
}

type nodeRow struct {
	Node        string        `json:"node"`
	Host        string        `json:"host"`
	PID         int           `json:"pid"`
	Version     string        `json:"version"`
	Listen      string        `json:"listen"`
	Draining    bool          `json:"draining"`
	StartedAt   time.Time     `json:"started_at"`
	HeartbeatAt time.Time     `json:"heartbeat_at"`
	Backends    []NodeBackend `json:"backends"`
}

// Nodes are all nodes of which there is a row, the living first. A database to which the platform's
// schema has not been applied has none.
func (c *Cluster) Nodes(ctx context.Context) ([]Node, error) {
	answer, err := surreal.First[nodesAnswer](ctx, c.db, nodesStatement, nil)
	switch {
	case surreal.IsNotFound(err):
		return []Node{}, nil
	case err != nil:
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	nodes := make([]Node, 0, len(answer.Rows))
	for _, r := range answer.Rows {
		nodes = append(nodes, r.node(answer.Now))
	}
	order := []string{NodeAlive, NodeDraining, NodeDead}
	slices.SortFunc(nodes, func(a, b Node) int {
		if d := slices.Index(order, a.State) - slices.Index(order, b.State); d != 0 {
			return d
		}
		return strings.Compare(a.Node, b.Node)
	})
	return nodes, nil
}

func (r nodeRow) node(now time.Time) Node {
	n := Node{
		Node: r.Node, State: NodeAlive, Host: r.Host, PID: r.PID, Version: r.Version, Listen: r.Listen, StartedAt: r.StartedAt,
		HeartbeatAt: r.HeartbeatAt, SilentMS: max(0, now.Sub(r.HeartbeatAt).Milliseconds()), UpMS: max(0, now.Sub(r.StartedAt).Milliseconds()),
		Backends: r.Backends,
	}
	switch {
	case now.Sub(r.HeartbeatAt) > nodeSilent:
		n.State = NodeDead
	case r.Draining:
		n.State = NodeDraining
	}
	if n.Backends == nil {
		n.Backends = []NodeBackend{}
	}
	return n
}

// A Backend is a backend of the configuration, or one that a node runs, and how it fares on the nodes
// that are not dead.
type Backend struct {
	Name  string `json:"name"`
	Table string `json:"table,omitempty"`
	// URL is the configuration's, without what may be a password; "" for a backend it does not have.
	URL       string   `json:"url,omitempty"`
	Workflows []string `json:"workflows,omitempty"`
	// Nodes are those that take its jobs.
	Nodes []string `json:"nodes"`
	// Slots, Busy and Queued are those of all nodes, and so are Attempts and Failures, of about the last
	// minute; the latencies are the worst node's.
	Slots    int `json:"slots"`
	Busy     int `json:"busy"`
	Queued   int `json:"queued"`
	Attempts int `json:"attempts"`
	Failures int `json:"failures"`
	// P50MS and P99MS are upper bounds, up to a fifth too long: how long half of the attempts took at most, and 99 of a
	// hundred.
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
	// Circuit is closed, open, mixed where the nodes differ, or unknown where no node runs it.
	Circuit       string `json:"circuit"`
	CircuitReason string `json:"circuit_reason,omitempty"`
}

// The states of a backend's circuit beside those that nodes tell.
const (
	circuitMixed   = "mixed"
	circuitUnknown = "unknown"
)

// Backends are the backends, by name.
func (c *Cluster) Backends(ctx context.Context) ([]Backend, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return c.across(nodes), nil
}

// across makes one of what the nodes tell of a backend.
func (c *Cluster) across(nodes []Node) []Backend {
	all := []Backend{}
	for _, b := range c.backends {
		one := Backend{Name: b.Name, Table: b.Table, Nodes: []string{}, Circuit: circuitUnknown}
		if b.BaseURL != nil {
			one.URL = b.BaseURL.Redacted()
		}
		for _, w := range b.Workflows {
			one.Workflows = append(one.Workflows, w.Binding)
		}
		all = append(all, one)
	}
	for _, n := range nodes {
		if n.State == NodeDead {
			continue
		}
		for _, b := range n.Backends {
			at := slices.IndexFunc(all, func(one Backend) bool { return one.Name == b.Name })
			if at < 0 {
				at = len(all)
				all = append(all, Backend{Name: b.Name, Table: b.Table, Nodes: []string{}, Circuit: circuitUnknown})
			}
			all[at].add(n, b)
		}
	}
	slices.SortFunc(all, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (b *Backend) add(n Node, told NodeBackend) {
	b.Nodes = append(b.Nodes, n.Node)
	b.Slots += told.Slots
	b.Busy += told.Busy
	b.Queued += told.Queued
	b.Attempts += told.Attempts
	b.Failures += told.Failures
	b.P50MS, b.P99MS = max(b.P50MS, told.P50MS), max(b.P99MS, told.P99MS)
	switch b.Circuit {
	case circuitUnknown:
		b.Circuit = told.Circuit
	case told.Circuit:
	default:
		b.Circuit = circuitMixed
	}
	if told.CircuitReason != "" {
		b.CircuitReason = told.CircuitReason
	}
}

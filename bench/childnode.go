package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// ProcessOptions are what benches share that watch a node from outside, in a process of its own.
type ProcessOptions struct {
	// DB is the database to measure; see [Options.DB].
	DB surreal.Config
	// Node makes the command of a process that calls [RunNode].
	Node func() *exec.Cmd
	// DatabasePID is the database's process on this machine. Defaults to unknown: then nothing is said of its CPU.
	DatabasePID int
	// Pprof is where the node serves its profiles, for instance 127.0.0.1:6060. Defaults to nowhere.
	Pprof string
	// Concurrency is the backend's slots. Defaults to 16.
	Concurrency int
	// Progress is told what is being measured. Defaults to io.Discard.
	Progress io.Writer
}

func (o ProcessOptions) withDefaults() (ProcessOptions, error) {
	if o.Node == nil {
		return o, errors.New("no command for the node is given")
	}
	if o.Concurrency < 0 {
		return o, errors.New("counts must not be negative")
	}
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}

func (o ProcessOptions) say(what string) { _, _ = fmt.Fprintf(o.Progress, "measuring: %s\n", what) }

// A childNode is a node in a process of its own.
type childNode struct {
	o      ProcessOptions
	cmd    *exec.Cmd
	stdin  io.Closer
	words  *json.Decoder
	status string
}

// withChild measures while a node runs in a process of its own, and waits for its end.
func withChild(ctx context.Context, o ProcessOptions, table, backend string, measure func(context.Context, *childNode) error) error {
	n, err := startChild(o, nodeSpec{
		Endpoint: o.DB.Endpoint, Namespace: o.DB.Namespace, Database: o.DB.Database, Username: o.DB.Username, Password: o.DB.Password,
		Table: table, Backend: backend, Concurrency: o.Concurrency, Pprof: o.Pprof,
	})
	if err != nil {
		return fmt.Errorf("start the node's process: %w", err)
	}
	err = measure(ctx, n)
	return errors.Join(err, n.stop())
}

func startChild(o ProcessOptions, spec nodeSpec) (*childNode, error) {
	n := &childNode{o: o, cmd: o.Node()}
	n.cmd.Stderr = os.Stderr
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.stdin, n.words = stdin, json.NewDecoder(stdout)
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	var said nodeAddress
	err = json.NewEncoder(stdin).Encode(spec) //nolint:gosec // the child signs in as this process does
	if err == nil {
		err = n.words.Decode(&said)
	}
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	n.status = said.Status
	return n, nil
}

// stop ends the process as a terminal's end would, and waits.
func (n *childNode) stop() error {
	_ = n.stdin.Close() // that is the sign
	if err := n.cmd.Wait(); err != nil {
		return fmt.Errorf("the node's process: %w", err)
	}
	return nil
}

// ask is what the node says of itself. With tidy it first gives back the memory that it does not need.
func (n *childNode) ask(ctx context.Context, tidy bool) (nodeStatus, error) {
	where := n.status
	if tidy {
		where += "?tidy"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return nodeStatus{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nodeStatus{}, fmt.Errorf("ask the node: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	var s nodeStatus
	err = json.NewDecoder(resp.Body).Decode(&s)
	return s, err
}

// A Quiet is what a node costs that has nothing to do, or nothing that it can do.
type Quiet struct {
	// RSSMiB is the node's memory after it has given back what it does not need, HeapMiB what of it is in use.
	RSSMiB  float64 `json:"rss_mib"`
	HeapMiB float64 `json:"heap_mib"`
	// NodeCPU and DatabaseCPU are shares of one core, in percent. DatabaseCPU is 0 where it can't be known.
	NodeCPU     float64 `json:"node_cpu_percent"`
	DatabaseCPU float64 `json:"database_cpu_percent"`
	// Statements a second.
	Statements float64 `json:"statements_per_second"`
}

// watch looks at the node for a while, after half of that: what a start costs is not meant.
func (n *childNode) watch(ctx context.Context, d time.Duration) (Quiet, error) {
	if err := pause(ctx, d/2); err != nil {
		return Quiet{}, err
	}
	before, err := n.ask(ctx, false)
	if err != nil {
		return Quiet{}, err
	}
	from, err := n.clock()
	if err != nil {
		return Quiet{}, err
	}
	if err := pause(ctx, d); err != nil {
		return Quiet{}, err
	}
	to, err := n.clock()
	if err != nil {
		return Quiet{}, err
	}
	took := to.at.Sub(from.at).Seconds()
	spent := to.since(from)
	after, err := n.ask(ctx, true)
	if err != nil {
		return Quiet{}, err
	}
	use, err := measureProcess(n.cmd.Process.Pid)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return Quiet{}, err
	}
	return Quiet{
		RSSMiB: mib(use.RSS), HeapMiB: mib(after.Heap), Statements: float64(after.Statements-before.Statements) / took,
		NodeCPU: 100 * spent.node.Seconds() / took, DatabaseCPU: 100 * spent.database.Seconds() / took,
	}, nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

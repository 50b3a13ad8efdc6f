package ssp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// settleGrace is how long a stopping node goes on trying to write what its jobs came to.
const settleGrace = 10 * time.Second

// A Node is one sync processor. Make it with [New], run it once.
type Node struct {
	cfg   Config
	log   *slog.Logger
	clock dbClock
	peers peers

	// One connection each: a slow answer on one holds up nothing on another.
	live, work, aux *surreal.Client

	lanes     []*lane
	scheduled []string // the names of the schedules that it starts
	dags      *dags
	prober    *prober
	registry  *prometheus.Registry
	metrics   *nodeMetrics
	http      *http.Client
	nodes     *feed // hears the node's own heartbeats
	signals   *feed // hears what is asked of the node

	lastBeat atomic.Pointer[time.Time]
	claiming atomic.Bool // jobs may be claimed
	draining atomic.Bool // the node is shutting down
	prepared atomic.Bool // the schema is as this program needs it
	ready    chan struct{}
	isReady  atomic.Bool
	sweepNow chan struct{} // capacity 1
	// refreshed is when subscriptions were refreshed last; the sweeps' own.
	refreshed time.Time
	noise     noise
	tracer    trace.Tracer // nil is off
}

// New makes a node of its description. It opens no connection.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if cfg.Listen != "" && cfg.AuthSecret == "" && !config.IsLoopback(cfg.Listen) {
		return nil, fmt.Errorf("listen on %s: other machines can reach it and there is no secret; set SPKY_AUTH_SECRET or listen on 127.0.0.1", cfg.Listen)
	}
	n := &Node{
		cfg: cfg, log: cfg.Logger.With("node", cfg.ID), peers: peers{self: cfg.ID},
		registry: prometheus.NewRegistry(), ready: make(chan struct{}), sweepNow: make(chan struct{}, 1),
	}
	if cfg.TracerProvider != nil {
		n.tracer = cfg.TracerProvider.Tracer(tracerName, trace.WithInstrumentationVersion(cfg.Version))
	}
	n.metrics = newNodeMetrics(n)
	n.http = newHTTPClient(cfg.Backends)
	n.prober = newProber(n)
	for _, open := range []struct {
		client **surreal.Client
		name   string
	}{{&n.live, "live"}, {&n.work, "work"}, {&n.aux, "aux"}} {
		db := cfg.DB
		db.Name = open.name
		db.Logger = n.log
		client, err := surreal.New(db)
		if err != nil {
			return nil, fmt.Errorf("configure database connection: %w", err)
		}
		*open.client = client
	}
	n.dags = newDAGs(n)
	for _, backend := range cfg.Backends {
		n.lanes = append(n.lanes, n.newLane(backend))
	}
	n.scheduled = n.runnable()
	n.nodes = n.newFeed("_00_node", "LIVE SELECT node FROM _00_node WHERE node = $node", map[string]any{"node": cfg.ID})
	n.nodes.onEvents, n.nodes.onGap, n.nodes.onDeaf = func([]surreal.Event) {}, func() {}, n.renewFeeds
	n.signals = n.newFeed("_00_signal", signalStatement, map[string]any{"node": cfg.ID})
	n.signals.onEvents, n.signals.onGap = n.onSignals, func() {}
	return n, nil
}

func (n *Node) newLane(backend config.Backend) *lane {
	l := &lane{
		node: n, backend: backend, circuit: newCircuit(), batch: claimBatch,
		log:     n.log.With("backend", backend.Name, "table", backend.Table),
		metrics: n.metrics.lane(backend.Name),
		wake:    make(chan struct{}, 1), queue: newDueQueue(),
		flights: map[string]*flight{}, poison: map[string]poison{}, suspects: map[string]int64{}, losses: map[string]loss{},
	}
	l.table = l.newTable(outbox.Cancelled)
	l.settler = newSettler(l)
	l.feed = n.newFeed(backend.Table, liveStatement(backend.Table, backend.PartitionBy != ""), nil)
	l.feed.onEvents, l.feed.onGap = l.onEvents, l.noticeGap
	l.gap.Store(true)
	return l
}

func (l *lane) newTable(cancelled outbox.Status) *outbox.Table {
	return outbox.New(outbox.Config{
		DB: l.node.work, Name: l.backend.Table, Cancelled: cancelled,
		Timeout: l.backend.Timeout, Overridable: l.backend.TimeoutOverridable,
		PartitionBy: l.backend.PartitionBy, PartitionConcurrency: l.backend.PartitionConcurrency,
	})
}

func (n *Node) newFeed(table, statement string, vars map[string]any) *feed {
	return &feed{
		live: n.live, table: table, statement: statement, vars: vars, log: n.log.With("feed", table),
		changed: make(chan struct{}, 1), metrics: n.metrics.feed(table),
	}
}

// ID names the node.
func (n *Node) ID() string { return n.cfg.ID }

// clients are the node's connections by their names.
func (n *Node) clients() map[string]*surreal.Client {
	return map[string]*surreal.Client{"live": n.live, "work": n.work, "aux": n.aux}
}

// Statements counts the requests that the node has sent to the database so far.
func (n *Node) Statements() uint64 {
	all := uint64(0)
	for _, client := range n.clients() {
		all += client.State().Statements
	}
	return all
}

// Ready is closed once the node works: connected, schema applied, listening to every table, and
// through its first sweep.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Run works until ctx ends, and then drains: it stops claiming; waits for the requests in flight up
// to ShutdownGrace; aborts the rest and gives their jobs back uncounted; writes what all of them
// came to; removes its row; closes its server and its connections. It answers nil after that.
// While the database is away it waits and goes on by itself. An error means that it can't work at
// all: an address in use, a schema it may not apply, a table that is no outbox.
func (n *Node) Run(ctx context.Context) error {
	connections, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	var online errgroup.Group
	for _, client := range n.clients() {
		online.Go(func() error { return client.Run(connections) })
	}
	err := n.serve(ctx)
	n.http.CloseIdleConnections()
	hangUp()
	return errors.Join(err, online.Wait())
}

// serve is Run with the connections up.
func (n *Node) serve(ctx context.Context) error {
	stop, err := n.listen()
	if err != nil {
		return err
	}
	defer stop()
	if err := n.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped before it began
		}
		return err
	}
	n.operate(ctx)
	return nil
}

// operate runs everything that has an end, in the order in which it ends.
func (n *Node) operate(ctx context.Context) {
	launches, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	settling, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()

	var claims, settlers, watchers errgroup.Group
	n.claiming.Store(true)
	for _, l := range n.lanes {
		l.launches = launches
		l.ticked.Store(time.Now().UnixNano())
		claims.Go(func() error { l.run(ctx); return nil })
		settlers.Go(func() error { l.settler.run(settling); return nil })
		watchers.Go(func() error { l.feed.run(watching); return nil })
	}
	claims.Go(func() error { n.runSchedules(ctx); return nil })
	watchers.Go(func() error { n.nodes.run(watching); return nil })
	watchers.Go(func() error { n.signals.run(watching); return nil })
	watchers.Go(func() error { n.runBeats(watching); return nil })
	watchers.Go(func() error { n.runSweeps(watching); return nil })
	watchers.Go(func() error { n.prober.run(watching); return nil })
	watchers.Go(func() error { n.watchBeats(watching); return nil })
	watchers.Go(func() error { n.runRetention(watching); return nil })
	watchers.Go(func() error { n.dags.run(watching); return nil }) // hears of what settles last

	<-ctx.Done()
	n.draining.Store(true)
	n.claiming.Store(false)
	_ = claims.Wait() // lanes only end
	for _, l := range n.lanes {
		l.shed(time.Now().Add(time.Second)) // all of them
	}
	n.drain(abort)
	for _, l := range n.lanes {
		l.settler.close()
	}
	last := time.AfterFunc(settleGrace, giveUp)
	_ = settlers.Wait()
	last.Stop()
	stopWatching()
	_ = watchers.Wait()
	n.leave(ctx)
}

// drain waits for the requests in flight, and aborts them when the grace is over.
func (n *Node) drain(abort context.CancelCauseFunc) {
	n.log.Info("shutting down: no more claims; waiting for requests in flight", "requests", n.inFlight(), "grace", n.cfg.ShutdownGrace)
	over := time.AfterFunc(n.cfg.ShutdownGrace, func() {
		n.log.Warn("the grace is over: requests in flight are aborted and their jobs given back", "requests", n.inFlight())
		abort(errShutdown)
	})
	defer over.Stop()
	for _, l := range n.lanes {
		l.flying.Wait()
	}
}

func (n *Node) inFlight() int {
	all := 0
	for _, l := range n.lanes {
		busy, _ := l.held()
		all += busy
	}
	return all
}

// leave removes the node's row, so that nobody waits for it to fall silent.
func (n *Node) leave(ctx context.Context) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	if err := surreal.Exec(call, n.aux.Retrying(), "DELETE type::record('_00_node', $node) RETURN NONE", map[string]any{"node": n.cfg.ID}); err != nil {
		n.log.Warn("the node's row stays until it is forgotten", "error", err)
	}
	n.log.Info("stopped")
}

// prepare brings the database up to what the node needs and writes its row; it waits for a database
// that is away.
func (n *Node) prepare(ctx context.Context) error {
	for {
		err := n.prepareOnce(ctx)
		if err == nil {
			n.prepared.Store(true)
			return nil
		}
		if !surreal.IsUnreachable(err) && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		n.noticeError(ctx, "prepare", n.log, err)
		sleep(ctx, 250*time.Millisecond)
	}
}

func (n *Node) prepareOnce(ctx context.Context) error {
	db := n.aux
	applied, err := schema.Apply(ctx, db)
	if err != nil {
		return err
	}
	if applied.Newer {
		n.log.Warn("the database holds a newer schema than this program's; it is left alone", "version", applied.Version, "mine", schema.Version)
	}
	for _, l := range n.lanes {
		box, err := schema.PrepareOutbox(ctx, db, l.backend.Table)
		if err != nil {
			return fmt.Errorf("backend %s: %w", l.backend.Name, err)
		}
		for _, f := range box.Findings {
			l.log.Warn("outbox table", "finding", f.String())
		}
		if by := l.backend.PartitionBy; by != "" {
			if err := schema.PreparePartitions(ctx, db, l.backend.Table, by); err != nil {
				return fmt.Errorf("backend %s: %w", l.backend.Name, err)
			}
		}
		l.cancelled = outbox.Status(box.Cancelled)
		l.table = l.newTable(l.cancelled)
	}
	if err := n.configureRetention(ctx); err != nil {
		return err
	}
	if err := n.beat(ctx); err != nil {
		return fmt.Errorf("first heartbeat: %w", err)
	}
	return nil
}

// watchBeats puts the connection for notifications to the proof: it must report this node's own
// heartbeats. When it does not, every feed is renewed, for all of them go through it.
func (n *Node) watchBeats(ctx context.Context) {
	for sleep(ctx, n.cfg.BeatInterval) {
		up, ok := n.nodes.upSince()
		last := n.lastBeat.Load()
		if !ok || last == nil || !last.After(up) {
			continue
		}
		n.nodes.expect(proofTimeout + beatTimeout)
	}
}

func (n *Node) renewFeeds() {
	n.signals.renew()
	for _, l := range n.lanes {
		l.feed.renew()
	}
}

// noticeReady closes Ready once everything works for the first time.
func (n *Node) noticeReady() {
	if n.isReady.Load() {
		return
	}
	for _, l := range n.lanes {
		if !l.feed.hears() || !l.swept.Load() {
			return
		}
	}
	n.isReady.Store(true)
	close(n.ready)
}

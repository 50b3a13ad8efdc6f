package ssp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sp00ky.cloud/spky/outbox"
)

// nodeMetrics are the node's Prometheus collectors.
type nodeMetrics struct {
	started, succeeded, failed, retried, cancelled, released, reclaimed, lost, sweepFinds *prometheus.CounterVec

	lateness, attempt    *prometheus.HistogramVec
	circuit, polling     *prometheus.GaugeVec
	feedStarts, feedDeaf *prometheus.CounterVec
	dbErrors             *prometheus.CounterVec
	rescued              prometheus.Counter
	runs                 *prometheus.CounterVec
	pruned               *prometheus.CounterVec

	ticks, unstarted, dagRuns *prometheus.CounterVec
	tickLateness              prometheus.Histogram
}

// latencyBuckets go from a millisecond to a minute.
func latencyBuckets() []float64 {
	return []float64{.001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 4, 8, 16, 32, 64}
}

func newNodeMetrics(n *Node) *nodeMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(n.registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spky_" + name, Help: help}, labels))
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return register(n.registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "spky_" + name, Help: help, Buckets: latencyBuckets()}, []string{"backend"}))
	}
	m := &nodeMetrics{
		started:    counter("jobs_started_total", "Attempts started.", "backend"),
		succeeded:  counter("jobs_succeeded_total", "Jobs that ended as success.", "backend"),
		failed:     counter("jobs_failed_total", "Jobs that ended as failed.", "backend"),
		retried:    counter("jobs_retried_total", "Failed attempts with another to come.", "backend"),
		cancelled:  counter("jobs_cancelled_total", "Jobs cancelled while they ran.", "backend"),
		released:   counter("jobs_released_total", "Jobs given back without counting an attempt.", "backend"),
		reclaimed:  counter("jobs_reclaimed_total", "Jobs taken over from nodes that are gone.", "backend"),
		lost:       counter("leases_lost_total", "Outcomes dropped because the job had been taken away.", "backend"),
		sweepFinds: counter("sweep_finds_total", "Due rows that a sweep found and no notification had announced.", "backend"),
		lateness:   histogram("job_lateness_seconds", "Time from when a job was due until its request was sent."),
		attempt:    histogram("job_attempt_seconds", "Time that an attempt took."),
		circuit:    register(n.registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "spky_circuit_open", Help: "1 while a backend's circuit is open."}, []string{"backend"})),
		polling:    register(n.registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "spky_polling", Help: "1 while a backend's jobs come so fast, or so many wait, that its table is polled and its live feed paused."}, []string{"backend"})),
		feedStarts: counter("live_subscriptions_total", "LIVE SELECT registrations.", "table"),
		feedDeaf:   counter("live_deaf_total", "Subscriptions found deaf and replaced.", "table"),
		rescued:    register(n.registry, prometheus.NewCounter(prometheus.CounterOpts{Name: "spky_workflow_instances_rescued_total", Help: "Workflow instances that lived without a job and got one."})),
		runs:       counter("workflow_runs_total", "Runs of workflow instances, by what they came to: complete, errored, suspended, busy, lost, stalled, failed and others.", "backend", "state"),
		pruned:     counter("pruned_total", "Old rows deleted: jobs of an outbox table, instances of workflows, or runs of DAGs.", "table"),
		ticks:      counter("schedule_ticks_total", "Ticks of schedules that this node started.", "schedule"),
		unstarted:  counter("schedule_failures_total", "Tries of this node to start a tick that failed.", "schedule"),
		dagRuns:    counter("dag_runs_total", "Runs of DAGs whose end this node noted, by what they came to: success, failed, killed.", "dag", "status"),
		dbErrors:   counter("database_errors_total", "Failed statements, by what they were for.", "doing"),
	}
	m.tickLateness = register(n.registry, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "spky_schedule_lateness_seconds", Help: "Time from a tick until it was started.", Buckets: latencyBuckets()}))
	n.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newNodeState(n))
	return m
}

func register[C prometheus.Collector](registry *prometheus.Registry, c C) C {
	registry.MustRegister(c)
	return c
}

// laneMetrics are nodeMetrics of one backend.
type laneMetrics struct {
	all     *nodeMetrics
	backend string
}

func (m *nodeMetrics) lane(backend string) *laneMetrics {
	l := &laneMetrics{all: m, backend: backend}
	for _, c := range []*prometheus.CounterVec{m.started, m.succeeded, m.failed, m.retried, m.cancelled, m.released, m.reclaimed, m.lost, m.sweepFinds} {
		c.WithLabelValues(backend) // so that a counter exists before it first counts
	}
	l.circuit(CircuitClosed)
	l.polling(false)
	return l
}

func (l *laneMetrics) started(job outbox.Job, now time.Time) {
	l.all.started.WithLabelValues(l.backend).Inc()
	if !job.DueAt.IsZero() {
		l.all.lateness.WithLabelValues(l.backend).Observe(max(now.Sub(job.DueAt).Seconds(), 0))
	}
}

func (l *laneMetrics) attempted(job outbox.Job, v verdict, took time.Duration) {
	l.all.attempt.WithLabelValues(l.backend).Observe(took.Seconds())
	if job.Platform {
		l.all.runs.WithLabelValues(l.backend, runState(v)).Inc()
	}
}

// runState is what a run of a workflow instance came to, by the backend's answer; one of a few words.
func runState(v verdict) string {
	switch {
	case v.status == outbox.Pending && v.wait == busyWait:
		return "busy"
	case v.status != outbox.Success:
		return "failed"
	}
	answer, _ := v.result.(map[string]any)
	state, _ := answer["state"].(string)
	switch state {
	case "complete", "errored", "suspended", "lost", "stalled", "shutdown", "paused", "done", "superseded":
		return state
	}
	return "other"
}

func (l *laneMetrics) settled(o outbox.Outcome, found outbox.Settled) {
	if !found.Written {
		l.all.lost.WithLabelValues(l.backend).Inc()
		return
	}
	switch {
	case o.Status == outbox.Success:
		l.all.succeeded.WithLabelValues(l.backend).Inc()
	case o.Status == outbox.Cancelled:
		l.all.cancelled.WithLabelValues(l.backend).Inc()
	case o.Status == outbox.Failed:
		l.all.failed.WithLabelValues(l.backend).Inc()
	case o.Counts:
		l.all.retried.WithLabelValues(l.backend).Inc()
	default:
		l.all.released.WithLabelValues(l.backend).Inc()
	}
}

func (l *laneMetrics) reaped(jobs int) {
	l.all.reclaimed.WithLabelValues(l.backend).Add(float64(jobs))
}

// found counts a sweep's news. What a full sweep finds was there before anybody listened.
func (l *laneMetrics) found(news int, full bool) {
	if !full {
		l.all.sweepFinds.WithLabelValues(l.backend).Add(float64(news))
	}
}

func (l *laneMetrics) circuit(state CircuitState) {
	open := 0.0
	if state == CircuitOpen {
		open = 1
	}
	l.all.circuit.WithLabelValues(l.backend).Set(open)
}

func (l *laneMetrics) polling(on bool) {
	l.all.polling.WithLabelValues(l.backend).Set(flag(on))
}

// feedMetrics are those of one subscription.
type feedMetrics struct {
	all   *nodeMetrics
	table string
}

func (m *nodeMetrics) feed(table string) *feedMetrics { return &feedMetrics{all: m, table: table} }

func (f *feedMetrics) registered() { f.all.feedStarts.WithLabelValues(f.table).Inc() }
func (f *feedMetrics) deaf()       { f.all.feedDeaf.WithLabelValues(f.table).Inc() }

// nodeState collects what the node knows at the moment it is asked.
type nodeState struct {
	node  *Node
	descs map[string]*prometheus.Desc
}

// stateMetrics are nodeState's metrics: name, label (or none), help.
func stateMetrics() [][3]string {
	return [][3]string{
		{"slots_busy", "backend", "Requests in flight."},
		{"slots", "backend", "Requests that may be in flight at once."},
		{"queue_jobs", "backend", "Due or nearly due jobs known to this node; a longer backlog stays in the database."},
		{"queue_oldest_seconds", "backend", "Age of the oldest due job known to this node."},
		{"live_up", "backend", "1 while the live feed of a backend's table is registered."},
		{"database_connected", "connection", "1 while a connection is up and signed in."},
		{"database_reconnects_total", "connection", "Times a connection was made again."},
		{"database_requests_total", "connection", "Requests sent."},
		{"database_conflicts_total", "connection", "Transactions that lost an optimistic conflict."},
		{"database_clock_offset_seconds", "", "How far the database's clock is ahead of this node's."},
	}
}

func newNodeState(n *Node) nodeState {
	s := nodeState{node: n, descs: map[string]*prometheus.Desc{}}
	for _, m := range stateMetrics() {
		var labels []string
		if m[1] != "" {
			labels = []string{m[1]}
		}
		s.descs[m[0]] = prometheus.NewDesc("spky_"+m[0], m[2], labels, nil)
	}
	return s
}

// Describe implements [prometheus.Collector].
func (s nodeState) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range s.descs {
		out <- desc
	}
}

// Collect implements [prometheus.Collector].
func (s nodeState) Collect(out chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name string, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(s.descs[name], kind, v, labels...)
	}
	for _, l := range s.node.lanes {
		busy, queued := l.held()
		send(prometheus.GaugeValue, "slots_busy", float64(busy), l.backend.Name)
		send(prometheus.GaugeValue, "slots", float64(l.backend.Concurrency), l.backend.Name)
		send(prometheus.GaugeValue, "queue_jobs", float64(queued), l.backend.Name)
		send(prometheus.GaugeValue, "queue_oldest_seconds", l.oldest().Seconds(), l.backend.Name)
		send(prometheus.GaugeValue, "live_up", flag(l.feed.up()), l.backend.Name)
	}
	for name, client := range s.node.clients() {
		state := client.State()
		send(prometheus.GaugeValue, "database_connected", flag(state.Connected), name)
		send(prometheus.CounterValue, "database_reconnects_total", float64(state.Reconnects), name)
		send(prometheus.CounterValue, "database_requests_total", float64(state.Statements), name)
		send(prometheus.CounterValue, "database_conflicts_total", float64(state.Conflicts), name)
	}
	send(prometheus.GaugeValue, "database_clock_offset_seconds", s.node.clock.offset().Seconds())
}

// oldest is how long the lane's first hint has been due.
func (l *lane) oldest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.queue.next()
	if !ok {
		return 0
	}
	return max(l.node.clock.now().Sub(at), 0)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// Metrics are what GET /metrics shows, for a server that shows more beside.
func (n *Node) Metrics() prometheus.Gatherer { return n.registry }

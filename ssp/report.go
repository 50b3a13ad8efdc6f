package ssp

import (
	"math"
	"os"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// maxReport bounds each text that a node's row quotes, in bytes.
const maxReport = 300

// row is what the node tells of itself. It holds no payloads, and no secrets: of a backend's address
// and of what it answers nothing but why it could not be reached.
func (n *Node) row() map[string]any {
	backends := make([]map[string]any, len(n.lanes))
	for i, l := range n.lanes {
		backends[i] = l.report()
	}
	row := map[string]any{
		"node": n.cfg.ID, "host": hostname(), "pid": os.Getpid(), "version": n.cfg.Version,
		"listen": surreal.None, "draining": n.draining.Load(), "backends": backends, "schedules": n.scheduled,
	}
	if n.cfg.Listen != "" {
		row["listen"] = n.cfg.Listen
	}
	return row
}

// report is what the node's row says of a backend. Times are the database's.
//
//	slots, busy        requests that may be and that are in flight
//	claimed            jobs that this node holds: in flight, waiting for a slot, or being settled
//	queued, due        jobs in its queue, and how many of them are due; more says that the database
//	                   holds due ones beyond them, oldest_due since when the first of them has been
//	circuit            closed or open, circuit_since, and circuit_reason: the last failure
//	refused            why the table takes none of the runner's writes; absent where it does
//	feed, polling      whether its live feed is up, or paused because too many jobs come or wait for one
//	attempts, failures of about the last minute, and p50_ms, p99_ms, how long the attempts took
func (l *lane) report() map[string]any {
	now := l.node.clock.now()
	state, since, reason := l.circuit.snapshot()
	report := map[string]any{
		"name": l.backend.Name, "table": l.backend.Table, "slots": l.backend.Concurrency, "feed": l.feed.up(),
		"circuit": string(state), "circuit_since": now.Add(-time.Since(since)),
	}
	if reason != "" {
		report["circuit_reason"] = cut(l.hush(reason), maxReport)
	}
	if err := l.refusal.standing(); err != nil {
		report["refused"] = cut(l.hush(err.Error()), maxReport)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reportQueue(report, now)
	last := l.recent.sum()
	report["busy"], report["polling"] = l.busy, l.polling
	report["attempts"], report["failures"] = last.attempts, last.failures
	report["p50_ms"], report["p99_ms"] = millis(last.p50), millis(last.p99)
	return report
}

// reportQueue is the part of report about what waits, under l.mu.
func (l *lane) reportQueue(report map[string]any, now time.Time) {
	claimed := 0
	for _, f := range l.flights {
		if f.running {
			claimed++
		}
	}
	due, oldest := l.queue.due(now)
	report["claimed"], report["queued"], report["due"], report["more"] = claimed, l.queue.len(), due, l.more
	if due > 0 {
		report["oldest_due"] = oldest
	}
}

// millis are milliseconds to a tenth.
func millis(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Millisecond)*10) / 10 }

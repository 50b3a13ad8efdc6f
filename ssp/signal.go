package ssp

import (
	"context"
	"errors"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// signalStatement listens for what is asked of this node: at present, to abort a job's request.
const signalStatement = "LIVE SELECT id, job FROM _00_signal WHERE node = $node"

const signalTimeout = 5 * time.Second

// signalGrace is how old a request to cancel must be for its signal to be missing.
const signalGrace = 500 * time.Millisecond

// missedSignal is told of a flight whose cancellation a sweep has found. Where no signal has said so
// before, the subscription is deaf, and is made anew.
func (n *Node) missedSignal(f *flight, age time.Duration) {
	if errors.Is(context.Cause(f.ctx), errCancelled) || age < signalGrace || !n.signals.mayDoubt() {
		return
	}
	n.log.Warn("a signal to cancel a job did not arrive; subscribing again", "job", f.key)
	n.signals.metrics.deaf()
	n.signals.renew()
}

// onSignals aborts the requests of jobs that somebody cancelled. A signal that gets lost costs a
// sweep interval: the sweep reads cancel_requested too.
func (n *Node) onSignals(events []surreal.Event) {
	var done []surreal.RecordID
	for _, event := range events {
		var row struct {
			Job surreal.RecordID `json:"job"`
		}
		if event.Action == "DELETE" || event.Decode(&row) != nil {
			continue
		}
		done = append(done, event.Record)
		for _, l := range n.lanes {
			if l.backend.Table == row.Job.Table {
				l.abort(surreal.FormatID(row.Job))
			}
		}
	}
	if len(done) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	if err := surreal.Exec(ctx, n.aux.Retrying(), "DELETE $signals RETURN NONE", map[string]any{"signals": done}); err != nil {
		n.noticeError(ctx, "signal", n.log, err) // they are forgotten with the next heartbeats
	}
}

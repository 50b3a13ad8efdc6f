package ssp

import (
	"context"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// freshness is how long a heartbeat that was written lets the node claim. It is shorter than the
// ten seconds after which the others take a silent node for dead.
const freshness = 6 * time.Second

// beatTimeout bounds one heartbeat, so that a hanging database is noticed before it is too late.
const beatTimeout = 3 * time.Second

const beatCall = "RETURN fn::spky::node::beat($row)"

type beatAnswer struct {
	Now    time.Time `json:"now"`
	Live   []string  `json:"live"`
	Takers []taker   `json:"takers"`
}

// beat writes the node's row once.
func (n *Node) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	sent := time.Now()
	answer, err := surreal.First[beatAnswer](ctx, n.aux.Retrying(), beatCall, map[string]any{"row": n.row()})
	if err != nil {
		return err
	}
	received := time.Now()
	n.clock.observe(answer.Now, sent, received)
	n.peers.set(answer.Live, answer.Takers)
	n.lastBeat.Store(&sent)
	for _, l := range n.lanes {
		l.poke()
	}
	return nil
}

// runBeats writes the node's row until ctx ends. A node whose lanes do not move any more falls
// silent, so that the others take its jobs.
func (n *Node) runBeats(ctx context.Context) {
	for {
		if stuck := n.stuck(); stuck != "" {
			n.log.Error("no heartbeat: a lane does not move", "backend", stuck)
		} else if err := n.beat(ctx); err != nil && ctx.Err() == nil {
			n.noticeError(ctx, "heartbeat", n.log, err)
		}
		if !sleep(ctx, n.cfg.BeatInterval) {
			return
		}
	}
}

// stuck names a backend whose lane has stopped moving, "" without.
func (n *Node) stuck() string {
	if !n.claiming.Load() {
		return ""
	}
	for _, l := range n.lanes {
		if l.stalled() {
			return l.backend.Name
		}
	}
	return ""
}

// mayClaim says whether the others still take this node for alive, and it is not shutting down.
func (n *Node) mayClaim() bool {
	last := n.lastBeat.Load()
	return n.claiming.Load() && last != nil && time.Since(*last) < freshness
}

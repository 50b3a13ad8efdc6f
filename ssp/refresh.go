package ssp

import (
	"context"
	"time"
)

// refreshEvery is the time between two refreshments of everybody's subscriptions.
const refreshEvery = 30 * time.Second

// refresh heals the subscriptions of users on the tables by which they follow their work: one that is registered while
// its table is written to can be deaf from the beginning. This node proves its own feeds itself.
func (n *Node) refresh(ctx context.Context) {
	if time.Since(n.refreshed) < refreshEvery {
		return
	}
	n.refreshed = time.Now()
	tables := []string{"_00_wf_instance", "_00_wf_step"}
	for _, l := range n.lanes {
		tables = append(tables, l.backend.Table)
	}
	for _, table := range tables {
		if err := n.refreshTable(ctx, table); err != nil {
			n.noticeError(ctx, "refresh", n.log, err)
			return
		}
	}
}

func (n *Node) refreshTable(ctx context.Context, table string) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	return n.live.ForgetListeners(ctx, table)
}

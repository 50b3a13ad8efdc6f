package ssp

import (
	"context"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// refreshEvery is the time between two refreshments of everybody's subscriptions.
const refreshEvery = 30 * time.Second

// refresh heals the subscriptions of users. One that is registered while its table is written to can
// be deaf from the beginning, because a transaction that is older caches the list of subscriptions
// without it; the list is made anew with the next registration on that table. So one is registered
// and ended on every table that users follow their work by. This node proves its own feeds itself.
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
	live, err := n.live.Live(ctx, surreal.LiveConfig{Statement: "LIVE SELECT id FROM `" + table + "` WHERE false"})
	if err != nil {
		return err
	}
	live.Close(ctx)
	return nil
}

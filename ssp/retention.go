package ssp

import (
	"context"

	"sp00ky.cloud/spky/ssp/retention"
)

// configureRetention writes what the node's configuration says about old rows.
func (n *Node) configureRetention(ctx context.Context) error {
	tables := make([]string, 0, len(n.lanes))
	for _, l := range n.lanes {
		tables = append(tables, l.backend.Table)
	}
	_, err := retention.Configure(ctx, n.aux.Retrying(), n.cfg.Retention, tables)
	return err
}

// runRetention deletes old rows, as long as no other node does, until ctx ends.
func (n *Node) runRetention(ctx context.Context) {
	retention.New(retention.Config{
		DB: n.aux, Node: n.cfg.ID, Interval: n.cfg.PruneInterval, Logger: n.log,
		Pruned:  func(table string, rows int) { n.metrics.pruned.WithLabelValues(table).Add(float64(rows)) },
		Trouble: func(err error) { n.noticeError(ctx, "prune", n.log, err) },
	}).Run(ctx)
}

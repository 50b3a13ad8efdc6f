package retention

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

const (
	// leaseName is what one node holds while it prunes.
	leaseName = "retention"
	// countsKept is how long counts are kept.
	countsKept = 400 * 24 * time.Hour
	// forgetEvery is the time between two looks for older ones.
	forgetEvery = time.Hour
	// pagesAPass is how many pages of one target a pass goes through; the next goes on there.
	pagesAPass = 100
	// auditRows is how many rows of the audit one transaction deletes.
	auditRows = 1000
	// leastPause is the pause after a page that took no time.
	leastPause = 5 * time.Millisecond
)

// Config describes a pruner.
type Config struct {
	// DB is a connection of its own kind: what it does there must not hold up claims.
	DB *surreal.Client
	// Node is who holds the lease.
	Node string
	// Interval is the time between two passes. Defaults to one minute.
	Interval time.Duration
	// Lease is how long others wait for a node that has fallen silent. Defaults to 90 s; it should be longer
	// than Interval.
	Lease time.Duration
	// Pruned, if set, is told of rows deleted: of an outbox table, of _00_wf_instance, of
	// _00_workflow_run or of _00_audit.
	Pruned func(table string, rows int)
	// Trouble, if set, is told what a pass failed at. The next one tries again.
	Trouble func(error)
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// A Pruner deletes old rows. Make it with [New].
type Pruner struct {
	cfg Config
	// from is where the last pass stopped that did not come to its end, by target.
	from map[target]int64
	// more says that the last pass left something to prune.
	more bool
	// forgot is when counts that are too old were looked for last.
	forgot time.Time
	// held is when the lease was asked for last.
	held time.Time
}

// New makes a pruner of its description; it touches no database.
func New(cfg Config) *Pruner {
	if cfg.Interval <= 0 {
		cfg.Interval = time.Minute
	}
	if cfg.Lease <= 0 {
		cfg.Lease = 90 * time.Second
	}
	if cfg.Pruned == nil {
		cfg.Pruned = func(string, int) {}
	}
	if cfg.Trouble == nil {
		cfg.Trouble = func(error) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Pruner{cfg: cfg, from: map[target]int64{}}
}

// Run prunes until ctx ends, and gives the lease back. The first pass comes at some time within the first
// interval, lest nodes that start together all ask at once.
func (p *Pruner) Run(ctx context.Context) {
	defer p.leave(ctx)
	wait := rand.N(p.cfg.Interval) //nolint:gosec // jitter
	for sleep(ctx, wait) {
		if _, err := p.Pass(ctx); err != nil && ctx.Err() == nil {
			p.cfg.Trouble(err)
		}
		wait = p.cfg.Interval
		if p.more {
			wait = leastPause
		}
	}
}

// Pass prunes once what there is to prune, if no other node does. It answers how many rows went.
func (p *Pruner) Pass(ctx context.Context) (int, error) {
	p.more = false
	mine, err := p.hold(ctx)
	if err != nil || !mine {
		return 0, err
	}
	at, err := surreal.First[struct {
		Now      time.Time `json:"now"`
		Settings Settings  `json:"settings"`
	}](ctx, p.cfg.DB.Retrying(), "RETURN { now: time::now(), settings: (SELECT * FROM ONLY _00_retention:default) }", nil)
	if err != nil {
		return 0, fmt.Errorf("read retention: %w", err)
	}
	r := &round{p: p, s: at.Settings, now: at.Now, started: time.Now()}
	err = r.run(ctx)
	if r.pruned > 0 {
		p.cfg.Logger.Info("old rows pruned", "rows", r.pruned, "took", time.Since(r.started).Round(time.Millisecond))
	}
	return r.pruned, err
}

// hold takes the lease, or keeps it.
func (p *Pruner) hold(ctx context.Context) (bool, error) {
	p.held = time.Now()
	return surreal.First[bool](ctx, p.cfg.DB.Retrying(), "RETURN fn::spky::lease::take($name, $holder, $ttl)",
		map[string]any{"name": leaseName, "holder": p.cfg.Node, "ttl": p.cfg.Lease})
}

// keep is hold where a good part of the lease has passed.
func (p *Pruner) keep(ctx context.Context) (bool, error) {
	if time.Since(p.held) < p.cfg.Lease/3 {
		return true, nil
	}
	return p.hold(ctx)
}

// leave gives the lease back, so that nobody waits for it to run out.
func (p *Pruner) leave(ctx context.Context) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	vars := map[string]any{"name": leaseName, "holder": p.cfg.Node}
	if err := surreal.Exec(call, p.cfg.DB.Retrying(), "DELETE type::record('_00_lease', $name) WHERE holder = $holder RETURN NONE", vars); err != nil {
		p.cfg.Logger.Warn("the lease on pruning stays until it runs out", "error", err)
	}
}

// outboxes are the tables that may be pruned and are as an outbox table has to be.
func (p *Pruner) outboxes(ctx context.Context, tables []string) ([]string, error) {
	var all []string
	for _, table := range tables {
		box, err := schema.InspectOutbox(ctx, p.cfg.DB, table)
		if ctx.Err() != nil || surreal.IsUnreachable(err) {
			return nil, err
		}
		if err != nil || len(box.Missing) > 0 {
			why := fmt.Sprintf("%d of the runner's columns and indexes are missing", len(box.Missing))
			if err != nil {
				why = err.Error()
			}
			p.cfg.Logger.Warn("a table in _00_retention:default is no outbox table, and is left alone; take it out of job_tables", "table", table, "reason", why)
			continue
		}
		all = append(all, table)
	}
	return all, nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// keepingJobs is how long to keep a job, by its state.
func (s Settings) keepingJobs() map[string]time.Duration {
	failed := time.Duration(s.FailedSecs) * time.Second
	return map[string]time.Duration{"success": time.Duration(s.SuccessSecs) * time.Second, "failed": failed, "cancelled": failed}
}

// keepingRuns is how long to keep what succeeded, and what ended in other states.
func (s Settings) keepingRuns(success string, others ...string) map[string]time.Duration {
	all := map[string]time.Duration{success: time.Duration(s.RunSuccessSecs) * time.Second}
	for _, state := range others {
		all[state] = time.Duration(s.RunFailedSecs) * time.Second
	}
	return all
}

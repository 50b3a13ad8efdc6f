package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// errLost ends a pass whose lease another node has taken.
var errLost = errors.New("another node prunes now")

// A round is one pass.
type round struct {
	p       *Pruner
	s       Settings
	now     time.Time // by the database's clock, at the beginning
	started time.Time
	pruned  int
}

func (r *round) run(ctx context.Context) error {
	targets, err := r.targets(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, t := range fromAnywhere(targets) {
		err := r.age(ctx, t)
		if err == nil && t.table != "" && t.status == "success" && r.s.MaxRows > 0 {
			err = r.limit(ctx, t)
		}
		switch {
		case errors.Is(err, errLost):
			return nil
		case ends(ctx, err):
			return err
		}
		failed = append(failed, err)
	}
	return errors.Join(errors.Join(failed...), r.forget(ctx))
}

// fromAnywhere are targets in their order, from a random one on: where no pass comes to its end, for the database or the nodes are away again
// and again, it is not always the same ones that are left.
func fromAnywhere(targets []target) []target {
	if len(targets) == 0 {
		return nil
	}
	n := rand.IntN(len(targets)) //nolint:gosec // as good as any
	return slices.Concat(targets[n:], targets[:n])
}

// forget deletes counts that are too old, and rows of the audit.
func (r *round) forget(ctx context.Context) error {
	if time.Since(r.p.forgot) < forgetEvery {
		return nil
	}
	r.p.forgot = time.Now()
	if err := r.audit(ctx); err != nil {
		return err
	}
	return surreal.Exec(ctx, r.p.cfg.DB.Retrying(), file("forget"), map[string]any{"before": r.now.Add(-countsKept)})
}

// audit deletes rows of the audit that are too old.
func (r *round) audit(ctx context.Context) error {
	for range pagesAPass {
		if r.s.AuditSecs <= 0 {
			return nil
		}
		began := time.Now()
		if mine, err := r.p.hold(ctx); err != nil || !mine {
			return err
		}
		before := r.now.Add(-time.Duration(r.s.AuditSecs) * time.Second)
		n, err := surreal.First[int](ctx, r.p.cfg.DB.Retrying(), "RETURN fn::spky::retention::prune_audit($before)", map[string]any{"before": before})
		if err != nil {
			return fmt.Errorf("prune audit: %w", err)
		}
		if r.pruned += n; n > 0 {
			r.p.cfg.Pruned("_00_audit", n)
		}
		if n < auditRows || !pause(ctx, began) {
			return nil
		}
	}
	r.p.forgot = time.Time{} // there is more
	return nil
}

// targets are all that may have rows to prune.
func (r *round) targets(ctx context.Context) ([]target, error) {
	tables, err := r.p.outboxes(ctx, r.s.Tables)
	if err != nil {
		return nil, err
	}
	var workflows []string
	if r.s.RunSuccessSecs > 0 || r.s.RunFailedSecs > 0 {
		if workflows, err = bindings(ctx, r.p.cfg.DB.Retrying()); err != nil {
			return nil, err
		}
	}
	var all []target
	add := func(t target, keeping map[string]time.Duration) {
		for _, status := range slices.Sorted(maps.Keys(keeping)) {
			t.status, t.keep = status, keeping[status]
			if t.keep > 0 || t.table != "" && status == "success" && r.s.MaxRows > 0 {
				all = append(all, t)
			}
		}
	}
	for _, table := range tables {
		add(target{table: table}, r.s.keepingJobs())
	}
	for _, binding := range workflows {
		add(target{binding: binding}, r.s.keepingRuns("complete", "errored", "terminated"))
	}
	add(target{dags: true}, r.s.keepingRuns("success", "failed", "killed"))
	return all, nil
}

// age prunes the rows of a target that finished too long ago. It goes on where the last pass stopped that
// did not come to its end.
func (r *round) age(ctx context.Context, t target) error {
	if t.keep <= 0 {
		return nil
	}
	before := r.now.Add(-t.keep)
	from, ok := r.p.from[t]
	if !ok {
		from = -before.UnixMicro()
	}
	delete(r.p.from, t)
	next, err := r.walk(ctx, t, from, before)
	if next != 0 {
		r.p.from[t] = next
	}
	return err
}

// limit prunes the rows of a table beyond its newest so many, whatever their age.
func (r *round) limit(ctx context.Context, t target) error {
	rows, err := t.beyond(ctx, r.p.cfg.DB.Retrying(), r.s.MaxRows)
	if err != nil || len(rows) == 0 {
		return err
	}
	if _, err := r.page(ctx, t, old(rows, r.now), r.now); err != nil || len(rows) < pageRows {
		return err
	}
	// What is older than the first beyond the limit is beyond it too. Those of the same moment come next time.
	_, err = r.walk(ctx, t, rows[0].Newest+1, r.now)
	return err
}

// walk goes through the rows of a target from one on, newest first, and prunes those that finished before a
// moment: others are passed over. It answers where to go on, or 0 at the end.
func (r *round) walk(ctx context.Context, t target, newest int64, before time.Time) (next int64, failed error) {
	all := 0
	for range pagesAPass {
		began := time.Now()
		rows, err := t.page(ctx, r.p.cfg.DB.Retrying(), newest)
		if err != nil || len(rows) == 0 {
			return 0, errors.Join(failed, err)
		}
		pruned, err := r.page(ctx, t, old(rows, before), before)
		failed = errors.Join(failed, err)
		if ends(ctx, err) || len(rows) < pageRows {
			return 0, failed
		}
		all += pruned
		if !pause(ctx, began) {
			return newest, ctx.Err()
		}
		if last := rows[len(rows)-1].Newest; last > newest || pruned > 0 {
			newest = last
			continue
		}
		pruned, err = r.moment(ctx, t, newest, before)
		all, failed = all+pruned, errors.Join(failed, err)
		if ends(ctx, err) {
			return 0, failed
		}
		newest++
	}
	r.p.more = r.p.more || all > 0
	return newest, failed
}

// moment prunes among rows that were all created at one moment, of which a page or more stay.
func (r *round) moment(ctx context.Context, t target, newest int64, before time.Time) (int, error) {
	rows, err := t.same(ctx, r.p.cfg.DB.Retrying(), newest, before)
	all := 0
	for page := range slices.Chunk(rows, pageRows) {
		began := time.Now()
		pruned, failed := r.page(ctx, t, page, before)
		all += pruned
		if err = errors.Join(err, failed); ends(ctx, failed) || !pause(ctx, began) {
			break
		}
	}
	return all, err
}

// ends says whether an error is one that the whole pass ends with.
func ends(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, errLost) || surreal.IsUnreachable(err)
}

// old are the rows of a page that finished long enough ago. The bound is the same in the transaction.
func old(rows []row, before time.Time) []row {
	var all []row
	for _, row := range rows {
		if row.FinishedAt != nil && !row.FinishedAt.After(before) {
			all = append(all, row)
		}
	}
	return all
}

// page prunes the rows of one page while the lease is held.
func (r *round) page(ctx context.Context, t target, rows []row, before time.Time) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	if mine, err := r.p.hold(ctx); err != nil || !mine {
		return 0, errors.Join(err, errLost)
	}
	all := 0
	var failed error
	for _, part := range parts(rows) {
		began := time.Now()
		if mine, err := r.p.keep(ctx); err != nil || !mine { // a page of large instances takes minutes
			failed = errors.Join(failed, err, errLost)
			break
		}
		n, err := t.prune(ctx, r.p.cfg.DB.Retrying(), part, before)
		all += n
		failed = errors.Join(failed, err)
		if ends(ctx, err) || !pause(ctx, began) {
			break
		}
	}
	if r.pruned += all; all > 0 {
		r.p.cfg.Pruned(t.rows(), all)
	}
	return all, failed
}

// parts are rows as they go in one transaction each: a bounded number, with a bounded number of steps.
func parts(rows []row) [][]row {
	var all [][]row
	steps := 0
	for i, row := range rows {
		if steps += row.Steps; i == 0 || steps > partSteps || len(all[len(all)-1]) == partRows {
			all = append(all, nil)
			steps = row.Steps
		}
		last := len(all) - 1
		all[last] = append(all[last], row)
	}
	return all
}

// pause rests for as long as the work took.
func pause(ctx context.Context, began time.Time) bool {
	return sleep(ctx, max(leastPause, time.Since(began)))
}

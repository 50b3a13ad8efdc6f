package outbox

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A Due is a row that has a run_at. It should be pending; see [Table.Straighten].
type Due struct {
	ID     surreal.RecordID `json:"id"`
	RunAt  time.Time        `json:"run_at"`
	Status Status           `json:"status"`
}

// Due lists the oldest rows with after < run_at <= until, oldest first.
//
// Where the jobs are parted, those that wait in a partition's queue are not among them.
func (t *Table) Due(ctx context.Context, after, until time.Time, limit int) ([]Due, error) {
	if t.Partitioned() {
		return t.dueInNoQueue(ctx, after, until, limit)
	}
	rows, err := surreal.First[[]Due](ctx, t.cfg.DB, t.due, map[string]any{"from": after.Add(1), "to": until.Add(1), "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("list due jobs of %s: %w", t.cfg.Name, err)
	}
	return rows, nil
}

// A Held is a row in processing.
type Held struct {
	ID        surreal.RecordID `json:"id"`
	Assignee  string           `json:"assignee"`
	Epoch     int64            `json:"lease_epoch"`
	Until     *time.Time       `json:"lease_until"`
	Cancelled *time.Time       `json:"cancel_requested"`
}

// Held lists rows in processing that node holds, that none of the live nodes holds, or whose lease
// has run out by now, the database's clock.
func (t *Table) Held(ctx context.Context, node string, live []string, now time.Time) ([]Held, error) {
	rows, err := surreal.First[[]Held](ctx, t.cfg.DB, t.held, map[string]any{"node": node, "live": live, "now": now})
	if err != nil {
		return nil, fmt.Errorf("list held jobs of %s: %w", t.cfg.Name, err)
	}
	return rows, nil
}

// A Reaped is a job taken away from a holder that is gone.
type Reaped struct {
	ID     surreal.RecordID `json:"id"`
	Status Status           `json:"status"`
}

// Reap takes jobs away from nodes that are gone; the database judges each anew.
func (t *Table) Reap(ctx context.Context, ids []surreal.RecordID) ([]Reaped, []Refused, error) {
	var refused []Refused
	const call = "RETURN fn::spky::job::reap($ids, $cancelled)"
	reaped, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]Reaped, error) {
		return surreal.First[[]Reaped](ctx, t.cfg.DB, call, map[string]any{"ids": part, "cancelled": string(t.cfg.Cancelled)})
	}, func(id surreal.RecordID, err error) ([]Reaped, error) {
		refused = append(refused, Refused{ID: id, Err: err})
		return nil, nil
	})
	if err != nil {
		return reaped, refused, fmt.Errorf("reap in %s: %w", t.cfg.Name, err)
	}
	return reaped, refused, nil
}

// Adopt makes pending rows due that have no run_at, up to 500 at a time, and says how many. Those
// that the table's own rules refuse stay as they are.
func (t *Table) Adopt(ctx context.Context) (int, []Refused, error) {
	type key struct {
		ID surreal.RecordID `json:"id"`
	}
	rows, err := surreal.First[[]key](ctx, t.cfg.DB, t.stray, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("list stray jobs of %s: %w", t.cfg.Name, err)
	}
	ids := make([]surreal.RecordID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var refused []Refused
	adopted, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]surreal.RecordID, error) {
		return surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.adopt, map[string]any{"ids": part})
	}, func(id surreal.RecordID, err error) ([]surreal.RecordID, error) {
		refused = append(refused, Refused{ID: id, Err: err})
		return nil, nil
	})
	return len(adopted), refused, wrap(err, "adopt stray jobs of", t.cfg.Name)
}

// Enlist gives jobs their place in lists that were written before the table had a column for it, up to
// 500 at a time, and says how many got one. Those that the table's own rules refuse stay last.
func (t *Table) Enlist(ctx context.Context) (int, error) {
	ids, err := surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.late, nil)
	if err != nil || len(ids) == 0 {
		return 0, wrap(err, "list old jobs of", t.cfg.Name)
	}
	enlisted, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]surreal.RecordID, error) {
		return surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.enlist, map[string]any{"ids": part})
	}, func(surreal.RecordID, error) ([]surreal.RecordID, error) { return nil, nil })
	return len(enlisted), wrap(err, "enlist old jobs of", t.cfg.Name)
}

// Straighten takes run_at away from rows that are not pending, and says how many it found. Nobody
// writes such a row on purpose; but a status that a field's permission takes back may have moved
// run_at along, and a row in processing that has one would not be listed as held.
func (t *Table) Straighten(ctx context.Context, ids []surreal.RecordID) (int, error) {
	straight, err := divide(ctx, ids, func(ctx context.Context, part []surreal.RecordID) ([]surreal.RecordID, error) {
		return surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.straighten, map[string]any{"ids": part})
	}, func(surreal.RecordID, error) ([]surreal.RecordID, error) {
		return nil, nil // the table's own rules refuse every write of this row
	})
	return len(straight), wrap(err, "straighten jobs of", t.cfg.Name)
}

// Touch updates a pending row without changing what it means, so that whoever listens for pending
// rows must hear of it. It answers false where the row is pending no more.
func (t *Table) Touch(ctx context.Context, id surreal.RecordID) (bool, error) {
	rows, err := surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.touch, map[string]any{"ids": []surreal.RecordID{id}})
	return len(rows) > 0, wrap(err, "touch a job of", t.cfg.Name)
}

func wrap(err error, doing, table string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, table, err)
}

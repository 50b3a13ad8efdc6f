package outbox

import (
	"context"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// A Look is one chance to claim a job: that with this ID or, where Partition is not "", the one that
// has waited longest in this partition's queue.
type Look struct {
	ID        surreal.RecordID
	Partition string
}

// An Offer is what may be claimed at once.
type Offer struct {
	// Looks in the order in which they are granted. Each claims one job at most.
	Looks []Look
	// Room is the most jobs to claim.
	Room int
	// Skip are jobs in queues that can't be claimed for now, by [surreal.FormatID].
	Skip map[string]bool
}

// A Partitioned is what came of an Offer. A look of which it says nothing found nothing to claim: a job
// is somebody else's, is not due or has been put into its partition's queue; a partition has no slot
// free or no job waiting.
type Partitioned struct {
	// Jobs that were claimed, not always those that were looked at: whoever waited longer goes first.
	Jobs []Job
	// Refused are jobs whose write the database refused.
	Refused []Refused
	// Left are looks that found something and no room, or that somebody else was ahead of.
	Left []Look
	// Again are partitions that have to be looked at once more, now: another node may have freed a slot
	// while jobs of theirs were put into the queue, more jobs wait and slots are free, or a job was refused.
	// Skip has to name that one then.
	Again []string
}

// ClaimPartitioned takes jobs for node as [Table.Claim] does, and of each partition no more than have
// slots. What was looked at and has no slot is put into its partition's queue. After an error the answer
// says what was done by then.
func (t *Table) ClaimPartitioned(ctx context.Context, node string, offer Offer) (Partitioned, error) {
	found, err := t.lookAt(ctx, offer)
	if err != nil {
		return Partitioned{}, fmt.Errorf("look at partitions of %s: %w", t.cfg.Name, err)
	}
	plan := decide(offer, found, t.cfg.PartitionConcurrency)
	got := Partitioned{Left: plan.left, Again: plan.again}
	if err := t.mend(ctx, plan.crooked); err != nil {
		return got, err
	}
	if err := t.takeSlots(ctx, node, plan.claims, &got); err != nil {
		return got, fmt.Errorf("claim in %s: %w", t.cfg.Name, err)
	}
	if err := t.enqueue(ctx, plan.queue, &got); err != nil {
		return got, fmt.Errorf("queue in partitions of %s: %w", t.cfg.Name, err)
	}
	return got, nil
}

func (t *Table) lookAt(ctx context.Context, offer Offer) (partitionsFound, error) {
	ids, keys := []surreal.RecordID{}, []string{}
	for _, look := range offer.Looks {
		if look.Partition != "" {
			keys = append(keys, look.Partition)
		} else {
			ids = append(ids, look.ID)
		}
	}
	return surreal.First[partitionsFound](ctx, t.cfg.DB, t.partition.plan, map[string]any{
		"ids": ids, "keys": keys, "limit": t.cfg.PartitionConcurrency, "heads": max(min(t.cfg.PartitionConcurrency, offer.Room), 1) + len(offer.Skip),
	})
}

// takeSlots claims what was planned. A slot that another node took meanwhile is no fault of the job.
func (t *Table) takeSlots(ctx context.Context, node string, claims []slotClaim, got *Partitioned) error {
	vars := t.claimVars(node)
	jobs, err := divide(ctx, claims, func(ctx context.Context, part []slotClaim) ([]Job, error) {
		ids, slots, keys := make([]surreal.RecordID, len(part)), make([]any, len(part)), map[string]string{}
		for i, c := range part {
			ids[i], slots[i] = c.id, surreal.None
			if c.key != "" {
				slots[i], keys[surreal.FormatID(c.id)] = c.slot, c.key
			}
		}
		vars["slots"] = slots
		jobs, err := t.claimAll(ctx, t.partition.claim, ids, vars)
		for i := range jobs {
			jobs[i].Partition = keys[surreal.FormatID(jobs[i].ID)]
		}
		return jobs, err
	}, func(c slotClaim, err error) ([]Job, error) {
		if t.slotTaken(err) || surreal.IsConflict(err) {
			got.Left = append(got.Left, c.look)
		} else {
			got.Refused = append(got.Refused, Refused{ID: c.id, Err: err})
			if c.key != "" {
				got.Again = append(got.Again, c.key) // the next of it may be better
			}
		}
		return nil, nil
	})
	got.Jobs = jobs
	return err
}

// slotTaken says whether a claim failed because a slot is another job's.
func (t *Table) slotTaken(err error) bool {
	return strings.Contains(err.Error(), "`idx_"+t.cfg.Name+"_slot` already contains")
}

// enqueue puts jobs into their partitions' queues. The slots may be free by now, and whoever freed them
// may have looked before this was written: so these partitions are looked at again.
func (t *Table) enqueue(ctx context.Context, rows []partitionRow, got *Partitioned) error {
	_, err := divide(ctx, rows, func(ctx context.Context, part []partitionRow) ([]surreal.RecordID, error) {
		ids, keys := make([]surreal.RecordID, len(part)), make([]string, len(part))
		for i, row := range part {
			ids[i], keys[i] = row.ID, row.Partition
		}
		return surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.partition.queue, map[string]any{"ids": ids, "keys": keys})
	}, func(row partitionRow, err error) ([]surreal.RecordID, error) {
		if surreal.IsConflict(err) {
			got.Left = append(got.Left, Look{ID: row.ID})
		} else {
			got.Refused = append(got.Refused, Refused{ID: row.ID, Err: err})
		}
		return nil, nil
	})
	return err
}

// mend frees slots and queues of rows that have no right to them.
func (t *Table) mend(ctx context.Context, crooked []surreal.RecordID) error {
	_, err := divide(ctx, crooked, func(ctx context.Context, part []surreal.RecordID) ([]surreal.RecordID, error) {
		return surreal.First[[]surreal.RecordID](ctx, t.cfg.DB, t.partition.mend, map[string]any{"ids": part})
	}, func(surreal.RecordID, error) ([]surreal.RecordID, error) {
		return nil, nil // the table's own rules refuse every write of this row
	})
	return wrap(err, "mend partitions of", t.cfg.Name)
}

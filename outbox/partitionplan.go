package outbox

import (
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// A partitionsFound is what the database says of the looks of an offer.
type partitionsFound struct {
	// Rows are the jobs looked at that are pending, due and in no queue.
	Rows       []partitionRow   `json:"rows"`
	Partitions []partitionState `json:"partitions"`
}

type partitionRow struct {
	ID        surreal.RecordID `json:"id"`
	RunAt     *time.Time       `json:"run_at"` // nil is due at once
	Partition string           `json:"partition"`
}

type partitionState struct {
	Key   string `json:"key"`
	Taken []struct {
		ID     surreal.RecordID `json:"id"`
		Slot   string           `json:"slot"`
		Status Status           `json:"status"`
	} `json:"taken"`
	// Heads are the first of the queue; none where no slot is free.
	Heads []struct {
		ID     surreal.RecordID `json:"id"`
		RunAt  *time.Time       `json:"run_at"`
		Status Status           `json:"status"`
		Due    bool             `json:"due"`
	} `json:"heads"`
}

// A slotClaim is a job to be claimed with the slot that it is to hold, "" for a job of no partition, and
// the look that it is due to.
type slotClaim struct {
	id        surreal.RecordID
	key, slot string
	look      Look
}

// A partitionPlan is what to do about an offer.
type partitionPlan struct {
	claims  []slotClaim
	queue   []partitionRow
	left    []Look
	again   []string
	crooked []surreal.RecordID
}

// A contest is one partition's free slots and the jobs that want one, the longest waiting first.
type contest struct {
	key    string
	slots  []string
	wanted []partitionRow
}

// decide grants looks in their order, each to the job of its partition that has waited longest.
func decide(offer Offer, found partitionsFound, limit int) partitionPlan {
	var plan partitionPlan
	contests := plan.contests(offer, found, limit)
	rows, room := map[string]partitionRow{}, offer.Room
	for _, row := range found.Rows {
		rows[surreal.FormatID(row.ID)] = row
	}
	claimed := map[string]bool{}
	for _, look := range offer.Looks {
		row := partitionRow{Partition: look.Partition}
		if look.Partition == "" {
			var ok bool
			if row, ok = rows[surreal.FormatID(look.ID)]; !ok {
				continue
			}
		}
		claim, ok := slotClaim{id: row.ID, look: look}, true
		if row.Partition != "" {
			claim, ok = contests[row.Partition].next(look, room > 0)
		}
		switch {
		case !ok:
		case room == 0:
			plan.left = append(plan.left, look)
		default:
			plan.claims, claimed[surreal.FormatID(claim.id)] = append(plan.claims, claim), true
			room--
		}
	}
	plan.rest(found, contests, claimed)
	return plan
}

// contests are the partitions by their keys. Rows that have no right to a slot or a queue are set aside.
func (plan *partitionPlan) contests(offer Offer, found partitionsFound, limit int) map[string]*contest {
	all := map[string]*contest{}
	for _, p := range found.Partitions {
		c := &contest{key: p.Key}
		taken := map[string]bool{}
		for _, holder := range p.Taken {
			taken[holder.Slot] = true
			if holder.Status != Processing {
				plan.crooked = append(plan.crooked, holder.ID)
			}
		}
		for n := 1; len(c.slots) < limit-len(p.Taken); n++ {
			if slot := fmt.Sprintf("%s#%d", p.Key, n); !taken[slot] {
				c.slots = append(c.slots, slot)
			}
		}
		for _, head := range p.Heads {
			switch {
			case head.Status != Pending:
				plan.crooked = append(plan.crooked, head.ID)
			case head.Due && !offer.Skip[surreal.FormatID(head.ID)]:
				c.wanted = append(c.wanted, partitionRow{ID: head.ID, RunAt: head.RunAt, Partition: p.Key})
			}
		}
		all[p.Key] = c
	}
	for _, row := range found.Rows {
		if c, ok := all[row.Partition]; ok {
			c.wanted = append(c.wanted, row)
		}
	}
	for _, c := range all {
		slices.SortStableFunc(c.wanted, func(a, b partitionRow) int { return a.due().Compare(b.due()) })
	}
	return all
}

func (r partitionRow) due() time.Time {
	if r.RunAt == nil {
		return time.Time{}
	}
	return *r.RunAt
}

// next is the partition's next claim; false where it has no slot or no job left. Without take it stays.
func (c *contest) next(look Look, take bool) (slotClaim, bool) {
	if c == nil || len(c.slots) == 0 || len(c.wanted) == 0 {
		return slotClaim{}, false
	}
	claim := slotClaim{id: c.wanted[0].ID, key: c.key, slot: c.slots[0], look: look}
	if take {
		c.slots, c.wanted = c.slots[1:], c.wanted[1:]
	}
	return claim, true
}

// rest finds a place for the jobs that were looked at and not claimed: in the queue where no slot is
// left, else they are looked at again.
func (plan *partitionPlan) rest(found partitionsFound, contests map[string]*contest, claimed map[string]bool) {
	for _, row := range found.Rows {
		c := contests[row.Partition]
		switch {
		case c == nil || claimed[surreal.FormatID(row.ID)]:
		case len(c.slots) == 0:
			plan.queue = append(plan.queue, row)
			plan.again = append(plan.again, row.Partition)
		case !slices.ContainsFunc(plan.left, func(l Look) bool { return l.Partition == "" && surreal.FormatID(l.ID) == surreal.FormatID(row.ID) }):
			plan.left = append(plan.left, Look{ID: row.ID})
		}
	}
	for _, c := range contests {
		if len(c.slots) > 0 && len(c.wanted) > 0 {
			plan.again = append(plan.again, c.key)
		}
	}
	slices.Sort(plan.again)
	plan.again = slices.Compact(plan.again)
}

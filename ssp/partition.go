package ssp

import (
	"context"
	"maps"
	"slices"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

const (
	// partitionLooks is how many rows and partitions one claim looks at where the table's jobs are
	// parted, however few slots are free: most may be jobs of one partition, which are then out of the way.
	partitionLooks = 128
	// sweptQueues is how many partitions in whose queues jobs wait one sweep looks at.
	sweptQueues = 200
)

// looks is how many hints to take where room jobs can be claimed, under l.mu.
func (l *lane) looks(room int) int {
	if room > 0 && l.table.Partitioned() && l.batch == claimBatch {
		return max(room, partitionLooks)
	}
	return room
}

// look puts a partition into the due queue in whose own queue jobs may wait, under l.mu. It comes after
// all that is due by now, so that partitions with long queues take turns with everybody else.
func (l *lane) look(partition string) {
	if !l.queue.has(partitionHint(partition)) {
		l.lookFrom(partition, l.node.clock.now())
	}
}

// lookFrom is look that is not to happen before from, also where one is to happen already.
func (l *lane) lookFrom(partition string, from time.Time) {
	l.queue.add(hint{key: partitionHint(partition), partition: partition, runAt: l.node.clock.now(), from: from})
}

// partitionHint is the key of a partition's hint: no id has a blank outside of its quotes.
func partitionHint(partition string) string { return "partition " + partition }

// claimPartitioned is claim for a table whose jobs are parted.
func (l *lane) claimPartitioned(ctx context.Context, hints []*hint, room int) {
	offer := outbox.Offer{Looks: make([]outbox.Look, len(hints)), Room: room, Skip: l.skip()}
	for i, h := range hints {
		offer.Looks[i] = outbox.Look{ID: h.id, Partition: h.partition}
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	got, err := l.table.ClaimPartitioned(call, l.node.cfg.ID, offer)
	l.took(got.Jobs, got.Refused)
	l.shun(got.Refused)
	l.resize(hints, err)
	left := l.leave(hints, got)
	l.land(slices.DeleteFunc(slices.Clone(hints), func(h *hint) bool { return h.partition != "" || left[h.key] }), got.Refused, err)
	if err != nil {
		l.node.noticeError(ctx, "claim", l.log, err)
	}
	l.lookAgain(hints, got, err)
}

// shun leaves refused jobs alone for a while, also those that were not looked at but waited in a queue.
func (l *lane) shun(refused []outbox.Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range refused {
		l.poison[surreal.FormatID(r.ID)] = poison{until: time.Now().Add(quarantine)}
	}
}

// skip are the jobs that are left alone for a while.
func (l *lane) skip() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgive()
	skip := make(map[string]bool, len(l.poison))
	for key := range maps.Keys(l.poison) {
		skip[key] = true
	}
	return skip
}

// leave puts rows back into the due queue that found no room, and answers which.
func (l *lane) leave(hints []*hint, got outbox.Partitioned) map[string]bool {
	left := map[string]bool{}
	for _, look := range got.Left {
		if look.Partition == "" {
			left[surreal.FormatID(look.ID)] = true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range hints {
		f, ok := l.flights[h.key]
		if !left[h.key] || !ok || f.hint != h || f.running {
			continue
		}
		l.end(h.key)
		if !l.queue.has(h.key) && !l.queue.add(*h) {
			l.more = true
		}
	}
	return left
}

// lookAgain keeps partitions for another look: those that found no room, those that a claim asks for, and
// after an error all of them.
func (l *lane) lookAgain(hints []*hint, got outbox.Partitioned, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tooSlow(err) && len(hints) == 1 && hints[0].partition != "" { // it would be the same again
		l.lookFrom(hints[0].partition, l.node.clock.now().Add(l.slow(hints[0].key)))
		return
	}
	for _, look := range got.Left {
		if look.Partition != "" {
			l.look(look.Partition)
		}
	}
	for _, partition := range got.Again {
		l.look(partition)
	}
	for _, h := range hints {
		switch {
		case h.partition == "":
		case err == nil:
			delete(l.losses, h.key)
		default:
			l.look(h.partition)
		}
	}
}

// sweepQueues looks at partitions in whose queues jobs wait, some at a time: whoever freed a slot last
// may have died before it looked.
func (l *lane) sweepQueues(ctx context.Context) error {
	if !l.table.Partitioned() {
		return nil
	}
	keys, err := l.table.Waiting(ctx, l.queueCursor, sweptQueues)
	if err != nil {
		return err
	}
	l.queueCursor = ""
	if len(keys) == sweptQueues {
		l.queueCursor = keys[len(keys)-1]
	}
	l.mu.Lock()
	for _, key := range keys {
		l.look(key)
	}
	l.mu.Unlock()
	l.poke()
	return nil
}

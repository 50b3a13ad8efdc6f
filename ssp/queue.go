package ssp

import (
	"container/heap"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// queueCap bounds a lane's due queue. What does not fit is found again in the database.
const queueCap = 4096

// A hint says that a row may be due at a time; by the database's clock.
type hint struct {
	id  surreal.RecordID
	key string // the id as text
	// partition is set where this is no row but a partition in whose queue jobs wait: its key, and id is none.
	partition string
	runAt     time.Time
	// from is when this node may claim it: runAt, or later where another node comes first.
	from time.Time
	// looked marks a hint that has had its second look.
	looked bool
	index  int
}

// A dueQueue holds hints, earliest first, each row once. It is not safe for concurrent use.
type dueQueue struct {
	heap  hintHeap
	byKey map[string]*hint
}

func newDueQueue() *dueQueue { return &dueQueue{byKey: map[string]*hint{}} }

func (q *dueQueue) len() int { return len(q.heap) }

// add puts a hint in, or moves the row's present one. It answers false where there is no room.
func (q *dueQueue) add(h hint) bool {
	if have, ok := q.byKey[h.key]; ok {
		have.runAt, have.from = h.runAt, h.from
		heap.Fix(&q.heap, have.index)
		return true
	}
	if len(q.heap) >= queueCap {
		return false
	}
	q.byKey[h.key] = &h
	heap.Push(&q.heap, &h)
	return true
}

func (q *dueQueue) has(key string) bool {
	_, ok := q.byKey[key]
	return ok
}

func (q *dueQueue) remove(key string) {
	if h, ok := q.byKey[key]; ok {
		heap.Remove(&q.heap, h.index)
		delete(q.byKey, key)
	}
}

// take removes up to n hints that may be claimed at now.
func (q *dueQueue) take(now time.Time, n int) []*hint {
	var taken []*hint
	for len(taken) < n && len(q.heap) > 0 && !q.heap[0].from.After(now) {
		h := heap.Pop(&q.heap).(*hint) //nolint:forcetypeassert // only hints are pushed
		delete(q.byKey, h.key)
		taken = append(taken, h)
	}
	return taken
}

// next is when the earliest hint may be claimed; false without any.
func (q *dueQueue) next() (time.Time, bool) {
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].from, true
}

// due counts the rows that are due at now, and says since when the first of them has been.
func (q *dueQueue) due(now time.Time) (n int, oldest time.Time) {
	for _, h := range q.heap {
		if h.partition != "" || h.runAt.After(now) {
			continue
		}
		if n++; n == 1 || h.runAt.Before(oldest) {
			oldest = h.runAt
		}
	}
	return n, oldest
}

type hintHeap []*hint

func (h hintHeap) Len() int           { return len(h) }
func (h hintHeap) Less(i, j int) bool { return h[i].from.Before(h[j].from) }
func (h hintHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }

func (h *hintHeap) Push(x any) {
	one := x.(*hint) //nolint:forcetypeassert // only hints are pushed
	one.index = len(*h)
	*h = append(*h, one)
}

func (h *hintHeap) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return one
}

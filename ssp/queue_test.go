package ssp

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTheDueQueueIsASortedSet compares the queue with a plain map under random use.
func TestTheDueQueueIsASortedSet(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		q, model := newDueQueue(), map[string]time.Time{}
		key := func() string { return fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "key")) }
		moment := func() time.Time {
			return start.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "second")) * time.Second)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k, at := key(), moment()
				if !q.add(hint{key: k, runAt: at, from: at}) {
					t.Fatal("there is no room")
				}
				model[k] = at
			},
			"remove": func(*rapid.T) {
				k := key()
				q.remove(k)
				delete(model, k)
			},
			"take": func(t *rapid.T) {
				now, n := moment(), rapid.IntRange(0, 5).Draw(t, "n")
				due := 0
				for _, at := range model {
					if !at.After(now) {
						due++
					}
				}
				taken := q.take(now, n)
				if len(taken) != min(n, due) {
					t.Fatalf("took %d, want %d", len(taken), min(n, due))
				}
				if !slices.IsSortedFunc(taken, func(a, b *hint) int { return a.from.Compare(b.from) }) {
					t.Fatalf("took %v, not the earliest first", taken)
				}
				for _, h := range taken {
					delete(model, h.key)
				}
			},
			"": func(t *rapid.T) {
				earliest, some := time.Time{}, false
				for k, at := range model {
					if !q.has(k) {
						t.Fatalf("%s is missing", k)
					}
					if !some || at.Before(earliest) {
						earliest, some = at, true
					}
				}
				if at, ok := q.next(); ok != some || !at.Equal(earliest) || q.len() != len(model) {
					t.Fatalf("next is %v %t of %d, want %v %t of %d", at, ok, q.len(), earliest, some, len(model))
				}
			},
		})
	})
}

func TestTheDueQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := newDueQueue()
	at := time.Unix(1, 0)
	for i := range queueCap {
		if !q.add(hint{key: fmt.Sprint(i), from: at}) {
			t.Fatalf("no room for the hint %d", i)
		}
	}
	if q.add(hint{key: "one more", from: at}) || q.len() != queueCap {
		t.Errorf("the queue took more than %d", queueCap)
	}
	if !q.add(hint{key: "7", from: at.Add(-time.Second)}) {
		t.Error("a known row could not be moved in a full queue")
	}
	if taken := q.take(at, 1); len(taken) != 1 || taken[0].key != "7" {
		t.Errorf("took %+v, want the moved one first", taken)
	}
}

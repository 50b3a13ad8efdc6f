package ssp

import (
	"fmt"
	"testing"
	"time"
)

// TestEachJobHasOneFirstNode checks that all nodes agree, and that they share evenly.
func TestEachJobHasOneFirstNode(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 3, 7} {
		nodes := make([]string, size)
		for i := range nodes {
			nodes[i] = fmt.Sprintf("ssp-%d", i)
		}
		const jobs = 20_000
		share, now := map[string]int{}, time.Unix(1000, 0)
		for i := range jobs {
			key := fmt.Sprintf("job:%d", i)
			firsts := 0
			for _, self := range nodes {
				p := peers{self: self}
				p.set(nodes)
				if at := p.turn(key, now, now); at.Equal(now) {
					firsts++
					share[self]++
				} else if wait := at.Sub(now); wait < courtesy || wait >= courtesy+courtesyJitter {
					t.Fatalf("%s waits %v for another's turn", self, wait)
				}
			}
			if firsts != 1 {
				t.Fatalf("%s is the turn of %d nodes", key, firsts)
			}
		}
		for _, node := range nodes {
			if got := share[node] * size; got < jobs*9/10 || got > jobs*11/10 {
				t.Errorf("of %d nodes, %s comes first for %d of %d jobs", size, node, share[node], jobs)
			}
		}
	}
}

// TestALostNodeMovesOnlyItsOwnJobs is what rendezvous hashing is for.
func TestALostNodeMovesOnlyItsOwnJobs(t *testing.T) {
	t.Parallel()
	all, left := []string{"a", "b", "c", "d"}, []string{"a", "b", "d"}
	for i := range 5000 {
		key := fmt.Sprintf("job:%d", i)
		before, after := first(all, key), first(left, key)
		if before != "c" && before != after {
			t.Fatalf("%s moved from %s to %s although only c is gone", key, before, after)
		}
	}
}

func TestANodeAloneWaitsForNobody(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, live := range [][]string{nil, {"a"}, {"b"}} {
		p := peers{self: "a"}
		p.set(live)
		if at := p.turn("job:1", now, now); !at.Equal(now) {
			t.Errorf("with the nodes %v it waits %v", live, at.Sub(now))
		}
	}
}

// TestTheHeadStartBeginsNowForWhatIsOverdue keeps a backlog from being everybody's at once.
func TestTheHeadStartBeginsNowForWhatIsOverdue(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, runAt := range []time.Time{now.Add(-time.Hour), now.Add(time.Hour)} {
		for i := range 100 {
			p := peers{self: "a"}
			p.set([]string{"a", "b"})
			at := p.turn(fmt.Sprint(i), runAt, now)
			if earliest := latest(runAt, now).Add(courtesy); !at.Equal(runAt) && at.Before(earliest) {
				t.Fatalf("due %v from now, it may be claimed %v from now", runAt.Sub(now), at.Sub(now))
			}
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

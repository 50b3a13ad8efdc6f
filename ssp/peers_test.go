package ssp

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
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
				p.set(nodes, taking(nodes...))
				if at := p.turn("job", key, now, now); at.Equal(now) {
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

// taking are nodes that all take jobs from the table job.
func taking(nodes ...string) []taker {
	var all []taker
	for _, node := range nodes {
		all = append(all, taker{Node: node, Tables: []string{"job"}})
	}
	return all
}

// TestOnlyNodesOfTheTableHaveATurn: nobody gives a head start to a node that takes no jobs from the table.
func TestOnlyNodesOfTheTableHaveATurn(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := peers{self: "a"}
	p.set([]string{"a", "b", "c"}, append(taking("a"), taker{Node: "b", Tables: []string{"mail"}}, taker{Node: "c"}))
	for i := range 100 {
		if at := p.turn("job", fmt.Sprint(i), now, now); !at.Equal(now) {
			t.Fatalf("job %d waits %v for a node of another table", i, at.Sub(now))
		}
	}
}

// TestNodesKnowWhoTakesJobsFromATable has nodes of other backends, and some that make no requests at present.
func TestNodesKnowWhoTakesJobsFromATable(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.outbox("other")
	up := serve(t, nil)
	mail := up.backend(func(b *config.Backend) { b.Name, b.Table = "mail", "other" })
	n, same, different := r.start(up.backends()), r.start(up.backends()), r.start([]config.Backend{mail})
	for node, backend := range map[string]map[string]any{"open": {"circuit": "open"}, "refused": {"circuit": "closed", "refused": "no"}, "draining": {"circuit": "closed"}} {
		backend["name"], backend["table"] = "api", "job"
		r.exec("RETURN fn::spky::node::beat($row)", map[string]any{"row": map[string]any{
			"node": node, "host": "h", "pid": 1, "version": "v", "draining": node == "draining", "backends": []any{backend},
		}})
	}
	know := func(what string, want map[string][]string) {
		t.Helper()
		r.eventually(what, func() bool {
			if err := n.beat(r.ctx); err != nil {
				t.Fatal(err)
			}
			n.peers.mu.Lock()
			defer n.peers.mu.Unlock()
			return reflect.DeepEqual(n.peers.takers, want)
		})
	}
	know("those of the table that make requests", map[string][]string{"job": {same.ID()}, "other": {different.ID()}})
	same.stop()
	know("one that stops is told at once", map[string][]string{"other": {different.ID()}})
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
	for _, live := range [][]string{nil, {"a"}} {
		p := peers{self: "a"}
		p.set(live, taking(live...))
		if at := p.turn("job", "job:1", now, now); !at.Equal(now) {
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
			p.set([]string{"a", "b"}, taking("a", "b"))
			at := p.turn("job", fmt.Sprint(i), runAt, now)
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

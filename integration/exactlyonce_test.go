package integration_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestThreeNodesRunEachJobOnce: while nothing crashes, each of 2,000 jobs is requested once, whoever
// of three nodes takes it, and each node takes its part.
func TestThreeNodesRunEachJobOnce(t *testing.T) {
	t.Parallel()
	const jobs, writers = 2000, 4
	db, b := fresh(t), newBackend(t, nil)
	names := []string{"n1", "n2", "n3"}
	nodes := make([]*node, len(names))
	for i, name := range names {
		nodes[i] = begin(t, name, db.cfg, b.config())
	}
	for _, n := range nodes {
		n.works()
	}
	var writing errgroup.Group
	for w := range writers {
		writing.Go(func() error { return db.insert(fmt.Sprintf("w%d", w), jobs/writers) })
	}
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	db.settled(jobs)
	share := map[string]int{}
	for job, calls := range b.byJob() {
		if len(calls) != 1 || calls[0].Attempt != 1 {
			t.Errorf("%s was requested %d times, the last as attempt %d", job, len(calls), calls[len(calls)-1].Attempt)
		}
		share[calls[0].Node]++
	}
	for _, name := range names {
		if share[name] < jobs/len(names)/4 {
			t.Errorf("node %s ran %d of %d jobs; the work is not spread: %v", name, share[name], jobs, share)
		}
	}
	for _, r := range db.jobs("") {
		if r.Retries != 0 || len(r.Errors) != 0 || r.Assignee != nil || r.Until != nil || r.RunAt != nil {
			t.Errorf("a job that ran smoothly is stored as %+v", r)
		}
		if result, ok := r.Result.(map[string]any); !ok || result["job"] != r.key() {
			t.Errorf("%s has the result of another: %v", r.key(), r.Result)
		}
	}
	for _, n := range nodes {
		if lost := n.metric(`spky_leases_lost_total{backend="api"}`); lost != 0 {
			t.Errorf("node %s lost %v leases although nothing crashed", n.ID(), lost)
		}
	}
}

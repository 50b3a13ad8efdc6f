package dag_test

import (
	"fmt"
	"sync"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/dag"
)

func TestJobsTellTheirRun(t *testing.T) {
	t.Parallel()
	for key, want := range map[any]string{
		"wf_nightly-20260301T020000Z_fetch": "nightly-20260301T020000Z", "wf_r_a_b_r1": "r", "wf_r_": "r",
		"wf_nightly": "", "wf__x": "", "wf_": "", "x_wf_r_a": "", "": "", int64(7): "", nil: "",
	} {
		if run, ok := dag.RunOf(key); run != want || ok != (want != "") {
			t.Errorf("%v is of run %q, %v", key, run, ok)
		}
	}
}

// TestTheLastOfManyMakesTheJob has the jobs end at the same moment that a step waits for, each on a node of its own,
// which goes on with the run once: no sweep is needed, and there is one job. Then many end the run.
func TestTheLastOfManyMakesTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const many = 8
	var steps []config.DAGStep
	var roots []string
	for i := range many {
		roots = append(roots, fmt.Sprint("root", i))
		steps = append(steps, config.DAGStep{Name: roots[i], Backend: "api", Route: "/x"})
	}
	steps = append(steps, config.DAGStep{Name: "join", Backend: "mail", Route: "/x", DependsOn: roots})
	run, err := r.start(config.DAG{Name: "d", OnFailure: "halt", Concurrency: "skip", Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan dag.Forward, 2*many)
	each := func(do func(step int) error) state {
		t.Helper()
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				got, err := dag.Forward{}, do(i)
				if err == nil {
					got, err = r.store.Advance(r.ctx, run)
				}
				if err != nil {
					t.Error(err)
				}
				if got.Ended != "" {
					ended <- got
				}
			})
		}
		all.Wait()
		got, err := r.state(run)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := each(func(int) error { return nil })
	if got.Jobs != many || len(ended) > 0 {
		t.Fatalf("at first %+v", got)
	}
	begun := got
	got = each(func(i int) error { return r.end(*begun.Steps[i].Job, "success") })
	join := got.Steps[many]
	if got.Jobs != many+1 || got.Done != many || join.Status != "dispatched" || len(ended) > 0 {
		t.Fatalf("with all roots over %+v", got)
	}
	if err := r.end(*join.Job, "failed"); err != nil {
		t.Fatal(err)
	}
	if got = each(func(int) error { return nil }); got.Status != "failed" || len(ended) != 1 {
		t.Errorf("%+v, %d noted the end", got, len(ended))
	}
	if end := <-ended; end.Ended != "failed" || end.Workflow != "d" {
		t.Errorf("%+v", end)
	}
}

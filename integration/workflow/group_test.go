package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// A postman lets commits pile up behind the first ones, and notes how many travelled in each call.
type postman struct {
	surreal.Querier
	open chan struct{}
	// refuse makes each call fail that carries a commit of this instance.
	refuse string

	mu      sync.Mutex
	waiting int
	sizes   []int
}

func (p *postman) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	ops, _ := vars["commits"].([]map[string]any) // alone, or beside calls of other kinds
	if len(ops) == 0 {
		return p.Querier.Query(ctx, surql, vars)
	}
	p.mu.Lock()
	p.waiting++
	p.sizes = append(p.sizes, len(ops))
	p.mu.Unlock()
	<-p.open
	for _, op := range ops {
		if id, ok := op["instance"].(surreal.RecordID); ok && id.ID == p.refuse {
			return nil, errors.New("the database can't take this")
		}
	}
	return p.Querier.Query(ctx, surql, vars)
}

// TestGroupedCommits: commits of many instances travel together, and each has its own fate. One whose
// instance was taken away meanwhile, and one that the database refuses, take no other down.
func TestGroupedCommits(t *testing.T) {
	t.Parallel()
	const n = 30
	r := newDatabase(t)
	post := &postman{Querier: r.DB.Retrying(), open: make(chan struct{}), refuse: "i3"}
	engine := r.newEngine(wf.Config{DB: post})
	var begun sync.WaitGroup
	begun.Add(n)
	flow := wf.Register(engine, "GROUP", func(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
		v, err := wf.Do(ctx, s, "a", func(context.Context) (int, error) { begun.Done(); begun.Wait(); return ev.Payload, nil })
		if err != nil {
			return 0, err
		}
		return wf.Do(ctx, s, "b", func(context.Context) (int, error) { return v * 2, nil })
	})
	handler := engine.Handler(http.NotFoundHandler())
	answers := make([]reply, n)
	instances := make([]*wf.Instance, n)
	var runs sync.WaitGroup
	for k := range n {
		i, err := flow.Create(t.Context(), k, wf.ID(fmt.Sprintf("i%d", k)))
		check(t, err)
		instances[k] = i
		runs.Go(func() { answers[k] = r.run(handler, "GROUP", i.ID()) })
	}
	begun.Wait()
	r.Poll("a call is under way that holds the others up no more", func() (bool, any) {
		post.mu.Lock()
		defer post.mu.Unlock()
		return post.waiting >= 2, post.sizes
	})
	// All others travel in the second, or wait; each kind of loss happens to one of them.
	check(t, instances[5].Terminate(t.Context()))
	check(t, instances[6].Restart(t.Context()))
	r.lapse("i7")
	check(t, instances[7].Pause(t.Context()))
	close(post.open)
	runs.Wait()
	lost := map[int]string{3: "errored", 5: "terminated", 6: "queued", 7: "paused"}
	for k, i := range instances {
		row := r.Instance(i.ID())
		if status, ok := lost[k]; ok {
			if want := map[bool]string{true: "errored", false: "lost"}[k == 3]; answers[k].State != want || row.Status != status || row.StepsDone != 0 || r.stepsDone(i.ID()) != 0 {
				t.Errorf("instance %d: %+v, %s after %d steps", k, answers[k], row.Status, row.StepsDone)
			}
			continue
		}
		if answers[k].State != "complete" || fmt.Sprint(row.Output) != fmt.Sprint(2*k) || row.StepsDone != 2 {
			t.Errorf("instance %d: %+v, %s with %v", k, answers[k], row.Status, row.Output)
		}
		r.Consistent(i.ID())
	}
	if e := r.Instance("i3").Error; e == nil || e.Name != "WorkflowFatalError" {
		t.Errorf("the refused instance has the error %+v", e)
	}
	together := 0
	for _, size := range post.sizes {
		if size > 1 {
			together += size
		}
	}
	if together < n-1 {
		t.Errorf("the calls carried %v commits", post.sizes)
	}
}

// stepsDone counts the rows of an instance's steps that are done.
func (r *rig) stepsDone(id string) int {
	done := 0
	for _, s := range r.Steps(id) {
		if s.Status == "complete" || s.Status == "errored" {
			done++
		}
	}
	return done
}

package admin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/wf"
)

// TestTerminateReachesStepsWhicheverNodeRunsThem terminates instances that two nodes run, through a
// connection that is neither's. The next sweep is an hour away, and a run's own heartbeat 5 s.
func TestTerminateReachesStepsWhicheverNodeRunsThem(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	began, ended := make(chan string, 10), make(chan string, 10)
	at := r.engine(wf.Config{}, func(e *wf.Engine) {
		wf.Register(e, "ALPHA", func(ctx context.Context, ev wf.Event[any], step *wf.Step) (int, error) {
			return wf.Do(ctx, step, "long", func(ctx context.Context) (int, error) {
				began <- ev.InstanceID
				<-ctx.Done()
				ended <- ev.InstanceID
				return 0, ctx.Err()
			})
		})
	})
	rarely := func(c *ssp.Config) { c.SweepInterval = time.Hour }
	r.node(backend(at), rarely)
	r.node(backend(at), rarely)
	const all = 8 // as many as both have slots
	for i := range all {
		r.create(NewInstance{Binding: "ALPHA", ID: fmt.Sprint("i", i)})
	}
	for range all {
		<-began
	}
	if got := r.json("RETURN array::len(array::distinct(SELECT VALUE assignee FROM job))", nil); got != "2" {
		t.Fatalf("the jobs are held by %s nodes", got)
	}
	slowest := time.Duration(0)
	for i := range all {
		asked := time.Now()
		id := fmt.Sprint("i", i)
		_, err := r.durable.Terminate(r.ctx, id)
		r.check(err)
		select {
		case got := <-ended:
			if got != id {
				t.Fatalf("%s was terminated, and the step of %s ended", id, got)
			}
		case <-r.ctx.Done():
			t.Fatalf("the step of %s goes on", id)
		}
		slowest = max(slowest, time.Since(asked))
		r.explains(id, "terminated")
	}
	t.Log("slowest:", slowest)
	if slowest > 4*time.Second {
		t.Error("a run's own heartbeat noticed, and no signal")
	}
}

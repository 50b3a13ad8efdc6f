//go:build unix

package workflow_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"

	"sp00ky.cloud/spky/wf"
)

// children is a backend of child processes, of which each follows the one that died.
type children struct {
	*rig
	mu     sync.Mutex
	now    *child
	deaths int
}

func (c *children) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock() // one run at a time is enough here
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: c.now.address})
	proxy.ErrorHandler = func(w http.ResponseWriter, req *http.Request, _ error) {
		<-c.now.ended
		c.deaths++
		c.now = c.spawn(true)
		c.Pass(req.Header.Get("Spky-Job-Id"))
		w.WriteHeader(http.StatusBadGateway)
	}
	proxy.ServeHTTP(w, req)
}

// TestKilledProcesses runs a workflow in processes that die with SIGKILL after each step they have
// stored: each function is called once, each step stored once, and the instance completes.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE call", nil)
	c := &children{rig: r, now: r.spawn(true)}
	r.StartNode(r.Serve(c))
	flow := wf.Register(r.newEngine(wf.Config{}), "CHILD", childWorkflow(r.DB, nil, nil))
	i, err := flow.Create(t.Context(), childParams{})
	check(t, err)
	check(t, i.SendEvent(t.Context(), "more", 4))
	report := r.untilStatus(i, wf.Complete)
	var sum int
	check(t, report.Output(&sum))
	if sum != 10 || report.StepsDone != 6 {
		t.Errorf("the output is %d after %d steps", sum, report.StepsDone)
	}
	r.calledOnce(i.ID(), 1, 2, 3, 4)
	r.Consistent(i.ID())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaths != 6 {
		t.Errorf("%d processes died, want one for each step", c.deaths)
	}
}

// calledOnce checks how often the functions of CHILD were called.
func (r *rig) calledOnce(id string, numbers ...int) {
	r.t.Helper()
	want, got := map[int]int{}, map[int]int{}
	for _, n := range numbers {
		want[n] = 1
	}
	for _, n := range read[[]int](r, "SELECT VALUE n FROM call WHERE instance = $id", map[string]any{"id": id}) {
		got[n]++
	}
	if !maps.Equal(got, want) {
		r.t.Errorf("the functions were called as %v", got)
	}
}

// TestFrozenProcessWritesNothing: a process is stopped with SIGSTOP in a step until its lease has run
// out and another has taken the instance over. When it goes on, its step's function returns, and
// nothing is written: no step, status, output, wake time, job or event. It still serves other runs.
func TestFrozenProcessWritesNothing(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE call", nil)
	frozen := r.spawn(false)
	other := r.newEngine(wf.Config{})
	free := make(chan string)
	close(free)
	flow := wf.Register(other, "CHILD", childWorkflow(r.DB, func(string) {}, free))
	handler := other.Handler(http.NotFoundHandler())
	i, err := flow.Create(t.Context(), childParams{Held: true})
	check(t, err)
	answers := make(chan reply, 1)
	job := r.Instance(i.ID()).Job
	go func() { answers <- r.ask(frozen.address, "CHILD", i.ID(), job) }()
	if word := frozen.word(); word != "held" {
		t.Fatalf("the child says %q", word)
	}
	frozen.signal(syscall.SIGSTOP)
	r.lapse(i.ID())
	r.Poll("the other run waits", func() (bool, any) {
		got := r.run(handler, "CHILD", i.ID())
		return r.Instance(i.ID()).WaitingFor["kind"] == "event", got
	})
	check(t, i.SendEvent(context.Background(), "other", 1))
	was := r.snapshot()
	frozen.say("go on")
	frozen.signal(syscall.SIGCONT)
	if got := <-answers; got.State != "lost" {
		t.Errorf("the frozen run answers %+v", got)
	}
	r.unchanged("the frozen run", was)
	check(t, i.SendEvent(context.Background(), "more", 4))
	if got := r.ask(frozen.address, "CHILD", i.ID(), r.Instance(i.ID()).Job); got.State != "complete" {
		t.Errorf("the next run in the process that was frozen answers %+v", got)
	}
	r.Consistent(i.ID())
}

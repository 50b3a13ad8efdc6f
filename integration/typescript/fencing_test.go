//go:build unix

package typescript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// An answer is what a backend says to a request for a run.
type answer struct {
	Status int
	Retry  string
	State  string `json:"state"`
	Code   string `json:"code"`
}

// ask asks a process for a run of an instance, for its present job.
func (r *rig) ask(b *backend, binding, id string) answer {
	r.t.Helper()
	return r.askFor(b, binding, id, surreal.FormatID(r.Instance(id).Job))
}

func (r *rig) askFor(b *backend, binding, id, job string) answer {
	r.t.Helper()
	body, err := json.Marshal(map[string]string{"instance": id})
	check(r.t, err)
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, b.base+"/__spky/workflow/"+binding, bytes.NewReader(body))
	check(r.t, err)
	req.Header.Set("Spky-Job-Id", url.PathEscape(job))
	req.Header.Set("Spky-Timeout-Ms", "60000")
	resp, err := http.DefaultClient.Do(req)
	check(r.t, err)
	defer resp.Body.Close()
	got := answer{Status: resp.StatusCode, Retry: resp.Header.Get("Spky-Retry")}
	check(r.t, json.NewDecoder(resp.Body).Decode(&got))
	return got
}

// watched are processes that report to the test, as those of the conformance table do.
func (r *rig) watched(binding string) (*stage, map[string]string) {
	reported := &reports{stages: map[string]*stage{}, path: filepath.Join(r.t.TempDir(), "reports")}
	s := newStage(conformance{ID: binding}, reported)
	reported.stages[binding] = s
	check(r.t, os.WriteFile(reported.path, nil, 0o600))
	return s, map[string]string{"STAGE_URL": r.Serve(reported), "STAGE_LOG": reported.path}
}

// createIn makes an instance with the handle of a process.
func (r *rig) createIn(b *backend, binding string) (id string) {
	r.t.Helper()
	d := &director{rig: r, control: b, stage: &stage{binding: binding}}
	refused, err := d.ask(map[string]any{"create": map[string]any{}}, &id)
	if err != nil || refused != "" {
		r.t.Fatalf("create: %s %v", refused, err)
	}
	return id
}

// snapshot is all that a run may write.
func (r *rig) snapshot() string {
	r.t.Helper()
	var all strings.Builder
	for _, table := range []string{"_00_wf_instance", "_00_wf_step", "_00_wf_event", r.Table} {
		data, err := surreal.ToJSON(read[any](r, "SELECT * FROM type::table($table) ORDER BY id", map[string]any{"table": table}))
		check(r.t, err)
		all.Write(data)
	}
	return all.String()
}

// TestFrozenProcessWritesNothing: a process is stopped in a step until its lease has run out and another has taken the
// instance over. When it goes on, its step's function returns, and nothing is written.
func TestFrozenProcessWritesNothing(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	s, env := r.watched("HELD")
	frozen := r.spawn("build/features/main.js", env)
	quick := maps.Clone(env)
	quick["QUICK"] = "1"
	other := r.spawn("build/features/main.js", quick)
	id := r.createIn(other, "HELD")
	late := make(chan answer, 1)
	go func() { late <- r.ask(frozen, "HELD", id) }()
	r.Poll("the step runs", func() (bool, any) {
		row := r.Steps(id)["do held #1"]
		return row.Status == "running" && len(s.attempts()["held"]) == 1, row
	})
	frozen.signal(syscall.SIGSTOP)
	check(t, surreal.Exec(t.Context(), r.DB.Retrying(), "UPDATE $id SET lease_until = time::now() - 1s", map[string]any{"id": instanceKey(id)}))
	if got := r.ask(other, "HELD", id); got.State != "suspended" {
		t.Fatalf("the other run answers %+v", got)
	}
	was := r.snapshot()
	close(s.latch("held"))
	frozen.signal(syscall.SIGCONT)
	if got := <-late; got.State != "lost" || got.Status != http.StatusOK {
		t.Errorf("the frozen run answers %+v", got)
	}
	if now := r.snapshot(); now != was {
		t.Errorf("the frozen run wrote: it was\n%s\nand is\n%s", was, now)
	}
	if attempts := r.Steps(id)["do held #1"].Attempts; len(attempts) != 2 || attempts[0].Error == nil || attempts[0].Error.Name != "AttemptLostError" {
		t.Errorf("the attempts are %+v", attempts)
	}
	r.Consistent(id)
}

// TestOneRunAtATime: of two requests at the same moment, in two processes, one executes and the other is told to come back.
func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	s, env := r.watched("HELD")
	processes := []*backend{r.spawn("build/features/main.js", env), r.spawn("build/features/main.js", env)}
	id := r.createIn(processes[0], "HELD")
	answers := make(chan answer, 2)
	for _, b := range processes {
		go func() { answers <- r.ask(b, "HELD", id) }()
	}
	busy := <-answers
	if busy.Status != http.StatusServiceUnavailable || busy.Retry != "busy" || busy.Code != "busy" {
		t.Errorf("the second run answers %+v", busy)
	}
	r.Poll("the function is called", func() (bool, any) { return len(s.attempts()["held"]) > 0, s.attempts() })
	close(s.latch("held"))
	if got := <-answers; got.State != "suspended" {
		t.Errorf("the first run answers %+v", got)
	}
	if saw := s.attempts()["held"]; !slices.Equal(saw, []int{1}) {
		t.Errorf("the function was called as %v", saw)
	}
	if got := r.askFor(processes[0], "HELD", "nobody-"+id, "job:none"); got.Status != http.StatusNotFound || got.Code != "unknown_instance" {
		t.Errorf("a run of an unknown instance answers %+v", got)
	}
}

// TestLostConnections: a run outlives the loss of its connection to the database, in each of the ways in which
// connections get lost; what it has done is not done again.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	build(t)
	for name, lose := range map[string]func(*faultproxy.Proxy){
		"reset":     (*faultproxy.Proxy).Reset,
		"closed":    (*faultproxy.Proxy).Fin,
		"half":      (*faultproxy.Proxy).HalfClose,
		"blackhole": func(p *faultproxy.Proxy) { p.Blackhole(true); time.AfterFunc(time.Second, p.Restore) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			target, err := url.Parse(r.Target.Endpoint)
			check(t, err)
			proxy, err := faultproxy.Listen(target.Host)
			check(t, err)
			t.Cleanup(func() { check(t, proxy.Close()) })
			s, env := r.watched("LONG")
			env["SPKY_DB_URL"] = "ws://" + proxy.Addr()
			proxy.Delay(20 * time.Millisecond)
			b := r.spawn("build/features/main.js", env)
			id := r.createIn(b, "LONG")
			ended := make(chan answer, 1)
			go func() { ended <- r.ask(b, "LONG", id) }()
			for _, middle := range []int{10, 15, 20, 25} { // some of them hit a call under way
				r.Poll("the run is in its middle", func() (bool, any) {
					row := r.Instance(id)
					return row.StepsDone >= middle, row
				})
				lose(proxy)
			}
			if got := <-ended; got.State != "complete" {
				t.Errorf("the run answers %+v", got)
			}
			row := r.untilStatus(id, "complete")
			if row.Output != uint64(780) || row.StepsDone != 40 || row.Runs != 1 {
				t.Errorf("the output is %v after %d steps in %d runs", row.Output, row.StepsDone, row.Runs)
			}
			for key, attempts := range s.attempts() {
				if !slices.Equal(attempts, []int{1}) {
					t.Errorf("%s was called as %v", key, attempts)
				}
			}
			r.Consistent(id)
		})
	}
}

// TestEventsAndDeadlines: while nothing runs, an event is sent before a deadline that then passes, and another after one
// that has passed. The first wins, the second does not.
func TestEventsAndDeadlines(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	b := r.spawn("build/features/main.js", nil)
	d := &director{rig: r, control: b, stage: &stage{binding: "DEADLINE"}}
	send := func(id string) {
		if refused, err := d.ask(map[string]any{"send": "go", "id": id, "payload": "event"}, nil); err != nil || refused != "" {
			t.Fatalf("send: %s %v", refused, err)
		}
	}
	early, late := r.createIn(b, "DEADLINE"), r.createIn(b, "DEADLINE")
	for _, id := range []string{early, late} {
		if got := r.ask(b, "DEADLINE", id); got.State != "suspended" {
			t.Fatalf("the first run answers %+v", got)
		}
	}
	if at := r.Instance(early).WakeAt; at == nil || at.Before(read[time.Time](r, "RETURN time::now()", nil)) {
		t.Skipf("this machine is too slow: the deadline %v has passed before the event is sent", at)
	}
	send(early)
	for _, id := range []string{early, late} {
		r.Poll("the deadline passes", func() (bool, any) {
			s := r.Steps(id)["waitForEvent w #1"]
			return read[bool](r, "RETURN time::now() > $at", map[string]any{"at": *s.WakeAt}), s
		})
	}
	send(late)
	for id, want := range map[string]string{early: "event", late: "WorkflowTimeoutError"} {
		if got := r.ask(b, "DEADLINE", id); got.State != "complete" {
			t.Errorf("the second run answers %+v", got)
		}
		if row := r.Instance(id); row.Output != want {
			t.Errorf("the wait came to %v, want %s", row.Output, want)
		}
		r.Consistent(id)
	}
}

// TestManyEventsAtOnce: senders that conflict with each other are all heard.
func TestManyEventsAtOnce(t *testing.T) {
	t.Parallel()
	build(t)
	const senders = 90
	r := newRig(t)
	processes := []*backend{r.spawn("build/features/main.js", nil), r.spawn("build/features/main.js", nil), r.spawn("build/features/main.js", nil)}
	id := r.createIn(processes[0], "DEADLINE")
	came := make(chan string, senders)
	for n := range senders {
		d := &director{rig: r, control: processes[n%len(processes)], stage: &stage{binding: "DEADLINE"}}
		go func() {
			refused, err := d.ask(map[string]any{"send": "more", "id": id, "payload": n}, nil)
			came <- fmt.Sprint(refused, err)
		}()
	}
	for range senders {
		if got := <-came; got != "<nil>" {
			t.Errorf("a sender is told %s", got)
		}
	}
	if events := r.Events(id); len(events) != senders {
		t.Errorf("%d events were kept of %d", len(events), senders)
	}
}

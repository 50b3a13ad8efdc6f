package dag_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/config"
)

// A model is what a run has to look like, worked out without a database.
type model struct {
	d        config.DAG
	status   map[string]string // of steps
	jobs     int
	stopping bool
}

func newModel(d config.DAG) *model {
	m := &model{d: d, status: map[string]string{}}
	for _, s := range d.Steps {
		m.status[s.Name] = "blocked"
	}
	m.settle()
	return m
}

// all says whether all steps of a list are in a state; any whether one is, or one that it depends on.
func (m *model) all(names []string, status string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return m.status[n] != status })
}

func (m *model) failedBefore(name string) bool {
	for _, s := range m.d.Steps {
		if s.Name == name {
			return slices.ContainsFunc(s.DependsOn, func(dep string) bool { return m.status[dep] == "failed" || m.failedBefore(dep) })
		}
	}
	return false
}

// settle lets begin what may, and skips what never will.
func (m *model) settle() {
	failed := slices.Contains(slices.Collect(maps.Values(m.status)), "failed")
	for _, s := range m.d.Steps {
		if m.status[s.Name] != "blocked" {
			continue
		}
		switch {
		case m.stopping, failed && m.d.OnFailure == "halt", m.failedBefore(s.Name):
			m.status[s.Name] = "skipped"
		case m.all(s.DependsOn, "success"):
			m.status[s.Name] = "dispatched"
			m.jobs++
		}
	}
}

func (m *model) of(status string) []string {
	var names []string
	for _, s := range m.d.Steps {
		if m.status[s.Name] == status {
			names = append(names, s.Name)
		}
	}
	return names
}

func (m *model) end(name string, ok bool) {
	m.status[name] = "failed"
	if ok {
		m.status[name] = "success"
	}
	m.settle()
}

// cancel ends what has not run: jobs that are pending are cancelled at once.
func (m *model) cancel() {
	m.stopping = true
	for _, name := range m.of("dispatched") {
		m.status[name] = "failed"
	}
	m.settle()
}

func (m *model) retry() {
	m.stopping = false
	for name, status := range m.status {
		if status == "failed" || status == "skipped" {
			m.status[name] = "blocked"
		}
	}
	m.settle()
}

// run is what the whole run has to be.
func (m *model) run() string {
	switch {
	case len(m.of("dispatched")) > 0:
		return "running"
	case m.stopping:
		return "killed"
	case len(m.of("success")) < len(m.d.Steps):
		return "failed"
	}
	return "success"
}

func (m *model) String() string {
	var all []string
	for _, s := range m.d.Steps {
		all = append(all, s.Name+":"+m.status[s.Name])
	}
	return m.run() + " " + strings.Join(all, " ")
}

// anyDAG is one of up to eight steps, in an order that is not that of their dependencies.
func anyDAG(t *rapid.T, name string) config.DAG {
	d := config.DAG{Name: name, Concurrency: "allow", OnFailure: rapid.SampledFrom([]string{"halt", "continue-independent"}).Draw(t, "on failure")}
	n := rapid.IntRange(1, 8).Draw(t, "steps")
	for i := range n {
		s := config.DAGStep{Name: fmt.Sprint("s", i), Backend: rapid.SampledFrom([]string{"api", "mail"}).Draw(t, "backend"), Route: "/x"}
		for dep := range i {
			if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
				s.DependsOn = append(s.DependsOn, fmt.Sprint("s", dep))
			}
		}
		d.Steps = append(d.Steps, s)
	}
	d.Steps = rapid.Permutation(d.Steps).Draw(t, "order")
	return d
}

// TestRunsAreAsTheModelSays takes runs of all shapes through successes, failures, cancellations and retries.
func TestRunsAreAsTheModelSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		d := anyDAG(t, fmt.Sprint("d", number))
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		check(r.exec("DELETE job RETURN NONE; DELETE mail RETURN NONE; DELETE _00_workflow_run RETURN NONE; DELETE _00_step_run RETURN NONE", nil))
		run, err := r.start(d)
		check(err)
		m := newModel(d)
		advance := func() {
			for range rapid.IntRange(1, 2).Draw(t, "times") { // once more changes nothing
				_, err := r.store.Advance(r.ctx, run)
				check(err)
			}
		}
		advance()
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			got, err := r.state(run)
			check(err)
			if under := m.of("dispatched"); len(under) > 0 && rapid.IntRange(0, 9).Draw(t, "event") > 0 {
				name, ok := rapid.SampledFrom(under).Draw(t, "job"), rapid.IntRange(0, 3).Draw(t, "ok") > 0
				for _, s := range got.Steps {
					if s.Name == name && s.Job != nil {
						check(r.end(*s.Job, map[bool]string{true: "success", false: "failed"}[ok]))
					}
				}
				m.end(name, ok)
				advance()
			} else {
				verb := map[bool]string{true: "cancel", false: "retry"}[len(under) > 0]
				check(r.exec("RETURN fn::spky::dag::"+verb+"($run)", map[string]any{"run": run}))
				switch {
				case verb == "cancel":
					m.cancel()
				case m.run() != "success":
					m.retry()
				}
				advance()
			}
			r.asModelled(t, run, m)
		}
		r.asModelled(t, run, m)
	})
}

// asModelled holds the database against the model.
func (r *rig) asModelled(t *rapid.T, run string, m *model) {
	got, err := r.state(run)
	if err != nil {
		t.Fatal(err)
	}
	text := got.Status
	for _, s := range got.Steps {
		text += " " + s.Name + ":" + s.Status
	}
	if text != m.String() || got.Done != len(m.of("success")) || got.Jobs != m.jobs || (got.Error != nil) != (got.Status == "failed" || got.Status == "killed") {
		t.Fatalf("the database has %s, %d done, %d jobs, error %v; want %s, %d jobs", text, got.Done, got.Jobs, got.Error, m, m.jobs)
	}
	if due, err := r.store.Due(r.ctx); err != nil || len(due.Runs) > 0 || got.Status == "running" && !due.Going {
		t.Fatalf("the sweep finds %+v, %v", due, err)
	}
}

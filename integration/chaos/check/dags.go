package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// The states of a step of a DAG that are not those of its run.
const (
	blocked    = "blocked"
	ready      = "ready"
	dispatched = "dispatched"
	skipped    = "skipped"
	killed     = "killed"
)

// A dagRun is a run of a DAG, of which a checker follows the history of the steps.
type dagRun struct {
	*checker

	key    string
	dag    plan.DAG
	states map[string]dagStepState // as far as the history has been followed
	jobs   map[string][]string     // of each step, in order
}

// dags checks each run of a DAG, and that no job of one is there that no step has.
func (c *checker) dags() {
	of := map[string]plan.DAG{}
	for _, d := range plan.DAGs() {
		of[d.Name] = d
	}
	known := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(c.runLog)) {
		name, _, _ := strings.Cut(key, "-")
		r := &dagRun{checker: c, key: key, dag: of[name], states: map[string]dagStepState{}, jobs: map[string][]string{}}
		r.history()
		r.follow()
		r.end()
		for name, jobs := range r.jobs {
			r.oneByOne(r.step(name), jobs)
			for _, job := range jobs {
				known[job] = true
				r.given(r.step(name), job)
			}
		}
	}
	for _, key := range sorted(c.jobLog, c.jobs) {
		if strings.Contains(key, ":`wf_") || strings.Contains(key, ":⟨wf_") {
			if !known[key] {
				c.find("dag", key, "no step has this job")
			}
		}
	}
}

func (r *dagRun) step(name string) plan.DAGStep {
	for _, s := range r.dag.Steps {
		if s.Name == name {
			return s
		}
	}
	return plan.DAGStep{Name: name}
}

// history checks every change of the run's row.
func (r *dagRun) history() {
	log := r.runLog[r.key]
	again := 0
	for n, e := range log {
		was, is := e.Before, e.After
		switch {
		case n == 0 && (was != nil || is.Status != "running"):
			r.find("history", r.key, "it begins with %s", e.Event)
		case n == 0:
		case was == nil || log[n-1].After == nil || was.Revision != log[n-1].After.Revision || was.Status != log[n-1].After.Status:
			r.find("history", r.key, "at %s a change finds %s: an update was lost", clock(&e.At), was)
		case is == nil:
			r.pruned(r.key, was.Status, was.Finished, e.At, r.keptRun(was.Status))
		case was.Status != "running" && is.Status == "running":
			again++
		default:
			r.change(e)
		}
	}
	if done := r.done(r.key, plan.ActRetryRun); again != done {
		r.find("operator", r.key, "it began again %d times, and operators retried it %d times", again, done)
	}
}

// change checks a change of a run that does not begin again.
func (r *dagRun) change(e runEntry) {
	was, is := e.Before, e.After
	switch {
	case was.Status != "running":
		r.find("history", r.key, "at %s it was over and changed: %s -> %s", clock(&e.At), was, is)
	case was.Stopping != nil && is.Status != "running" && is.Status != killed:
		r.find("operator", r.key, "at %s it was to end (%s), and came to %s", clock(&e.At), *was.Stopping, is.Status)
	}
}

// follow checks every change of a step: what it may do depends on how the others are at that moment.
func (r *dagRun) follow() {
	for _, e := range r.dagLog[r.key] {
		if e.After == nil {
			if row, ok := r.runs[r.key]; !ok || row.Gone == nil {
				r.find("dag", r.key, "at %s the step %s was deleted without its run", clock(&e.At), e.Step)
			}
			continue
		}
		if why := r.wrong(e); why != "" {
			r.find("dag", r.key, "at %s the step %s became %s: %s", clock(&e.At), e.Step, e.After, why)
		}
		if e.After.Status == ready || e.After.Status == dispatched {
			r.order(e)
		}
		if job := e.After.Job; job != "" && !slices.Contains(r.jobs[e.Step], job) {
			r.jobs[e.Step] = append(r.jobs[e.Step], job)
		}
		r.states[e.Step] = *e.After
	}
}

// order checks that everything that a step waits for has succeeded.
func (r *dagRun) order(e dagStepEntry) {
	for _, name := range r.step(e.Step).DependsOn {
		if r.states[name].Status != success {
			r.find("order", r.key, "at %s the step %s became %s, and %s, which it waits for, was %q", clock(&e.At), e.Step, e.After.Status, name, r.states[name].Status)
		}
	}
}

// wrong says why a step may not become what it does, "" where it may.
func (r *dagRun) wrong(e dagStepEntry) string {
	was, known := r.states[e.Step]
	if !known {
		return unless(e.Before == nil && (e.After.Status == ready) == (len(r.step(e.Step).DependsOn) == 0), "it is new")
	}
	if e.Before == nil || e.Before.Status != was.Status {
		return "an update was lost"
	}
	switch was.Status + " " + e.After.Status {
	case "blocked ready":
		return ""
	case "ready dispatched":
		return unless(r.stopping(e.At) == "", "its run was to end")
	case "dispatched success":
		return unless(r.jobWas(was.Job, e.At, success), "its job had not succeeded")
	case "dispatched failed":
		return r.whyFailed(was, e)
	case "blocked skipped", "ready skipped":
		return r.whySkipped(e)
	case "failed blocked", "skipped blocked":
		return unless(r.done(r.key, plan.ActRetryRun) > 0, "nobody has retried the run")
	}
	return "it was " + was.Status
}

func unless(sound bool, why string) string {
	if sound {
		return ""
	}
	return why
}

// stopping is why the run was to end at a moment, "" where it was not.
func (r *dagRun) stopping(at time.Time) string {
	state := last(r.runLog[r.key], at)
	if state == nil || state.Stopping == nil {
		return ""
	}
	return *state.Stopping
}

func (r *dagRun) jobWas(job string, at time.Time, status ...string) bool {
	return during(r.jobLog[job], at.Add(-slack), at, func(s *jobState) bool { return slices.Contains(status, s.Status) })
}

func (r *dagRun) whyFailed(was dagStepState, e dagStepEntry) string {
	switch orNone(e.After.Error) {
	case "job_failed":
		return unless(r.jobWas(was.Job, e.At, failed), "its job had not failed")
	case killed:
		return unless(r.jobWas(was.Job, e.At, "cancelled"), "its job was not cancelled")
	case "job_missing": // one that was over so long before anybody looked
		return unless(r.goneBy(was.Job, e.At), "its job was there")
	}
	return "there is no such reason"
}

func (r *dagRun) whySkipped(e dagStepEntry) string {
	switch orNone(e.After.Error) {
	case "upstream_failed":
		return unless(r.upstreamFailed(e.Step), "nothing that it waits for had failed")
	case "run_halted":
		return unless(r.dag.OnFailure == plan.Halt && r.any(failed), "nothing had failed")
	case "not_started": // the reason is gone in the transaction that ends the run
		return unless(r.stopping(e.At) != "" || r.endedAsKilled(e.At), "its run was not to end")
	}
	return "there is no such reason"
}

func (r *dagRun) endedAsKilled(at time.Time) bool {
	return during(r.runLog[r.key], at.Add(-slack), at.Add(slack), func(s *runState) bool { return s.Status == killed })
}

func (r *dagRun) any(status string) bool {
	for _, s := range r.states {
		if s.Status == status {
			return true
		}
	}
	return false
}

func (r *dagRun) upstreamFailed(name string) bool {
	for _, dep := range r.step(name).DependsOn {
		if r.states[dep].Status == failed || r.upstreamFailed(dep) {
			return true
		}
	}
	return false
}

// end checks that a run has ended in a state that its steps explain.
func (r *dagRun) end() {
	row := r.runs[r.key]
	count := map[string]int{}
	for _, s := range r.states {
		count[s.Status]++
	}
	log := r.runLog[r.key]
	why := ""
	if ended := lastStatus(log, row.Status); ended != nil {
		why = orNone(ended.Error)
	}
	var sound bool
	switch row.Status {
	case success:
		sound = count[success] == len(r.dag.Steps)
	case failed:
		sound = count[failed] > 0 && why == "step_failed"
	case killed: // by an operator, or by the tick that replaced it
		sound = why == killed
	default:
		r.find("stuck", r.key, "the run is %q", row.Status)
		return
	}
	if left := count[blocked] + count[ready] + count[dispatched]; !sound || left > 0 || len(r.states) != len(r.dag.Steps) {
		r.find("dag", r.key, "it ended as %s (%s) with the steps %v", row.Status, why, count)
	}
	if row.Done != count[success] {
		r.find("counter", r.key, "steps_done is %d, and %d steps succeeded", row.Done, count[success])
	}
	if why == killed && r.done(r.key, plan.ActCancelRun) == 0 && !r.replaced() {
		r.find("operator", r.key, "it was killed, and nobody wanted that")
	}
}

// lastStatus is the change by which a row came to its status.
func lastStatus(log []runEntry, status string) *runState {
	for _, e := range slices.Backward(log) {
		if e.After != nil && e.After.Status == status && (e.Before == nil || e.Before.Status != status) {
			return e.After
		}
	}
	return nil
}

// replaced says whether a later tick has ended the run.
func (r *dagRun) replaced() bool {
	for _, log := range r.ticksOf[r.dag.Name] {
		for _, e := range log {
			if e.After != nil && e.After.Status == "replaced" && strings.Contains(log[0].After.Target, r.key) {
				return true
			}
		}
	}
	return false
}

// oneByOne checks a step's jobs by their own history: each began when the one before was over, and when what the step waits for had
// succeeded, and came to what its backend does.
func (r *dagRun) oneByOne(s plan.DAGStep, jobs []string) {
	for n, job := range jobs {
		log := r.jobLog[job]
		if len(log) == 0 {
			r.find("dag", job, "the step %s of %s never had this job", s.Name, r.key)
			continue
		}
		began := log[0].At
		if n > 0 && !r.jobWas(jobs[n-1], began, success, failed, "cancelled") && !r.goneBy(jobs[n-1], began) {
			r.find("dag", job, "it began while %s was not over", jobs[n-1])
		}
		for _, dep := range s.DependsOn {
			if !slices.ContainsFunc(r.jobs[dep], func(before string) bool { return r.jobWas(before, began, success) || r.goneBy(before, began) }) {
				r.find("order", job, "it began at %s, and no job of %s had succeeded", clock(&began), dep)
			}
		}
		r.came(s, job)
	}
}

// came checks that a job came to what its backend does.
func (r *dagRun) came(s plan.DAGStep, job string) {
	row := r.checker.jobs[job]
	denials := s.N
	if r.dag.Name == plan.Fan {
		denials = r.item().Denials
	}
	want := success
	if s.Kind == plan.JobAgain && plan.Retried(job) < denials {
		want = failed
	}
	if (row.Status == success || row.Status == failed) && row.Status != want {
		r.find("outcome", job, "the job of step %s ended as %s, want %s", s.Name, row.Status, want)
	}
}

// item is what the run is for.
func (r *dagRun) item() plan.Item {
	for _, item := range plan.Items() {
		if strings.HasSuffix(r.key, item.Key) {
			return item
		}
	}
	return plan.Item{}
}

// given checks that a job was told what the jobs before it had answered.
func (r *dagRun) given(s plan.DAGStep, job string) {
	for _, e := range r.of[job] {
		if e.What != journal.Given {
			continue
		}
		var answers map[string]any
		if err := json.Unmarshal([]byte(e.Text), &answers); err != nil || len(answers) != len(s.DependsOn) {
			r.find("dag", job, "it was given %s, want the answers of %v", e.Text, s.DependsOn)
			continue
		}
		for _, dep := range s.DependsOn {
			if from := r.byNonce[nonceIn(answers[dep])].Job; !slices.Contains(r.jobs[dep], from) {
				r.find("dag", job, "as the answer of %s it was given %v, which is none of its jobs %v", dep, answers[dep], r.jobs[dep])
			}
		}
	}
}

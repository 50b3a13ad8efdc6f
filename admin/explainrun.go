package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// maxExplained is how many steps of a run are explained one by one.
const maxExplained = 3

// runFacts are what explains a run of a DAG.
type runFacts struct {
	nodeFacts

	run DetailedRun
	// jobs are what explains the jobs of the first steps under way, by step.
	jobs map[string]Explanation
}

// Run explains a run of a DAG, and the jobs that it waits for. Of one that does not exist the explanation says so,
// beside ErrNotFound.
func (e *Explainer) Run(ctx context.Context, id string) (Explanation, error) {
	run, err := NewDAGs(e.db, e.hider.rules).Run(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return explained(kindRun, id, stateMissing, []Cause{missingRun(id)}), err
	case err != nil:
		return Explanation{}, err
	}
	f := runFacts{run: run, jobs: map[string]Explanation{}}
	if f.nodeFacts, err = e.nodeFacts(ctx); err != nil {
		return Explanation{}, fmt.Errorf("explain run %s: %w", id, err)
	}
	for _, s := range run.Steps {
		if s.Status != "dispatched" || len(f.jobs) == maxExplained {
			continue
		}
		job, err := e.Job(ctx, s.Job)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Explanation{}, fmt.Errorf("explain run %s: %w", id, err)
		}
		f.jobs[s.Name] = job
	}
	return explained(kindRun, id, run.Status, f.causes()), nil
}

func missingRun(id string) Cause {
	return Cause{
		Code: "not_found", Sentence: fmt.Sprintf("There is no run %s: there never was, or it has been deleted as old.", printable(id)),
		Remedy: "`spky dag runs <name>` lists those of a DAG",
	}
}

// of are the run's steps in a state.
func (f runFacts) of(status string) []string {
	var names []string
	for _, s := range f.run.Steps {
		if s.Status == status {
			names = append(names, s.Name)
		}
	}
	return names
}

// causes are why the run is where it is.
func (f runFacts) causes() []Cause {
	if f.run.Status != RunRunning {
		return append([]Cause{f.ended()}, f.failures()...)
	}
	var causes []Cause
	if f.run.Stopping {
		causes = append(causes, Cause{
			Code: "stopping", Facts: map[string]any{"error": f.run.Error}, Sentence: fmt.Sprintf("It is to end (%s): nothing more of it begins, and its jobs have been asked to end.", quote(f.run.Error.Reason)),
		})
	}
	for _, s := range f.run.Steps {
		if job, ok := f.jobs[s.Name]; ok {
			causes = append(causes, f.dispatched(s, job))
		}
	}
	if ready := f.of("ready"); len(ready) > 0 {
		causes = append(causes, f.ready(ready))
	}
	causes = append(causes, f.failures()...)
	if blocked := f.of("blocked"); len(blocked) > 0 {
		causes = append(causes, Cause{
			Code: "steps_blocked", Facts: map[string]any{"steps": blocked},
			Sentence: fmt.Sprintf("%s for others: %s.", waiting(len(blocked)), quote(strings.Join(blocked, ", "))),
		})
	}
	if len(causes) == 0 {
		causes = append(causes, f.ready(nil))
	}
	return causes
}

func waiting(steps int) string {
	if steps == 1 {
		return "1 step waits"
	}
	return fmt.Sprintf("%d steps wait", steps)
}

// dispatched is a step whose job is under way, with the job's first cause.
func (f runFacts) dispatched(s StepRun, job Explanation) Cause {
	c := Cause{
		Code: "step_dispatched", Facts: map[string]any{"step": s.Name, "job": s.Job, "state": job.State},
		Sentence: fmt.Sprintf("Step %s waits for its job %s, which is %s.", quote(s.Name), printable(s.Job), job.State),
	}
	if len(job.Causes) > 0 {
		c.Sentence += " " + job.Causes[0].Sentence
		c.Remedy, c.Facts["cause"] = job.Causes[0].Remedy, job.Causes[0].Code
	}
	return c
}

// ready is what a node does next, or would if there were one.
func (f runFacts) ready(steps []string) Cause {
	c := Cause{Code: "steps_ready", Facts: map[string]any{"steps": steps, "alive": f.anyAlive()}}
	c.Sentence = "A node will go on with it within ten seconds."
	if len(steps) > 0 {
		c.Sentence = fmt.Sprintf("%s may begin; a node writes their jobs within ten seconds: %s.", counted(len(steps), "step"), quote(strings.Join(steps, ", ")))
	}
	if f.anyAlive() == 0 {
		c.Sentence, c.Remedy = strings.TrimSuffix(c.Sentence, ".")+", once there is one: none is alive.", "start a node: `spky run`"
	}
	return c
}

// failures are the steps that failed.
func (f runFacts) failures() []Cause {
	var causes []Cause
	for _, s := range f.run.Steps {
		if s.Status != "failed" || len(causes) == maxExplained {
			continue
		}
		c := Cause{Code: "step_over", Facts: map[string]any{"step": s.Name, "job": s.Job, "error": s.Error}, Sentence: fmt.Sprintf("Step %s failed.", quote(s.Name))}
		if s.Error != nil {
			c.Sentence = fmt.Sprintf("Step %s failed: %s, %s.", quote(s.Name), printable(s.Error.Code), quote(s.Error.Reason))
		}
		if s.Job != "" {
			c.Remedy = command("spky explain", s.Job) + " says more of its job"
		}
		causes = append(causes, c)
	}
	return causes
}

// ended is a run that is over.
func (f runFacts) ended() Cause {
	again := command("spky dag retry", f.run.ID) + " goes on with the steps that did not succeed; " + command("spky dag rerun", f.run.ID) + " begins anew"
	facts := map[string]any{"steps_done": f.run.StepsDone, "steps_total": f.run.StepsTotal, "error": f.run.Error, "ended_at": f.run.FinishedAt}
	at := optional(f.run.FinishedAt, f.Now)
	reason := ""
	if f.run.Error != nil {
		reason = fmt.Sprintf(" (%s, %s)", printable(f.run.Error.Code), quote(f.run.Error.Reason))
	}
	switch f.run.Status {
	case RunSuccess:
		return Cause{Code: "succeeded", Facts: facts, Sentence: fmt.Sprintf("It succeeded %s, with all %s.", at, counted(f.run.StepsTotal, "step"))}
	case RunKilled:
		return Cause{Code: "run_killed", Facts: facts, Remedy: again, Sentence: fmt.Sprintf("It was ended %s%s; %d of %s had succeeded.", at, reason, f.run.StepsDone, counted(f.run.StepsTotal, "step"))}
	}
	return Cause{Code: "run_failed", Facts: facts, Remedy: again, Sentence: fmt.Sprintf("It failed %s%s; %d of %s succeeded.", at, reason, f.run.StepsDone, counted(f.run.StepsTotal, "step"))}
}

// ofRun says which step of which run a job is; false for one that is none.
func (e *Explainer) ofRun(ctx context.Context, id surreal.RecordID, run string) (Cause, bool, error) {
	steps, err := surreal.First[[]string](ctx, e.db, "SELECT VALUE name FROM _00_step_run:[$run]..=[$run, ..] WHERE job = $job", map[string]any{"run": run, "job": id})
	if err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)) || len(steps) == 0 {
		return Cause{}, false, err
	}
	return Cause{
		Code: "step_of_run", Facts: map[string]any{"run": run, "step": steps[0]},
		Sentence: fmt.Sprintf("It is step %s of the run %s of a DAG.", quote(steps[0]), printable(run)), Remedy: command("spky dag describe", run) + " shows the others",
	}, true, nil
}

package admin

import (
	"context"
	"errors"
	"fmt"

	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// The verbs on runs, as they are named everywhere.
const (
	verbCancel = "cancel"
	verbRerun  = "rerun"
)

// possibleForRun names the verbs that a run's state allows.
func possibleForRun(status string) []string {
	switch status {
	case RunSuccess:
		return []string{verbRerun}
	case RunFailed, RunKilled:
		return []string{verbRetry, verbRerun}
	}
	return []string{verbCancel}
}

// Verbs names what can be done to the run as it is.
func (r DAGRun) Verbs() []string { return possibleForRun(r.Status) }

// possibleToStart names what is possible where no run may start.
func possibleToStart(status string) []string {
	if status == ScheduleRetired {
		return []string{}
	}
	return []string{verbCancel}
}

// A StartedRuns says what Trigger started.
type StartedRuns struct {
	// Runs are those that began, 200 at most; Started counts all of them, Skipped what did not begin, for
	// instance because the run before of the same key is not over.
	Runs    []string `json:"runs"`
	Started int      `json:"started"`
	Skipped int      `json:"skipped"`
}

// Trigger starts a run now, or one for each row of forEach, also while the DAG is paused. Its ticks stay as
// they are. Where nothing may start beside what runs, that is a *StateError.
func (d *DAGs) Trigger(ctx context.Context, name string) (StartedRuns, error) {
	_, err := d.Get(ctx, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return StartedRuns{}, d.missing(ctx, verbTrigger, "DAG", name)
	case err != nil:
		return StartedRuns{}, fmt.Errorf("%s: %w", verbTrigger, err)
	}
	fire, err := schedule.Store{DB: d.db.Retrying()}.Manual(ctx, name)
	if err != nil {
		return StartedRuns{}, fmt.Errorf("%s: %w", verbTrigger, noteFailure(ctx, d.db, "dag."+verbTrigger, name, err))
	}
	return d.start(ctx, verbTrigger, name, fire)
}

// A RetriedRun says what Retry did.
type RetriedRun struct {
	// Was is the state that the run was found in.
	Was string `json:"was"`
	// RetryCount is how often it has been retried now; Reset counts the steps that begin anew, Kept those that
	// had succeeded.
	RetryCount int `json:"retry_count"`
	Reset      int `json:"reset"`
	Kept       int `json:"kept"`
}

// Retry goes on with a run that failed or was killed: steps that did not succeed begin anew, with new jobs, as
// the configuration was when the run started.
func (d *DAGs) Retry(ctx context.Context, id string) (RetriedRun, error) {
	answer, err := d.act(ctx, verbRetry, id, "fn::spky::dag::retry($run)")
	return RetriedRun{Was: answer.Status, RetryCount: answer.RetryCount, Reset: answer.Reset, Kept: answer.Kept}, err
}

// Cancel lets nothing more of a run begin, and asks its jobs to end; once they have, it is killed. It answers
// with the state found.
func (d *DAGs) Cancel(ctx context.Context, id string) (string, error) {
	answer, err := d.act(ctx, verbCancel, id, "fn::spky::dag::cancel($run)")
	return answer.Status, err
}

// Rerun starts a new run with the input of one, and with the steps that the configuration has now. It answers
// with its id.
func (d *DAGs) Rerun(ctx context.Context, id string) (string, error) {
	if err := named("run", id); err != nil {
		return "", err
	}
	was, err := surreal.First[*struct {
		Workflow string `json:"workflow"`
		Key      string `json:"key"`
		Input    any    `json:"input"`
	}](ctx, d.db, dagInputStatement, map[string]any{"run": id})
	switch {
	case err != nil && (!surreal.IsNotFound(err) || surreal.IsUnreachable(err)):
		return "", fmt.Errorf("%s run %s: %w", verbRerun, id, noteFailure(ctx, d.db, "dag."+verbRerun, id, err))
	case was == nil:
		return "", d.missing(ctx, verbRerun, "run", id)
	}
	input := was.Input
	if input == nil {
		input = surreal.None
	}
	fire, err := schedule.Store{DB: d.db.Retrying()}.Again(ctx, was.Workflow, was.Key, input)
	switch {
	case errors.Is(err, schedule.ErrNotFound):
		err = fmt.Errorf("%s run %s: its DAG, %s, %w", verbRerun, id, was.Workflow, ErrNotFound)
		return "", noteFailure(ctx, d.db, "dag."+verbRerun, id, err)
	case err != nil:
		return "", fmt.Errorf("%s run %s: %w", verbRerun, id, noteFailure(ctx, d.db, "dag."+verbRerun, id, err))
	}
	started, err := d.start(ctx, verbRerun, id, fire)
	if err != nil {
		return "", err
	}
	return started.Runs[0], nil
}

// start fires by hand; target is what the audit says it was done to.
func (d *DAGs) start(ctx context.Context, verb, target string, fire map[string]any) (StartedRuns, error) {
	answer, err := audited[scheduleAnswer](ctx, d.db, "dag."+verb, target, "fn::spky::schedule::trigger($fire)", map[string]any{"fire": fire})
	started := StartedRuns{Runs: []string{}}
	switch {
	case err != nil:
		return started, fmt.Errorf("%s %s: %w", verb, target, err)
	case answer.Status == "":
		return started, fmt.Errorf("%s %s: DAG %w", verb, target, ErrNotFound)
	case !answer.OK:
		return started, &StateError{Run: true, ID: target, Verb: verb, Status: answer.Status, Possible: possibleToStart(answer.Status)}
	}
	for _, row := range answer.Runs {
		run := row.run()
		if run.Run == "" {
			started.Skipped++
			continue
		}
		if started.Started++; len(started.Runs) < maxRuns {
			started.Runs = append(started.Runs, run.Run)
		}
	}
	advance(ctx, d.db, answer.Runs)
	return started, nil
}

// missing notes what was to be done to what there is not.
func (d *DAGs) missing(ctx context.Context, verb, of, id string) error {
	if _, err := audited[runAnswer](ctx, d.db, "dag."+verb, id, "{ ok: false }", nil); err != nil {
		return fmt.Errorf("%s %s %s: %w", verb, of, id, err)
	}
	return fmt.Errorf("%s %s %s: %s %w", verb, of, id, of, ErrNotFound)
}

type runAnswer struct {
	OK         bool   `json:"ok"`
	Status     string `json:"status"`
	RetryCount int    `json:"retry_count"`
	Reset      int    `json:"reset"`
	Kept       int    `json:"kept"`
}

func (d *DAGs) act(ctx context.Context, verb, id, call string) (runAnswer, error) {
	if err := named("run", id); err != nil {
		return runAnswer{}, err
	}
	answer, err := audited[runAnswer](ctx, d.db, "dag."+verb, id, call, map[string]any{"run": id})
	switch {
	case err != nil:
		return answer, fmt.Errorf("%s run %s: %w", verb, id, err)
	case answer.Status == "":
		return answer, fmt.Errorf("%s run %s: run %w", verb, id, ErrNotFound)
	case !answer.OK:
		return answer, &StateError{Run: true, ID: id, Verb: verb, Status: answer.Status, Possible: possibleForRun(answer.Status)}
	}
	_, _ = dag.Store{DB: d.db.Retrying()}.Advance(ctx, id) // a node does it otherwise
	return answer, nil
}

// atOnce is how many runs whoever starts them makes jobs of himself.
const atOnce = 20

// advance makes jobs of runs that have just been started. What it leaves or fails at is a node's to do.
func advance(ctx context.Context, db *surreal.Client, runs []runRow) {
	left := atOnce
	for _, row := range runs {
		if run := row.run().Run; run != "" && left > 0 {
			left--
			if _, err := (dag.Store{DB: db.Retrying()}).Advance(ctx, run); err != nil {
				return
			}
		}
	}
}

package admin

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

var (
	//go:embed surql/explain_instance.surql
	explainInstanceStatement string
	//go:embed surql/explain_steps.surql
	explainStepsStatement string
	//go:embed surql/explain_events.surql
	explainEventsStatement string
)

// Times of a run's lease: it lasts this long after its last renewal, which comes that often. A run that
// has missed one renewal, and some, is silent.
const (
	runLease  = 15 * time.Second
	runSilent = 7 * time.Second
)

// instanceFacts are what explains an instance.
type instanceFacts struct {
	nodeFacts

	id       string
	found    bool
	row      explainedInstance
	steps    []Step // that are not complete
	events   []explainedEvents
	job      *jobFacts // nil without one
	backends []config.Backend
}

type explainedInstance struct {
	instanceRow

	PausedAt *time.Time `json:"paused_at"`
}

// explainedEvents are the events of one type that no step has taken.
type explainedEvents struct {
	Type   string    `json:"type"`
	Events int       `json:"events"`
	Last   time.Time `json:"last"`
}

func (e *Explainer) instanceFacts(ctx context.Context, id string) (instanceFacts, error) {
	f := instanceFacts{id: id, backends: e.backends}
	rows, err := surreal.First[[]explainedInstance](ctx, e.db, explainInstanceStatement, map[string]any{"id": instanceID(id)})
	if surreal.IsNotFound(err) {
		return f, nil // no such table
	}
	if err != nil || len(rows) == 0 {
		return f, err
	}
	f.found, f.row = true, rows[0]
	if err := e.hider.summaries(ctx, Summary{ID: id, Incarnation: f.row.Incarnation, Error: f.row.Error}); err != nil {
		return f, err
	}
	if f.row.Job != nil && !Terminal(f.row.Status) {
		job, err := e.jobRow(ctx, *f.row.Job)
		if err != nil {
			return f, err
		}
		if job.found {
			f.job = &job
		}
	}
	if err := e.parts(ctx, &f); err != nil {
		return f, err
	}
	if f.nodeFacts, err = e.nodeFacts(ctx); err != nil || f.job == nil {
		return f, err
	}
	err = e.among(ctx, f.job, f.nodeFacts)
	return f, err
}

// parts reads the steps and the events that are open.
func (e *Explainer) parts(ctx context.Context, f *instanceFacts) error {
	vars := map[string]any{"id": f.id, "incarnation": f.row.Incarnation}
	if f.row.Status == wf.Complete || f.row.Status == wf.Terminated {
		return nil
	}
	rows, err := surreal.First[[]stepRow](ctx, e.db, explainStepsStatement, vars)
	if err != nil {
		return fmt.Errorf("read steps: %w", err)
	}
	for _, row := range rows {
		f.steps = append(f.steps, row.step(nil))
	}
	sortSteps(f.steps)
	if err := e.hider.steps(ctx, life{f.id, f.row.Incarnation}, f.steps); err != nil {
		return err
	}
	if f.events, err = surreal.First[[]explainedEvents](ctx, e.db, explainEventsStatement, vars); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

func (f instanceFacts) missing() Cause {
	return Cause{
		Code:     "not_found",
		Sentence: fmt.Sprintf("There is no instance %s: it was never created, or is over and has been forgotten.", printable(f.id)),
		Remedy:   "look for it with `spky workflows instances list`",
	}
}

// act is the command that does something to the instance.
func (f instanceFacts) act(verb string, more ...string) string {
	return command("spky workflows instances "+verb, append([]string{f.row.Binding, f.id}, more...)...)
}

// causes are why the instance is where it is.
func (f instanceFacts) causes() []Cause {
	var causes []Cause
	switch f.row.Status {
	case wf.Complete, wf.Terminated:
		return []Cause{f.over()}
	case wf.Errored:
		return []Cause{f.errored()}
	case wf.Paused:
		causes = []Cause{f.paused()}
	case wf.Waiting:
		causes = f.waiting()
	case wf.Running:
		causes = f.running()
	case wf.Queued:
		causes = f.queued()
	default:
		causes = []Cause{{Code: "unknown_status", Sentence: fmt.Sprintf("Its status is %s, which this program does not know.", quote(string(f.row.Status))), Remedy: "let the versions of spky and of the schema agree: `spky doctor`"}}
	}
	return append(causes, f.notes()...)
}

func (f instanceFacts) over() Cause {
	c := Cause{Code: "complete", Facts: map[string]any{"finished_at": f.row.FinishedAt, "steps_done": f.row.StepsDone}}
	c.Sentence = fmt.Sprintf("It has come to its end %s, after %s.", optional(f.row.FinishedAt, f.Now), counted(f.row.StepsDone, "step"))
	c.Remedy = f.act("restart") + " runs it again from the beginning"
	if f.row.Status == wf.Terminated {
		c.Code, c.Sentence = "terminated", fmt.Sprintf("Somebody terminated it %s.", optional(f.row.FinishedAt, f.Now))
	}
	return c
}

func (f instanceFacts) errored() Cause {
	e := Error{Message: "no error was stored"}
	if f.row.Error != nil {
		e = *f.row.Error
	}
	c := Cause{Code: "errored", Facts: map[string]any{"finished_at": f.row.FinishedAt, "name": e.Name, "message": cutTo(e.Message)}}
	c.Sentence = fmt.Sprintf("Its code ended with an error %s: %s.", optional(f.row.FinishedAt, f.Now), quote(e.Message))
	c.Remedy = f.act("restart") + " runs it again from the beginning, once its code is mended"
	for _, s := range slices.Backward(f.steps) {
		if s.Status != "errored" || s.Error == nil || !strings.Contains(e.Message, s.Error.Message) {
			continue
		}
		c.Code, c.Facts["step"], c.Facts["attempts"] = "step_errored", s.Label(), len(s.Attempts)
		c.Sentence = fmt.Sprintf("Its step %s failed for good %s, after %s: %s.", quote(s.Label()), optional(f.row.FinishedAt, f.Now), counted(len(s.Attempts), "attempt"), quote(s.Error.Message))
		c.Remedy = f.act("retry") + " goes on from that step, once its cause is mended; the steps before it are not repeated"
		break
	}
	return c
}

func (f instanceFacts) paused() Cause {
	return Cause{
		Code:     "paused",
		Sentence: fmt.Sprintf("It has been paused %s. Timers stand still meanwhile.", lasting(f.row.PausedAt, f.Now)),
		Facts:    map[string]any{"paused_at": f.row.PausedAt},
		Remedy:   f.act("resume") + " goes on",
	}
}

// notes are what is worth knowing of a live instance beside why it stands where it stands.
func (f instanceFacts) notes() []Cause {
	var causes []Cause
	if w := f.row.Warning; w != nil && !f.row.summary().Stalled() {
		causes = append(causes, f.changed("code_changed"))
	}
	if f.row.summary().Stalled() && f.row.Status != wf.Queued {
		causes = append(causes, f.stalled())
	}
	if !f.declared() {
		causes = append(causes, Cause{
			Code:     "workflow_not_declared",
			Sentence: fmt.Sprintf("No backend of the configuration at hand has a workflow %s.", quote(f.row.Binding)),
			Facts:    map[string]any{"binding": f.row.Binding},
			Remedy:   "name it under the backend's workflows in sp00ky.yml; what counts is that the backend registers it",
		})
	}
	return causes
}

// declared says whether the configuration has the workflow, or is not there to be asked.
func (f instanceFacts) declared() bool {
	return len(f.backends) == 0 || slices.ContainsFunc(f.backends, func(b config.Backend) bool {
		return slices.ContainsFunc(b.Workflows, func(w config.Workflow) bool { return w.Binding == f.row.Binding })
	})
}

// changed is a warning that the code no longer fits the stored steps.
func (f instanceFacts) changed(code string) Cause {
	w := f.row.Warning
	unreached := w.Unreached[:min(len(w.Unreached), 10)]
	named := make([]string, len(unreached))
	for i, name := range unreached {
		named[i] = quote(name)
	}
	sentence := fmt.Sprintf("Its code has changed under it: of the steps that ran before it did not reach %s again: %s.", counted(len(w.Unreached), "step"), strings.Join(named, ", "))
	if len(named) == 0 {
		sentence = fmt.Sprintf("It carries a warning: %s.", quote(w.Message))
	}
	return Cause{
		Code:     code,
		Sentence: sentence,
		Facts:    map[string]any{"warning": w.Code, "unreached": unreached},
		Remedy:   "deploy code that still has those steps; or " + f.act("restart") + " to begin again with the new code",
	}
}

// jobCauses are those of the job that is to run the instance next.
func (f instanceFacts) jobCauses() []Cause {
	if f.job != nil && !outbox.Status(f.job.row.Status).Terminal() {
		return f.job.of()
	}
	c := Cause{Code: "no_job", Sentence: "No job is there to run it; the nodes notice that within half a minute and write one.", Remedy: "wait; with no node alive, start one: `spky run`"}
	if f.job != nil {
		c.Code = "job_over"
		c.Facts = map[string]any{"job": f.job.subject(), "status": f.job.row.Status}
		c.Sentence = fmt.Sprintf("Its job %s has ended as %s without ending the instance; the nodes notice that within half a minute and write another.", printable(f.job.subject()), printable(f.job.row.Status))
		causes := append([]Cause{c}, f.job.of()...)
		return append(causes, f.nobody()...)
	}
	return append([]Cause{c}, f.nobody()...)
}

// nobody says that no node would run the instance's jobs.
func (f instanceFacts) nobody() []Cause {
	table := ""
	if f.row.Job != nil {
		table = f.row.Job.Table
	}
	if c, ok := f.unserved(table); ok && table != "" {
		return []Cause{c}
	}
	if f.anyAlive() == 0 {
		return []Cause{f.noNode()}
	}
	return nil
}

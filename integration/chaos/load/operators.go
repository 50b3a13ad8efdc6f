package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/integration/chaos/world"
)

// An operator is somebody at the admin API of one node.
type operator struct {
	*Loader
	*client.Client
	act  plan.Act
	call string // names what he does in the journal
}

const (
	// operatorPatience is how long an operator waits for an answer.
	operatorPatience = 12 * time.Second
	// operatorsAtOnce is how many are at work.
	operatorsAtOnce = 24
	// page is how much an operator sees of a list.
	page = 40
)

// operators do what the plan wants, each once: one who gets no answer gives up.
func (l *Loader) operators(ctx context.Context) error {
	acting, ctx := errgroup.WithContext(ctx)
	acting.SetLimit(operatorsAtOnce)
	for n, a := range l.Plan.Acts {
		if !l.wait(ctx, a.At) {
			break
		}
		api, err := client.New(client.Config{URL: l.World.Admin(a.Node), Token: world.AdminToken, Timeout: operatorPatience})
		if err != nil {
			return fmt.Errorf("operate: %w", err)
		}
		o := operator{Loader: l, Client: api, act: a, call: fmt.Sprintf("op.%d", n)}
		acting.Go(func() error { return o.operate(ctx) })
	}
	return acting.Wait()
}

// A Listed thing is a row of a list, as the checker finds it in the journal.
type Listed struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// A menu is where an operator finds what to act on, and what he then does to it.
type menu struct {
	list func(context.Context) ([]Listed, error)
	do   func(context.Context, string) error
	// about says what the entry in the journal is about.
	about func(*journal.Entry, string)
}

// operate looks at the list, chooses, and acts. What there is nothing of is not acted on.
func (o operator) operate(ctx context.Context) error {
	m, ok := o.menus()[o.act.Verb]
	if !ok {
		return fmt.Errorf("no act is called %q", o.act.Verb)
	}
	var seen []Listed
	err := o.ask(o.call+".list", plan.ActList, journal.Entry{}, func() (any, error) {
		var err error
		seen, err = m.list(ctx)
		return seen, err
	})
	if err != nil || len(seen) == 0 || m.do == nil {
		return nil //nolint:nilerr // the journal has it
	}
	id := seen[o.act.Pick%len(seen)].ID
	var of journal.Entry
	m.about(&of, id)
	err = o.ask(o.call, o.act.Verb, of, func() (any, error) { return nil, m.do(ctx, id) })
	if err == nil && o.act.Verb == plan.ActSend { // as what the SDKs acknowledge
		o.Journal.Write(journal.Entry{What: journal.Verb, Instance: id, Text: "event " + operatorEvent + ": done"})
	}
	return nil
}

// ask journals a call and its answer.
func (o operator) ask(call, verb string, of journal.Entry, do func() (any, error)) error {
	of.Nonce, of.Step, of.Node = call, verb, o.act.Node
	of.What = journal.Asked
	o.Journal.Write(of)
	answer, err := do()
	of.What, of.Status = journal.Told, status(err)
	if err != nil {
		of.Text = err.Error()
	} else if answer != nil {
		text, _ := json.Marshal(answer) // texts
		of.Text = string(text)
	}
	o.Journal.Write(of)
	return err
}

// status is the HTTP status that an error of the client stands for; 0 is none.
func status(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if _, refused := errors.AsType[*admin.StateError](err); refused {
		return http.StatusConflict
	}
	if answered, ok := errors.AsType[*client.Error](err); ok {
		return answered.Status
	}
	if errors.Is(err, admin.ErrNotFound) || errors.Is(err, admin.ErrStepNotFound) {
		return http.StatusNotFound
	}
	return 0
}

// operatorEvent is the type of events that nobody waits for.
const operatorEvent = "x"

func (o operator) menus() map[string]menu {
	job := func(e *journal.Entry, id string) { e.Job = id }
	instance := func(e *journal.Entry, id string) { e.Instance = id }
	run := func(e *journal.Entry, id string) { e.Run = id }
	onJob := func(status string, verb func(context.Context, string) (admin.JobStatus, error)) menu {
		return menu{o.jobs(status), without(verb), job}
	}
	onInstance := func(status string, verb func(context.Context, string) (admin.InstanceStatus, error)) menu {
		return menu{o.instances(status), without(verb), instance}
	}
	jobs, durable, dags, schedules := o.Jobs(), o.Durable(), o.DAGs(), o.Schedules()
	send := func(ctx context.Context, id string) (admin.InstanceStatus, error) {
		return durable.SendEvent(ctx, id, operatorEvent, json.RawMessage("1"))
	}
	return map[string]menu{
		plan.ActCancelJob:   onJob(pickOf(o.act, "pending", "processing"), jobs.Cancel),
		plan.ActRetryJob:    onJob(pickOf(o.act, "failed", "cancelled", "success"), jobs.Retry),
		plan.ActPause:       onInstance(pickOf(o.act, "running", "waiting"), durable.Pause),
		plan.ActResume:      onInstance("paused", durable.Resume),
		plan.ActTerminate:   onInstance("", durable.Terminate),
		plan.ActRestart:     onInstance("", o.restart),
		plan.ActSend:        onInstance(pickOf(o.act, "running", "waiting"), send),
		plan.ActRetry:       onInstance("errored", durable.Retry),
		plan.ActCancelRun:   {o.runs("running"), without(dags.Cancel), run},
		plan.ActRetryRun:    {o.runs(pickOf(o.act, "failed", "failed", "killed")), without(dags.Retry), run},
		plan.ActTrigger:     {o.schedules(""), without(dags.Trigger), run},
		plan.ActPauseClock:  {o.schedules(admin.ScheduleActive), without(schedules.Pause), run},
		plan.ActResumeClock: {o.schedules(admin.SchedulePaused), without(schedules.Resume), run},
		plan.ActList:        {list: o.any()},
	}
}

// restart restarts an instance, every other time from one of its first steps, which it may not have.
func (o operator) restart(ctx context.Context, id string) (admin.InstanceStatus, error) {
	n := o.act.Pick / 8 % 8
	if n%2 == 0 {
		return o.Durable().Restart(ctx, id)
	}
	return o.Durable().RestartFrom(ctx, id, admin.StepRef{Name: fmt.Sprintf("s%d", n/2)})
}

// pickOf chooses a status.
func pickOf(a plan.Act, from ...string) string { return from[a.Pick%len(from)] }

// without is a verb whose answer is not looked at.
func without[T any](verb func(context.Context, string) (T, error)) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		_, err := verb(ctx, id)
		return err
	}
}

func (o operator) any() func(context.Context) ([]Listed, error) {
	lists := []func(context.Context) ([]Listed, error){o.jobs(""), o.jobs("failed"), o.instances(""), o.instances("complete"), o.runs(""), o.schedules("")}
	return lists[o.act.Pick%len(lists)]
}

// jobs lists jobs; every fourth operator sees those that run workflows too.
func (o operator) jobs(status string) func(context.Context) ([]Listed, error) {
	options := admin.JobListOptions{Status: admin.JobStatus(status), Origin: "app", Limit: page}
	if o.act.Pick/8%4 == 0 {
		options.Origin = ""
	}
	return func(ctx context.Context) ([]Listed, error) {
		found, err := o.Jobs().List(ctx, options)
		var all []Listed
		for _, j := range found.Jobs {
			all = append(all, Listed{j.ID, string(j.Status)})
		}
		return all, err
	}
}

func (o operator) instances(status string) func(context.Context) ([]Listed, error) {
	return func(ctx context.Context) ([]Listed, error) {
		found, err := o.Durable().List(ctx, admin.ListOptions{Status: admin.InstanceStatus(status), Limit: page})
		var all []Listed
		for _, i := range found.Instances {
			all = append(all, Listed{i.ID, string(i.Status)})
		}
		return all, err
	}
}

func (o operator) runs(status string) func(context.Context) ([]Listed, error) {
	dags := plan.DAGs()
	name := dags[o.act.Pick%len(dags)].Name
	return func(ctx context.Context) ([]Listed, error) {
		found, err := o.DAGs().Runs(ctx, name, status, page)
		var all []Listed
		for _, r := range found {
			all = append(all, Listed{r.ID, r.Status})
		}
		return all, err
	}
}

// schedules lists those that start DAGs, or the pulse: nobody touches the beat.
func (o operator) schedules(state string) func(context.Context) ([]Listed, error) {
	return func(ctx context.Context) ([]Listed, error) {
		found, err := o.Schedules().List(ctx)
		var all []Listed
		for _, s := range found {
			if (s.DAG || s.Name == plan.Pulse && o.act.Verb != plan.ActTrigger) && (state == "" || s.State == state) {
				all = append(all, Listed{s.Name, s.State})
			}
		}
		return all, err
	}
}

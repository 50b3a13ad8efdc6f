package dashboard

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// An action does what a form asks for.
type action func() (outcome, error)

// An outcome is what came of an action: what is told of it, and the address of the page that shows it, "" for the page
// that the form is on.
type outcome struct{ told, at string }

// plainly is an action of one operation on one thing.
func plainly[T any](v *visit, do func(context.Context, string) (T, error), id, told string) action {
	return func() (outcome, error) {
		_, err := do(v.ctx(), id)
		return outcome{told: told}, err
	}
}

// act does the one of a page's actions that the address names.
func (d *Dashboard) act(v *visit, home string, actions map[string]action) error {
	do, ok := actions[v.id("verb")]
	if !ok {
		return d.nowhere(v)
	}
	o, err := do()
	if err != nil || o.at == "" {
		o.at = home
	}
	return d.back(v, o.at, o.told, err)
}

// actOnInstance does to an instance what its page offers.
func (d *Dashboard) actOnInstance(v *visit) error {
	id, w := v.id("id"), d.cfg.Durable
	again, from := d.restart(v)
	verbs := map[string]struct {
		do   func(context.Context, string) (wf.Status, error)
		done string
	}{
		"pause": {w.Pause, "It is paused."}, "resume": {w.Resume, "It goes on."},
		"terminate": {w.Terminate, "It is terminated."}, "restart": {again, "It begins again from " + from + ", with the same params."},
		"retry": {w.Retry, "It goes on from the steps that failed."},
		"send-event": {func(ctx context.Context, id string) (wf.Status, error) {
			return w.SendEvent(ctx, id, v.text("type"), json.RawMessage(v.text("payload")))
		}, "The event was sent."},
	}
	verb, ok := verbs[v.id("verb")]
	if !ok {
		return d.nowhere(v)
	}
	was, err := verb.do(v.ctx(), id)
	if v.id("verb") == "pause" && was == wf.Running {
		verb.done = "It is paused as soon as the step that runs is stored."
	}
	return d.back(v, prefix+"/instances/"+url.PathEscape(id), verb.done, err)
}

// actOnJob does to a job what its page offers.
func (d *Dashboard) actOnJob(v *visit) error {
	id, w := v.id("id"), d.cfg.Jobs
	return d.act(v, prefix+"/jobs/"+url.PathEscape(id), map[string]action{
		"cancel": func() (outcome, error) {
			if was, err := w.Cancel(v.ctx(), id); was == "processing" || err != nil {
				return outcome{told: "The node that runs it is asked to abort its request."}, err
			}
			return outcome{told: "It is cancelled."}, nil
		},
		"retry": plainly(v, w.Retry, id, "It runs again, from its first attempt."),
	})
}

// createInstance starts a workflow.
func (d *Dashboard) createInstance(v *visit) error {
	binding := v.id("binding")
	id, err := d.cfg.Durable.Create(v.ctx(), admin.NewInstance{
		Binding: binding, ID: v.text("id"), Params: json.RawMessage(v.text("params")), Owner: v.text("owner"),
	})
	if err != nil {
		return d.back(v, prefix+"/workflows/"+url.PathEscape(binding), "", err)
	}
	return d.back(v, prefix+"/instances/"+url.PathEscape(id), "It was created.", nil)
}

// actOnSchedule does to a schedule what its page offers.
func (d *Dashboard) actOnSchedule(v *visit) error {
	name, w := v.id("name"), d.cfg.Schedules
	return d.act(v, prefix+"/schedules/"+url.PathEscape(name), map[string]action{
		"pause":  plainly(v, w.Pause, name, "Nothing more starts; what runs goes on."),
		"resume": plainly(v, w.Resume, name, "It goes on with its next tick."),
		"trigger": func() (outcome, error) {
			t, err := w.Trigger(v.ctx(), name)
			return outcome{told: started(t.Started, t.Skipped)}, err
		},
		"release": func() (outcome, error) {
			keys, err := w.Release(v.ctx(), name, v.text("key"))
			if len(keys) == 0 {
				return outcome{told: "Nothing was in quarantine."}, err
			}
			return outcome{told: "Released: " + strings.Join(keys, ", ") + "."}, err
		},
	})
}

package mcp

import (
	"context"
	"encoding/json"

	"sp00ky.cloud/spky/admin"
)

// A doneOut says what was done. Refusals are errors.
type doneOut struct {
	ID string `json:"id"`
	// Was is the state that was found.
	Was string `json:"was,omitempty" jsonschema:"the state before"`
	// Next is what follows from it.
	Next string `json:"next,omitempty" jsonschema:"what happens now"`
}

// An action is a tool that needs nothing but an id.
type action struct {
	name, title, when string
	effect            effect
	again             bool
	// next is what happens once it has worked.
	next string
	do   func(ctx context.Context, id string) (was string, err error)
}

// found makes an action of an operation that answers with the state it found.
func found[S ~string](do func(context.Context, string) (S, error)) func(context.Context, string) (string, error) {
	return func(ctx context.Context, id string) (string, error) {
		was, err := do(ctx, id)
		return string(was), err
	}
}

// offerActions adds tools whose input is the id of one thing.
func offerActions[In any](s *Server, all []action, id func(In) string, narrow func(properties)) {
	for _, a := range all {
		offer(s, tool[In, doneOut]{
			name: a.name, title: a.title, when: a.when, effect: a.effect, again: a.again, narrow: narrow,
			call: func(ctx context.Context, in In) (doneOut, error) {
				was, err := a.do(ctx, id(in))
				return doneOut{ID: id(in), Was: was, Next: a.next}, err
			},
		})
	}
}

type oneInstanceIn struct {
	ID string `json:"id" jsonschema:"the instance's id, as lists have it"`
}

func (s *Server) offerInstanceActions() {
	offerActions(s, s.instanceActions(), func(in oneInstanceIn) string { return in.ID }, func(p properties) { p.longest("id", 100) })
}

func (s *Server) instanceActions() []action {
	i := s.cfg.Instances
	return []action{
		{
			name: "durable_instance_cancel", title: "Terminate a workflow instance", effect: destroys, again: true, do: found(i.Terminate),
			when: "Ends a live workflow instance for good: a running step is aborted and stores nothing. Only durable_instance_restart brings it back. " +
				"To stop it for a while use durable_instance_pause.",
			next: "it is terminated",
		},
		{
			name: "durable_instance_retry", title: "Retry a workflow instance", effect: changes, do: found(i.Retry),
			when: "Goes on with an errored instance from the steps that failed, keeping what the others stored; or runs a stalled one now. " +
				"Use it once the cause is mended. To begin from scratch use durable_instance_restart.",
			next: "it is queued and runs once a node and its backend are there",
		},
		{
			name: "durable_instance_pause", title: "Pause a workflow instance", effect: changes, again: true, do: found(i.Pause),
			when: "Lets no further step of a live instance begin; a running step ends first. Use it to hold an instance while something is mended.",
			next: "it is paused, or will be once the running step is stored",
		},
		{
			name: "durable_instance_resume", title: "Resume a workflow instance", effect: changes, again: true, do: found(i.Resume),
			when: "Goes on with a paused instance; sleeps and deadlines move by the time that the pause lasted.",
			next: "it goes on where it was",
		},
	}
}

type restartIn struct {
	ID   string  `json:"id" jsonschema:"the instance's id, as lists have it"`
	From *fromIn `json:"from,omitempty" jsonschema:"the step to begin from; the first if left out"`
}

type fromIn struct {
	Name  string `json:"name" jsonschema:"its name"`
	Count int    `json:"count,omitempty" jsonschema:"which of that name and type; 1 if left out"`
	Type  string `json:"type,omitempty" jsonschema:"its kind; do if left out and a do has the name"`
}

func (s *Server) offerInstanceRestart() {
	offer(s, tool[restartIn, doneOut]{
		name: "durable_instance_restart", title: "Restart a workflow instance", effect: destroys,
		when: "Begins an instance again with the same id and params, in any state. Its steps, their outputs and its events are forgotten, " +
			"with from only that step and those that began after it; what is forgotten runs once more. " +
			"To go on from the failed steps use durable_instance_retry.",
		narrow: func(p properties) {
			p.longest("id", 100)
			from := properties(p["from"].Properties)
			from.longest("name", 256)
			from.between("count", 1, 1<<31-1)
			from.enum("type", "do", "sleep", "waitForEvent")
		},
		call: func(ctx context.Context, in restartIn) (doneOut, error) {
			if in.From == nil {
				was, err := s.cfg.Instances.Restart(ctx, in.ID)
				return doneOut{ID: in.ID, Was: string(was), Next: "it is queued from its first step"}, err
			}
			step := admin.StepRef{Name: in.From.Name, Count: in.From.Count, Type: in.From.Type}
			was, err := s.cfg.Instances.RestartFrom(ctx, in.ID, step)
			return doneOut{ID: in.ID, Was: string(was), Next: "it is queued; the steps before " + step.String() + " are replayed from what they stored"}, err
		},
	})
}

type createIn struct {
	Binding string          `json:"binding" jsonschema:"the workflow, by its binding name in sp00ky.yml"`
	ID      string          `json:"id,omitempty" jsonschema:"a new id: letters, digits, _ and -; random if it is left out. With an id of your own a second call creates no second instance"`
	Params  json.RawMessage `json:"params,omitempty" jsonschema:"what the workflow is given, any JSON of at most 1 MiB; {} if it is left out"`
	Owner   string          `json:"owner,omitempty" jsonschema:"the record whose user may read the instance, such as user:ab12; nobody if it is left out"`
}

func (s *Server) offerInstanceCreate() {
	offer(s, tool[createIn, doneOut]{
		name: "durable_instance_create", title: "Start a workflow instance", effect: changes,
		when: "Starts a new instance of a workflow. It runs once a node and the backend of the workflow are there.",
		narrow: func(p properties) {
			p.longest("binding", 200)
			p.longest("id", 100)
			p["id"].Pattern = "^[a-zA-Z0-9_][a-zA-Z0-9_-]*$"
			p.longest("owner", 1000)
		},
		call: func(ctx context.Context, in createIn) (doneOut, error) {
			id, err := s.cfg.Instances.Create(ctx, admin.NewInstance{Binding: in.Binding, ID: in.ID, Params: in.Params, Owner: in.Owner})
			return doneOut{ID: id, Next: "it is queued and runs once a node and its backend are there"}, err
		},
	})
}

type eventIn struct {
	ID      string          `json:"id" jsonschema:"the instance's id, as lists have it"`
	Type    string          `json:"type" jsonschema:"the type of the event: letters, digits, _ and -; durable_instance_get says which one the instance waits for"`
	Payload json.RawMessage `json:"payload,omitempty" jsonschema:"what the waiting step gets, any JSON of at most 1 MiB; {} if it is left out"`
}

func (s *Server) offerInstanceEvent() {
	offer(s, tool[eventIn, doneOut]{
		name: "durable_instance_send_event", title: "Send an event to a workflow instance", effect: changes,
		when: "Sends an event to a live instance, and wakes it if it waits for one of that type; else the event is kept for a later wait. " +
			"Two calls send two events.",
		narrow: func(p properties) {
			p.longest("id", 100)
			p.longest("type", 100)
			p["type"].Pattern = "^[a-zA-Z0-9_][a-zA-Z0-9_-]*$"
		},
		call: func(ctx context.Context, in eventIn) (doneOut, error) {
			was, err := s.cfg.Instances.SendEvent(ctx, in.ID, in.Type, in.Payload)
			return doneOut{ID: in.ID, Was: string(was), Next: "the event is kept until a step takes it"}, err
		},
	})
}

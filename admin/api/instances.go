package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"sp00ky.cloud/spky/admin"
)

// instanceRoutes look at instances.
func (s *Server) instanceRoutes() []route {
	const one = "/durable/instances/{id}"
	missing := []int{http.StatusNotFound}
	outputs := yesNo("outputs", "Whether with what steps came to; true by default.")
	incarnation := number("incarnation", "Of which restart; the instance's own by default.", 0, 1<<31-1)
	return []route{
		{
			method: http.MethodGet, path: "/durable/instances", name: "listInstances", tag: "durable", scope: scopeRead,
			says: "Instances, newest first, without params, outputs and steps.",
			query: append([]param{
				oneOf("status", "Only instances in this state.", admin.Statuses()...),
				text("binding", "Only instances of this workflow."), text("owner", "Only instances of this owner, such as user:abc."),
				text("q", "Only instances whose id begins with this; they come by id, not newest first."),
				yesNo("stalled", "Only live instances that nothing runs although something should."),
			}, page()...),
			answer: admin.Page{}, serve: func(c *call) (any, error) { return s.listInstances(c) },
		},
		{
			method: http.MethodGet, path: one, name: "getInstance", tag: "durable", scope: scopeRead, query: []param{outputs},
			says:   "An instance with its params, output, steps, attempts, errors and events.",
			answer: Instance{}, refuses: missing, serve: func(c *call) (any, error) { return s.instance(c) },
		},
		{
			method: http.MethodGet, path: one + "/steps", name: "listSteps", tag: "durable", scope: scopeRead, query: []param{outputs, incarnation},
			says:   "The steps of an instance that have been reached, in that order.",
			answer: steps{}, refuses: missing, serve: func(c *call) (any, error) {
				n, err := s.incarnation(c)
				if err != nil {
					return nil, err
				}
				all, err := s.cfg.Durable.Steps(c.r.Context(), c.id("id"), n, !c.no("outputs"))
				return steps{all}, err
			},
		},
		{
			method: http.MethodGet, path: one + "/events", name: "listEvents", tag: "durable", scope: scopeRead, query: []param{incarnation},
			says:   "The events sent to an instance, in that order.",
			answer: events{}, refuses: missing, serve: func(c *call) (any, error) {
				n, err := s.incarnation(c)
				if err != nil {
					return nil, err
				}
				all, err := s.cfg.Durable.Events(c.r.Context(), c.id("id"), n)
				return events{all}, err
			},
		},
		{
			method: http.MethodGet, path: one + "/stream", name: "streamInstance", tag: "durable", scope: scopeRead,
			says:    "An instance as it moves: one event at once and one after each change, until it has ended.",
			events:  map[string]any{"instance": Progress{}},
			refuses: missing, streams: s.streamInstance,
		},
	}
}

func (s *Server) listInstances(c *call) (admin.Page, error) {
	return s.cfg.Durable.List(c.r.Context(), admin.ListOptions{
		Status: admin.InstanceStatus(c.text("status")), Binding: c.text("binding"), Owner: c.text("owner"), Stalled: c.yes("stalled"),
		Query: c.text("q"), Cursor: c.text("cursor"), Limit: c.number("limit"),
	})
}

func (s *Server) instance(c *call) (Instance, error) {
	ctx, d := c.r.Context(), s.cfg.Durable
	i, err := d.Get(ctx, c.id("id"))
	if err != nil {
		return Instance{}, err
	}
	all := Instance{Instance: i}
	if all.Steps, err = d.Steps(ctx, i.ID, i.Incarnation, !c.no("outputs")); err != nil {
		return Instance{}, err
	}
	all.Events, err = d.Events(ctx, i.ID, i.Incarnation)
	return all, err
}

// incarnation is the one asked for, else the instance's own. The instance has to exist either way.
func (s *Server) incarnation(c *call) (int, error) {
	i, err := s.cfg.Durable.Get(c.r.Context(), c.id("id"))
	if err != nil || c.text("incarnation") == "" {
		return i.Incarnation, err
	}
	return c.number("incarnation"), nil
}

// instanceVerbs act on instances.
func (s *Server) instanceVerbs() []route {
	d := s.cfg.Durable
	refuses := []int{http.StatusNotFound, http.StatusConflict}
	verbs := []struct {
		path, name, says string
		do               func(context.Context, string) (admin.InstanceStatus, error)
	}{
		{"cancel", "cancelInstance", "Ends a live instance at once; a step that runs is aborted and stores nothing.", d.Terminate},
		{"terminate", "terminateInstance", "The same as cancel.", d.Terminate},
		{"kill", "killInstance", "The same as cancel.", d.Terminate},
		{"retry", "retryInstance", "Goes on with an errored instance from the steps that failed, and runs a stalled one now.", d.Retry},
		{"pause", "pauseInstance", "Lets no further step begin.", d.Pause},
		{"resume", "resumeInstance", "Goes on after a pause.", d.Resume},
	}
	var all []route
	for _, v := range verbs {
		all = append(all, route{
			method: http.MethodPost, path: "/durable/instances/{id}/" + v.path, name: v.name, tag: "durable", scope: scopeFull, says: v.says,
			answer: Acted{}, refuses: refuses, serve: func(c *call) (any, error) {
				was, err := v.do(c.r.Context(), c.id("id"))
				return Acted{c.id("id"), string(was)}, err
			},
		})
	}
	return append(all, s.restartRoute(), route{
		method: http.MethodPost, path: "/durable/instances/{id}/events/{type}", name: "sendEvent", tag: "durable", scope: scopeFull,
		says: "Keeps an event for a live instance, and wakes it if it waits for one of that type. The body is the event's payload: JSON of at most 1 MiB, {} where there is none.",
		body: json.RawMessage{}, answer: Acted{}, refuses: refuses, serve: func(c *call) (any, error) {
			was, err := d.SendEvent(c.r.Context(), c.id("id"), c.id("type"), *body[json.RawMessage](c))
			return Acted{c.id("id"), string(was)}, err
		},
	})
}

// restartRoute begins instances again; every state allows it.
func (s *Server) restartRoute() route {
	return route{
		method: http.MethodPost, path: "/durable/instances/{id}/restart", name: "restartInstance", tag: "durable", scope: scopeFull,
		says: "Begins again with the same id and params: from the start, steps and events are forgotten; or from a step, what began before it stays and is replayed.",
		body: restart{}, answer: Acted{}, refuses: []int{http.StatusNotFound}, serve: func(c *call) (any, error) {
			was, err := s.restart(c, body[restart](c).From)
			return Acted{c.id("id"), string(was)}, err
		},
	}
}

func (s *Server) restart(c *call, from *restartFrom) (admin.InstanceStatus, error) {
	ctx, id := c.r.Context(), c.id("id")
	if from == nil {
		return s.cfg.Durable.Restart(ctx, id)
	}
	step := admin.StepRef{Name: from.Name, Type: from.Type}
	if from.Count != nil {
		if step.Count = *from.Count; step.Count < 1 { // 0 is none given elsewhere
			return "", admin.NewInputError(fmt.Sprintf("restart from: count %d of step %q; steps are counted from 1", step.Count, short(step.Name)))
		}
	}
	return s.cfg.Durable.RestartFrom(ctx, id, step)
}

// streamInstance sends an instance and the steps that have changed since the reader was last told.
func (s *Server) streamInstance(c *call, out *stream) error {
	told := toldSteps{}
	return follow(c.r.Context(), out, s.instances.join(c.id("id")), func(p admin.Progress) error {
		return out.event("instance", "", Progress{p.Instance, told.changed(p)})
	})
}

// toldSteps are the steps that a reader knows, of one incarnation.
type toldSteps struct {
	incarnation int
	known       map[string]admin.Step
}

// changed notes the steps that the reader does not know as they are, and answers with them.
func (t *toldSteps) changed(p admin.Progress) []admin.Step {
	if t.known == nil || t.incarnation != p.Instance.Incarnation {
		t.known, t.incarnation = map[string]admin.Step{}, p.Instance.Incarnation
	}
	news := []admin.Step{}
	for _, step := range p.Steps {
		key := step.Kind + " " + step.Label()
		was, ok := t.known[key]
		if ok && was.Status == step.Status && was.Tried() == step.Tried() {
			continue
		}
		t.known[key] = step
		news = append(news, step)
	}
	return news
}

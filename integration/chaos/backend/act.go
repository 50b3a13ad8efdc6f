package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/wf"
)

// An Act is what the driver wants done to an instance.
type Act struct {
	// Verb is create, event, pause, resume, terminate or restart.
	Verb string `json:"verb"`
	ID   string `json:"id"`
	// Ops of create.
	Ops []plan.Op `json:"ops,omitempty"`
	// Type and Payload of event.
	Type    string `json:"type,omitempty"`
	Payload int    `json:"payload,omitempty"`
}

// An Outcome of an act: done, exists, missing, or the state in which it makes no sense. Anything that
// leaves open whether it was done is an HTTP error instead.
type Outcome struct {
	Outcome string `json:"outcome"`
}

func (p *process) act(w http.ResponseWriter, r *http.Request) {
	var a Act
	if !decode(w, r, &a) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	err := p.actOn(ctx, a)
	state, wrong := errors.AsType[*wf.StateError](err)
	switch {
	case err == nil:
		reply(w, http.StatusOK, Outcome{"done"})
	case errors.Is(err, wf.ErrExists):
		reply(w, http.StatusOK, Outcome{"exists"})
	case errors.Is(err, wf.ErrNotFound):
		reply(w, http.StatusOK, Outcome{"missing"})
	case wrong:
		reply(w, http.StatusOK, Outcome{string(state.Status)})
	default:
		reply(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
	}
}

func (p *process) actOn(ctx context.Context, a Act) error {
	if p.flow == nil {
		return errors.New("this process has no workflows")
	}
	if a.Verb == "create" {
		_, err := p.flow.Create(ctx, params{Ops: a.Ops}, wf.ID(a.ID))
		return err
	}
	instance, err := p.flow.Get(ctx, a.ID)
	if err != nil {
		return err
	}
	switch a.Verb {
	case "event":
		return instance.SendEvent(ctx, a.Type, a.Payload)
	case plan.VerbPause:
		return instance.Pause(ctx)
	case "resume":
		return instance.Resume(ctx)
	case plan.VerbTerminate:
		return instance.Terminate(ctx)
	case plan.VerbRestart:
		return instance.Restart(ctx)
	}
	return fmt.Errorf("no verb is called %q", a.Verb)
}

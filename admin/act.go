package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// Each verb answers with the state that the instance was found in.

// Pause lets no further step begin. What runs is paused once its step is stored, anything else at once.
func (d *Durable) Pause(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbPause, id, "RETURN fn::spky::wf::pause($id)", nil)
}

// Resume goes on after a pause; sleeps and deadlines move by the time it lasted. A pause that has not
// come about yet is taken back.
func (d *Durable) Resume(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbResume, id, "RETURN fn::spky::wf::resume($id)", nil)
}

// Terminate ends a live instance at once. A running step is aborted and stores nothing.
func (d *Durable) Terminate(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbTerminate, id, "RETURN fn::spky::wf::terminate($id)", nil)
}

// Restart begins again with the same id and params, in any state; steps and events are forgotten.
func (d *Durable) Restart(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbRestart, id, "RETURN fn::spky::wf::restart($id)", nil)
}

// Retry goes on with an errored instance from the steps that failed, and runs a stalled one now.
func (d *Durable) Retry(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbRetry, id, "RETURN fn::spky::wf::retry($id)", nil)
}

// SendEvent keeps an event for a live instance and wakes it if it waits for one of that type: 1 to 100
// letters, digits, _ and -, not starting with -. payload is JSON of at most 1 MiB, by default {}.
func (d *Durable) SendEvent(ctx context.Context, id, typ string, payload json.RawMessage) (wf.Status, error) {
	if !typePattern.MatchString(typ) {
		return "", inputf("event type %q; allowed: 1 to 100 letters, digits, _ and -, not starting with -", typ)
	}
	v, err := value("payload", payload, "{}")
	if err != nil {
		return "", err
	}
	return d.act(ctx, verbSendEvent, id, "RETURN fn::spky::wf::send_event($id, $type, $payload)", map[string]any{"type": typ, "payload": v})
}

func (d *Durable) act(ctx context.Context, verb, id, call string, more map[string]any) (wf.Status, error) {
	vars := map[string]any{"id": id}
	maps.Copy(vars, more)
	answer, err := surreal.First[struct {
		OK     bool      `json:"ok"`
		Status wf.Status `json:"status"`
	}](ctx, d.db.Retrying(), call, vars)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s instance %s: %w", verb, id, err)
	case answer.Status == "":
		return "", fmt.Errorf("%s instance %s: %w", verb, id, ErrNotFound)
	case !answer.OK:
		return answer.Status, &StateError{ID: id, Verb: verb, Status: answer.Status, Possible: possible(answer.Status)}
	}
	return answer.Status, nil
}

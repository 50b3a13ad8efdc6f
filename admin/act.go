package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"sp00ky.cloud/spky/wf"
)

// Each verb answers with the state that the instance was found in.

// Pause lets no further step begin. What runs is paused once its step is stored, anything else at once.
func (d *Durable) Pause(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbPause, id, "fn::spky::wf::pause($id)", nil)
}

// Resume goes on after a pause; sleeps and deadlines move by the time it lasted. A pause that has not
// come about yet is taken back.
func (d *Durable) Resume(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbResume, id, "fn::spky::wf::resume($id)", nil)
}

// Terminate ends a live instance at once. A running step is aborted and stores nothing.
func (d *Durable) Terminate(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbTerminate, id, "fn::spky::wf::terminate($id)", nil)
}

// Restart begins again with the same id and params, in any state; steps and events are forgotten.
func (d *Durable) Restart(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbRestart, id, "fn::spky::wf::restart($id)", nil)
}

// RestartFrom begins again from a step, in any state: it, all steps that began after it, and the events that nothing
// before it got are forgotten; those before it are replayed. A step that the instance does not have is ErrStepNotFound,
// and nothing is changed. The audit says from where.
func (d *Durable) RestartFrom(ctx context.Context, id string, from StepRef) (wf.Status, error) {
	if err := from.Validate(); err != nil {
		return "", inputf("restart from: %s", strings.TrimPrefix(err.Error(), "wf: "))
	}
	audit := entry(ctx, "instance."+verbRestart, id)
	audit["detail"] = short("from "+from.String(), maxDetail)
	was, err := d.act(ctx, verbRestart, id, "fn::spky::wf::restart($id, $from)", map[string]any{"from": fromRow(from), "audit": audit})
	if errors.Is(err, ErrStepNotFound) {
		return "", fmt.Errorf("restart instance %s: step %s %w", id, from, ErrStepNotFound)
	}
	return was, err
}

// fromRow is a step as the database's function takes it.
func fromRow(s StepRef) map[string]any {
	row := map[string]any{"name": s.Name}
	if s.Count > 0 {
		row["count"] = s.Count
	}
	if s.Type != "" {
		row["type"] = s.Type
	}
	return row
}

// Retry goes on with an errored instance from the steps that failed, and runs a stalled one now.
func (d *Durable) Retry(ctx context.Context, id string) (wf.Status, error) {
	return d.act(ctx, verbRetry, id, "fn::spky::wf::retry($id)", nil)
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
	return d.act(ctx, verbSendEvent, id, "fn::spky::wf::send_event($id, $type, $payload)", map[string]any{"type": typ, "payload": v})
}

func (d *Durable) act(ctx context.Context, verb, id, call string, more map[string]any) (wf.Status, error) {
	vars := map[string]any{"id": id}
	maps.Copy(vars, more)
	answer, err := audited[struct {
		OK     bool      `json:"ok"`
		Status wf.Status `json:"status"`
		Reason string    `json:"reason"`
	}](ctx, d.db, "instance."+verb, id, call, vars)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s instance %s: %w", verb, id, err)
	case answer.Reason == "step_not_found":
		return "", ErrStepNotFound
	case answer.Status == "":
		return "", fmt.Errorf("%s instance %s: %w", verb, id, ErrNotFound)
	case !answer.OK:
		return answer.Status, &StateError{ID: id, Verb: verb, Status: string(answer.Status), Possible: possible(answer.Status)}
	}
	return answer.Status, nil
}

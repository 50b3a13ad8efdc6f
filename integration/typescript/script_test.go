//go:build unix

package typescript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// A director plays the part of everybody outside the workflow, with the handles of the SDK in a process that is never
// killed.
type director struct {
	*rig
	stage   *stage
	control *backend
	// lives of the processes that run the workflow; nil where nothing may be killed.
	lives *lives
	// current is the instance of the last create, get or await.
	current string
}

// play goes through the script; one that creates nothing gets an instance to begin with.
func (d *director) play(script []action) {
	d.t.Helper()
	if !slices.ContainsFunc(script, func(a action) bool { return a.Create != nil || a.CreateBatch != nil }) {
		_, err := d.create(creation{Params: d.stage.c.Params})
		check(d.t, err)
	}
	for n, a := range script {
		refused, err := d.act(a)
		if err != nil || refused != a.Refused {
			d.t.Fatalf("action %d of the script gives %q (%v), want %q", n, refused, err, a.Refused)
		}
	}
}

// ask has the control process do something; refused is the kind of the SDK's error.
func (d *director) ask(what map[string]any, into any) (refused string, err error) {
	body, err := json.Marshal(map[string]any{"binding": d.stage.binding, "action": what})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.control.base+"/act", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Refused string          `json:"refused"`
		Message string          `json:"message"`
		Value   json.RawMessage `json:"value"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	if text := `(instance.cannot_restart) Step "`; answer.Refused == "stepNotFound" && (!strings.HasPrefix(answer.Message, text) || !strings.HasSuffix(answer.Message, `" not found in execution history`)) {
		return "", fmt.Errorf("the SDK says %q, and Cloudflare's engine other words", answer.Message)
	}
	if answer.Refused == "" && into != nil {
		return "", json.Unmarshal(answer.Value, into)
	}
	return answer.Refused, nil
}

func (d *director) act(a action) (refused string, err error) {
	d.t.Helper()
	switch {
	case a.Create != nil:
		return d.create(*a.Create)
	case a.CreateBatch != nil:
		return d.createBatch(*a.CreateBatch, a.IDs)
	case a.Get != nil:
		refused, err = d.ask(map[string]any{"get": *a.Get}, nil)
		if refused == "" {
			d.current = *a.Get
		}
		return refused, err
	case a.Await != nil:
		d.await(*a.Await)
	case a.Seen != nil:
		if saw := d.stage.attempts(); !reflect.DeepEqual(saw, a.Seen) {
			return "", fmt.Errorf("the functions were called as %v", saw)
		}
	case a.Send != nil:
		id := d.current
		if a.ID != "" {
			id = a.ID
		}
		return d.ask(map[string]any{"send": *a.Send, "payload": a.Payload, "id": id}, nil)
	case a.Pause:
		return d.ask(map[string]any{"pause": d.current}, nil)
	case a.Resume:
		return d.ask(map[string]any{"resume": d.current}, nil)
	case a.Terminate:
		return d.ask(map[string]any{"terminate": d.current}, nil)
	case a.Restart != nil:
		what := map[string]any{"restart": d.current}
		if a.Restart.From != nil {
			what["from"] = a.Restart.From
		}
		return d.ask(what, nil)
	case a.Kill:
		d.lives.kill()
	case a.Release != "":
		close(d.stage.latch(a.Release))
	default:
		return "", errors.New("unknown action")
	}
	return "", nil
}

func (d *director) create(c creation) (refused string, err error) {
	var id string
	what := map[string]any{"params": c.Params}
	if c.ID != nil {
		what["id"] = c.ID
	}
	if refused, err = d.ask(map[string]any{"create": what}, &id); refused == "" && err == nil {
		d.current = id
	}
	return refused, err
}

func (d *director) createBatch(batch []creation, ids []string) (refused string, err error) {
	var made []string
	if refused, err = d.ask(map[string]any{"createBatch": batch}, &made); refused != "" || err != nil {
		return refused, err
	}
	if !slices.Equal(made, ids) {
		return "", fmt.Errorf("the batch made %v, want %v", made, ids)
	}
	if len(made) > 0 {
		d.current = made[len(made)-1]
	}
	return "", nil
}

func (d *director) await(a awaited) {
	d.t.Helper()
	if a.ID != "" {
		d.current = a.ID
	}
	d.Poll(fmt.Sprintf("%+v", a), func() (bool, any) {
		row, steps := d.Instance(d.current), d.Steps(d.current)
		ok := a.Step != "" || a.Status == "" || row.Status == a.Status
		if a.Step != "" {
			ok = d.reached(steps[a.Step], a.Status)
		}
		for key, status := range a.Steps {
			ok = ok && steps[key].Status == status
		}
		ok = ok && (a.For == "" || row.WaitingFor["kind"] == a.For)
		ok = ok && (a.Seen == "" || len(d.stage.attempts()[a.Seen]) >= a.Times)
		ok = ok && (a.Ended == "" || d.stage.hasEnded(a.Ended))
		return ok, fmt.Sprintf("%+v\n%+v\n%v", row, steps, d.stage.attempts())
	})
}

// reached says whether a step is in a state, or was: a short wait may be over before anybody looks. A step that runs has
// its function called, which the process tells the test a moment later.
func (d *director) reached(s stepRow, status string) bool {
	switch status {
	case "waiting", "retrying":
		return s.Status == status || s.Done()
	case "running":
		return s.Status == status && len(d.stage.attempts()[s.Key()]) >= len(s.Attempts)
	}
	return s.Status == status
}

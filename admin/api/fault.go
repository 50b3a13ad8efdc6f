package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
)

// A fault is what an answer that says no consists of.
type fault struct {
	status int
	header http.Header

	// Code is a stable word for what is wrong.
	Code string `json:"code" jsonschema:"a stable word for what is wrong"`
	// Message says what is wrong, Hint what to do about it.
	Message string `json:"message" jsonschema:"what is wrong, for people"`
	Hint    string `json:"hint" jsonschema:"what to do about it"`
	// Kind, ID, Verb, State and Possible come with code state.
	Kind     string   `json:"kind,omitempty" jsonschema:"with code state: job, instance, schedule or run"`
	ID       string   `json:"id,omitempty" jsonschema:"with code state: the job, instance, schedule or run"`
	Verb     string   `json:"verb,omitempty" jsonschema:"with code state: what was refused"`
	State    string   `json:"state,omitempty" jsonschema:"with code state: the state it is in"`
	Possible []string `json:"possible,omitempty" jsonschema:"with code state: what this state allows"`
}

func (f *fault) Error() string { return f.Code + ": " + f.Message }

func refuse(status int, code, hint, format string, args ...any) *fault {
	return &fault{status: status, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// with adds a header to the answer.
func (f *fault) with(name, value string) *fault {
	if f.header == nil {
		f.header = http.Header{}
	}
	f.header.Set(name, value)
	return f
}

func (f *fault) write(w http.ResponseWriter) {
	for name, values := range f.header {
		w.Header()[name] = values
	}
	writeJSON(w, f.status, f)
}

// A kind is one row of the table that turns an error of the operations into an answer.
type kind struct {
	is    func(error) bool
	fault func(error) *fault
}

// kinds is searched from the top.
func kinds() []kind {
	return []kind{
		{as[*fault], func(err error) *fault { return found[*fault](err) }},
		{as[*admin.InputError], func(err error) *fault {
			return refuse(http.StatusUnprocessableEntity, "invalid", "correct the request; "+seeDocument, "%s", found[*admin.InputError](err).Error())
		}},
		{as[*admin.StateError], func(err error) *fault { return refusedState(found[*admin.StateError](err)) }},
		{is(admin.ErrNotFound), func(err error) *fault {
			return refuse(http.StatusNotFound, "not_found", "check the id; the list shows what there is", "%v", err)
		}},
		{is(admin.ErrStepNotFound), func(err error) *fault {
			return refuse(http.StatusNotFound, "step_not_found", "nothing was changed; the list of the instance's steps shows which there are", "%v", err)
		}},
		{is(admin.ErrExists), func(err error) *fault {
			return refuse(http.StatusConflict, "exists", "choose another id, or leave it out for a random one", "%v", err)
		}},
		{is(admin.ErrTooLarge), func(error) *fault {
			return refuse(http.StatusUnprocessableEntity, "answer_too_large", admin.HintTooLarge, "what was asked for is larger than the database's answers are read")
		}},
		{surreal.IsUnreachable, unreachable},
		{is(context.DeadlineExceeded), unreachable},
		{is(context.Canceled), func(error) *fault {
			return refuse(http.StatusServiceUnavailable, "canceled", "send the request again", "the request was given up")
		}},
		{is(surreal.ErrClosed), unreachable},
	}
}

// seeDocument ends hints.
const seeDocument = "/admin/api/openapi.json says what is allowed"

func refusedState(e *admin.StateError) *fault {
	f := refuse(http.StatusConflict, "state", stateHint(e), "%v", e)
	f.Kind, f.ID, f.Verb, f.State, f.Possible = "instance", e.ID, e.Verb, e.Status, e.Possible
	switch {
	case e.Job:
		f.Kind = "job"
	case e.Schedule:
		f.Kind = "schedule"
	case e.Run:
		f.Kind = "run"
	}
	return f
}

// stateHint is what can be done where a state does not allow a verb.
func stateHint(e *admin.StateError) string {
	switch {
	case strings.Contains(e.Status, "not over"): // what might be started
		return "wait until it is, or cancel it; `concurrency: allow` in sp00ky.yml lets runs overlap"
	case e.Status == admin.ScheduleClockless:
		return "it is started by POST /admin/api/dags/{name}/trigger alone, and has no ticks to pause"
	case len(e.Possible) == 0:
		return "nothing is possible now"
	}
	return "possible now: " + strings.Join(e.Possible, ", ")
}

func unreachable(error) *fault {
	return refuse(http.StatusServiceUnavailable, CodeAway, "check that the database runs, then try again; /ready says what is wrong",
		"the database does not answer").with("Retry-After", "2")
}

// faultOf is the answer to an error; what no kind knows is logged, not told.
func (s *Server) faultOf(r *http.Request, err error) *fault {
	for _, k := range kinds() {
		if k.is(err) {
			return k.fault(err)
		}
	}
	s.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	return refuse(http.StatusInternalServerError, "internal", "the log of this spky has the cause", "the request failed")
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func found[T error](err error) T {
	var target T
	errors.As(err, &target)
	return target
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := plainJSON(body)
	if err != nil { // a value that the database should not hold
		status, text = http.StatusInternalServerError, []byte(`{"code":"internal","message":"the answer cannot be written as JSON","hint":"the log of this spky has the cause"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

// plainJSON is JSON on one line, without escapes that only HTML needs.
func plainJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(text.Bytes(), "\n"), nil
}

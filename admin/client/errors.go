package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"sp00ky.cloud/spky/admin"
)

// An Error is an answer that says no, for a reason that only a server has.
type Error struct {
	// Status is the HTTP status, Code the stable word for the reason.
	Status int
	Code   string
	// Message says what happened, Hint what to do about it.
	Message, Hint string
}

func (e *Error) Error() string { return "admin API: " + e.Message }

// An UnreachableError is a server that gave no answer.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string {
	cause := e.Err
	var wrapped *url.Error
	if errors.As(cause, &wrapped) {
		cause = wrapped.Err // without method and URL once more
	}
	return fmt.Sprintf("reach the admin API at %s: %v", e.URL, cause)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// A said is an error of package admin in the server's words.
type said struct {
	message string
	kind    error
}

func (e *said) Error() string { return e.message }
func (e *said) Unwrap() error { return e.kind }

// A fault is the body of an answer that says no.
type fault struct {
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint"`
	Kind     string   `json:"kind"`
	ID       string   `json:"id"`
	Verb     string   `json:"verb"`
	State    string   `json:"state"`
	Possible []string `json:"possible"`
}

// maxFault bounds what is read of such an answer.
const maxFault = 64 << 10

// refusal makes an answer that says no an error.
func refusal(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxFault)) // what there is of it
	var f fault
	if err := json.Unmarshal(text, &f); err != nil || f.Code == "" {
		return &Error{
			Status: answer.StatusCode, Code: "unknown", Message: fmt.Sprintf("an answer with status %d that is none of the admin API's", answer.StatusCode),
			Hint: "check the URL: it is where `spky run` or `spky dev` serves the admin API, port 9668 by default",
		}
	}
	return f.err(answer.StatusCode)
}

// err is the error that a fault stands for.
func (f fault) err(status int) error {
	switch f.Code {
	case "not_found":
		return &said{f.Message, admin.ErrNotFound}
	case "step_not_found":
		return &said{f.Message, admin.ErrStepNotFound}
	case "exists":
		return &said{f.Message, admin.ErrExists}
	case "bad_request", "invalid":
		return &said{f.Message, admin.NewInputError(f.Message)}
	case "state":
		return &said{f.Message, &admin.StateError{Job: f.Kind == "job", Schedule: f.Kind == "schedule", Run: f.Kind == "run", ID: f.ID, Verb: f.Verb, Status: f.State, Possible: f.Possible}}
	}
	return &Error{Status: status, Code: f.Code, Message: f.Message, Hint: f.Hint}
}

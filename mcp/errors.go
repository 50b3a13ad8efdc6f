package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sp00ky.cloud/spky/admin"
	api "sp00ky.cloud/spky/admin/client"
)

// A fault is an error as a tool tells it.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// maxMessage bounds an error's text: it may quote what somebody wrote.
const maxMessage = 600

// codeTooLarge is an answer that is larger than it is read: the admin API has the same word.
const codeTooLarge = "answer_too_large"

// explainError is the one table from errors to codes and remedies.
func explainError(err error) fault {
	f := fault{Message: cut(clean(err.Error()), maxMessage)}
	var refused *admin.StateError
	var answered *api.Error
	switch {
	case as[*admin.InputError](err):
		f.Code, f.Hint = "input", "the tool's input schema says what is allowed"
	case errors.As(err, &refused) && refused.Status == admin.ScheduleClockless:
		f.Code, f.Hint = "state", "nothing was changed; dag_trigger starts it, and it has no ticks to pause"
	case errors.As(err, &refused):
		f.Code, f.Hint = "state", "nothing was changed; possible now: "+strings.Join(toolsFor(refused), ", ")
	case errors.Is(err, admin.ErrNotFound):
		f.Code, f.Hint = "not_found", "it does not exist, or no longer; the list tools show what does"
	case errors.Is(err, admin.ErrStepNotFound):
		f.Code, f.Hint = "step_not_found", "nothing was changed; durable_instance_get shows the steps that there are"
	case errors.Is(err, admin.ErrExists):
		f.Code, f.Hint = "exists", "choose another id, or leave it out for a random one"
	case as[*scopeError](err):
		f.Code, f.Hint = "scope", "nothing was changed; ask the operator for a token with the scope full, or to start the server without --read-only"
	case errors.Is(err, admin.ErrTooLarge):
		f.Code, f.Hint = codeTooLarge, admin.HintTooLarge
	case errors.As(err, &answered):
		f.Code, f.Hint = explainAnswer(answered)
	case errors.Is(err, context.DeadlineExceeded):
		f.Code, f.Hint = "timeout", fmt.Sprintf("it took longer than %s, perhaps because the database is out of reach; the outcome is unknown, look before trying again", patience)
	default:
		f.Code, f.Hint = "internal", "the database or the admin API may be out of reach; try again, and tell the operator if it stays so"
	}
	return f
}

// explainAnswer is the same table for what only an admin API says.
func explainAnswer(answered *api.Error) (code, hint string) {
	switch {
	case answered.Status == http.StatusForbidden:
		return "scope", "nothing was changed; " + answered.Hint
	case answered.Status == http.StatusUnauthorized:
		return "unauthorized", "nothing was changed; the operator has to put a valid token into SPKY_ADMIN_TOKEN of the program that starts this server: `spky token create` makes one"
	case answered.Code == codeTooLarge:
		return codeTooLarge, admin.HintTooLarge
	}
	return "internal", answered.Hint
}

// toolsFor names the tools for what a state allows.
func toolsFor(e *admin.StateError) []string {
	if len(e.Possible) == 0 {
		return []string{"nothing"}
	}
	prefix := "durable_instance_"
	switch {
	case e.Job:
		prefix = "job_"
	case e.Schedule:
		prefix = "schedule_"
	case e.Run:
		prefix = "workflow_run_"
	}
	var all []string
	for _, verb := range e.Possible {
		if verb == "terminate" {
			verb = "cancel"
		}
		all = append(all, prefix+strings.ReplaceAll(verb, "-", "_"))
	}
	return all
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// refusal is an error as a result.
func refusal(err error) *sdk.CallToolResult {
	text, failed := encode(explainError(err))
	if failed != nil { // texts always encode
		text = []byte(`{"code":"internal","message":"the error cannot be shown"}`)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// A scopeError is a tool that the caller may not use.
type scopeError struct{ tool string }

func (e *scopeError) Error() string {
	return e.tool + " changes things, and the caller may only read"
}

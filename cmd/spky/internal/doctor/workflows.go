package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

//go:embed durable.surql
var tryDurableJob string

// couldBeWritten is what tryDurableJob throws when all went well.
const couldBeWritten = "spky: it can be written"

// fieldOf finds the column in the database's complaint about one.
var fieldOf = regexp.MustCompile("field [`'‘]([^`'’]+)[`'’]")

// An attempt is a job that the platform writes itself, and a transaction that tries to and takes it back.
type attempt struct {
	name, statement string
	vars            map[string]any
	// works and fails say what follows.
	works, fails string
	// given are the columns that the job is written with.
	given []string
}

// durable looks whether the job of a workflow instance could be written to a table: such a job brings
// none of the columns that only the application knows of.
func (e *exam) durable(ctx context.Context, db *surreal.Client, b config.Backend, box schema.Outbox) {
	e.tries(ctx, db, box, attempt{
		name: "durable jobs of " + box.Table, statement: tryDurableJob, works: "the jobs of " + workflowsOf(b) + " can be written",
		fails: "no instance of " + workflowsOf(b) + " can be created", given: []string{"path", "payload", "max_retries", "retry_strategy", "run_at"},
	})
}

// tries makes an attempt, and names the columns in the way.
func (e *exam) tries(ctx context.Context, db *surreal.Client, box schema.Outbox, a attempt) {
	vars := map[string]any{"table": box.Table}
	maps.Copy(vars, a.vars)
	err := surreal.Exec(ctx, db, a.statement, vars)
	thrown, _ := surreal.IsThrown(err)
	if strings.Contains(thrown, couldBeWritten) {
		e.pass(a.name, a.works)
		return
	}
	cause := "the database let the attempt through without a word"
	if err != nil {
		cause = err.Error()
	}
	columns := mandatoryColumns(box, a.given)
	if m := fieldOf.FindStringSubmatch(cause); m != nil && !slices.Contains(columns, m[1]) {
		columns = append([]string{m[1]}, columns...)
	}
	if len(columns) == 0 {
		e.fail(a.name, a.fails+": "+cause, "make the table accept a row of "+strings.Join(a.given, ", "))
		return
	}
	for _, column := range columns {
		e.fail(a.name, fmt.Sprintf("%s: column %s has to be given, and the platform does not know it (%s)", a.fails, column, cause),
			fmt.Sprintf("make it optional, or give it a default: DEFINE FIELD OVERWRITE %s ON %s TYPE option<…>", column, box.Table))
	}
}

// mandatoryColumns are those that accept neither to be missing nor have a value of their own.
func mandatoryColumns(box schema.Outbox, given []string) []string {
	var all []string
	for column, definition := range box.Fields {
		if slices.Contains(given, column) || strings.ContainsAny(column, ".[") {
			continue
		}
		optional := false
		for _, mark := range []string{"TYPE any", "TYPE none", "option<", "DEFAULT", "VALUE", "COMPUTED"} {
			optional = optional || strings.Contains(definition, mark)
		}
		if !optional && strings.Contains(definition, " TYPE ") {
			all = append(all, column)
		}
	}
	slices.Sort(all)
	return all
}

func workflowsOf(b config.Backend) string {
	var all []string
	for _, w := range b.Workflows {
		all = append(all, w.Binding)
	}
	return strings.Join(all, ", ")
}

// workflows asks a backend that answers whether it serves the workflows that it is declared to have, by
// asking for a run of an instance that does not exist.
func (e *exam) workflows(ctx context.Context, b config.Backend) {
	for _, w := range b.Workflows {
		e.workflow(ctx, b, w)
	}
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 10

func (e *exam) workflow(ctx context.Context, b config.Backend, w config.Workflow) {
	name := "workflow " + w.Binding
	url := strings.TrimSuffix(b.BaseURL.String(), "/") + "/__spky/workflow/" + w.Binding
	said, err := askForRun(ctx, url, b.AuthToken.Reveal())
	switch {
	case err != nil:
		e.warn(name, err.Error(), "see whether the backend hangs; its workflows wait meanwhile")
	case said.code == "unknown_instance":
		e.pass(name, b.Name+" serves it")
	case said.code == "unknown_workflow":
		e.warn(name, fmt.Sprintf("backend %s serves workflows, and not this one: %s", b.Name, said.message), "register it under that name in the backend, or correct apps."+b.Name+".workflows")
	case said.status == http.StatusNotFound || said.status == http.StatusMethodNotAllowed:
		e.warn(name, fmt.Sprintf("backend %s serves no workflows: POST %s answers %d", b.Name, url, said.status),
			"wrap its handler with the workflow engine's: http.ListenAndServe(addr, engine.Handler(mux))")
	case said.status == http.StatusUnauthorized || said.status == http.StatusForbidden:
		e.warn(name, fmt.Sprintf("backend %s refuses the runner: POST %s answers %d", b.Name, url, said.status), "give auth.token of sp00ky.yml and the backend's engine the same token")
	case said.status == http.StatusServiceUnavailable:
		e.warn(name, fmt.Sprintf("backend %s takes no runs at the moment: %s", b.Name, said.message), "try again")
	default:
		e.warn(name, fmt.Sprintf("POST %s answers %d: %s", url, said.status, said.message), "see the backend's log; 404 for an unknown instance was expected")
	}
}

// A runAnswer is what a backend answers to a request for a run; code is the protocol's, "" for another
// answer.
type runAnswer struct {
	status        int
	code, message string
}

// askForRun asks for a run of an instance of a name that nobody has.
func askForRun(ctx context.Context, url, token string) (said runAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"instance": "doctor_" + rand.Text()})
	if err != nil {
		return said, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return said, fmt.Errorf("POST %s: %w", url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return said, err // it names the method and the address
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return said, fmt.Errorf("POST %s: %w", url, err)
	}
	said = runAnswer{status: response.StatusCode, message: strings.TrimSpace(string(text))}
	var refusal struct{ Code, Message string }
	if json.Unmarshal(text, &refusal) == nil && refusal.Message != "" {
		said.code, said.message = refusal.Code, refusal.Message
	}
	return said, nil
}

package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"

	"sp00ky.cloud/spky/surreal"
)

// idPattern is what an instance may be called, typePattern what an event may.
var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$`)
	typePattern = idPattern
)

// latest is what no instance is called: on command lines it stands for a workflow's newest one.
const latest = "latest"

// maxValue bounds params and payloads, in bytes of JSON as surreal.JSONSize counts them.
const maxValue = 1 << 20

// A NewInstance is an instance to be created.
type NewInstance struct {
	// Binding names the workflow, which a backend of the configuration has to have.
	Binding string
	// ID names the instance: 1 to 100 letters, digits, _ and -, not starting with -, and not "latest",
	// which stands for a workflow's newest instance. It must not be used by an instance of any workflow.
	// Defaults to a random one.
	ID string
	// Params are JSON, at most 1 MiB. Defaults to an empty object.
	Params json.RawMessage
	// Owner is the record whose user may read the instance, such as user:abc. Defaults to nobody.
	Owner string
}

// Create writes an instance and the job that runs it, or nothing, and answers with its id. It runs
// once a node and the backend are there.
func (d *Durable) Create(ctx context.Context, n NewInstance) (string, error) {
	row, err := d.newRow(n)
	if err != nil {
		return "", err
	}
	traced(ctx, row)
	type answer struct {
		OK bool `json:"ok"`
	}
	call := func() (answer, error) {
		return audited[answer](ctx, d.db, "instance.create", fmt.Sprint(row["id"]), "fn::spky::wf::create($new)", map[string]any{"new": row})
	}
	made, err := call()
	if surreal.IsAlreadyExists(err) { // by somebody else, at the same moment: look again
		made, err = call()
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("create instance of %s: %w", n.Binding, err)
	case !made.OK:
		return "", fmt.Errorf("create instance %s of %s: instance %w", row["id"], n.Binding, ErrExists)
	}
	return row["id"].(string), nil //nolint:forcetypeassert // set by newRow
}

func (d *Durable) newRow(n NewInstance) (map[string]any, error) {
	w, ok := d.lookup(n.Binding)
	switch {
	case !ok:
		return nil, fmt.Errorf("create instance of %s: workflow %w: no backend of the configuration has it", n.Binding, ErrNotFound)
	case w.Table == "":
		return nil, inputf("backend %s has the workflow %s and no outbox table to run it from", w.Backend, n.Binding)
	case n.ID != "" && !idPattern.MatchString(n.ID):
		return nil, inputf("id %q; allowed: 1 to 100 letters, digits, _ and -, not starting with -", n.ID)
	case n.ID == latest:
		return nil, inputf("id %q stands for a workflow's newest instance; choose another", n.ID)
	}
	row := map[string]any{
		"id": n.ID, "binding": n.Binding, "owner": surreal.None, "backend": w.Backend, "job_table": w.Table, "version": surreal.None,
	}
	if n.ID == "" {
		row["id"] = rand.Text()
	}
	if n.Owner != "" {
		owner, err := surreal.ParseID(n.Owner)
		if err != nil {
			return nil, inputf("owner %q: %v", n.Owner, err)
		}
		row["owner"] = owner
	}
	var err error
	row["params"], err = value("params", n.Params, "{}")
	return row, err
}

// value makes JSON a value that the database stores.
func value(what string, text json.RawMessage, otherwise string) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = json.RawMessage(otherwise)
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, inputf("%s: not JSON: %v", what, err)
	}
	if size := surreal.JSONSize(text); size > maxValue {
		return nil, inputf("%s: %d bytes of JSON; allowed: 1 MiB. Keep large data in rows of its own and pass its id", what, size)
	}
	v, err := surreal.FromJSON(text)
	if err != nil {
		return nil, inputf("%s: %v", what, err)
	}
	return v, nil
}

package api

import (
	"encoding/json"
	"time"

	"sp00ky.cloud/spky/admin"
)

// What the API answers with where package admin has no type for it, and what it takes. Exported ones
// are the client's too.

type apiConfig struct {
	Authentication []string `json:"authentication" jsonschema:"how to sign in: bearer"`
	MCP            bool     `json:"mcp" jsonschema:"whether /admin/api/mcp is served"`
}

type clock struct {
	Now time.Time `json:"now"`
}

type workflows struct {
	Workflows []admin.Workflow `json:"workflows"`
}

// Workflow is a workflow with its counts.
type Workflow struct {
	admin.Workflow

	Counts []admin.Count `json:"instances" jsonschema:"how many instances are in which state, each counted to 100,000 at most"`
}

type newInstance struct {
	ID     string          `json:"id,omitempty" jsonschema:"1 to 100 letters, digits, _ and -, not starting with -, and not latest; a random one where it is left out"`
	Params json.RawMessage `json:"params,omitempty" jsonschema:"JSON of at most 1 MiB, {} where it is left out"`
	Owner  string          `json:"owner,omitempty" jsonschema:"the record whose user may read the instance, such as user:abc"`
}

type created struct {
	ID string `json:"id"`
}

// Instance is an instance with its steps and events.
type Instance struct {
	admin.Instance

	Steps  []admin.Step  `json:"steps"`
	Events []admin.Event `json:"events"`
}

type steps struct {
	Steps []admin.Step `json:"steps"`
}

type events struct {
	Events []admin.Event `json:"events"`
}

// Acted is what a verb answers with.
type Acted struct {
	ID  string `json:"id"`
	Was string `json:"was" jsonschema:"the state it was found in"`
}

// restart is what a restart is asked for with.
type restart struct {
	From *restartFrom `json:"from,omitempty" jsonschema:"the step to begin from; from the start where there is none"`
}

type restartFrom struct {
	Name  string `json:"name" jsonschema:"the step's name"`
	Count *int   `json:"count,omitempty" jsonschema:"which of that name and type, from 1; the first by default"`
	Type  string `json:"type,omitempty" jsonschema:"do, sleep or waitForEvent; by default do where a do has the name, else what has it"`
}

// Progress is an event of an instance's stream: the instance, and the steps that are not as they were
// told last; all of them after a restart, when incarnation has changed.
type Progress struct {
	Instance admin.Summary `json:"instance"`
	Steps    []admin.Step  `json:"steps"`
}

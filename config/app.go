package config

import (
	"maps"
	"net/url"
	"slices"
	"time"
)

// AppKind is the type of an app.
type AppKind string

// The types of apps.
const (
	KindBackend  AppKind = "backend"
	KindFrontend AppKind = "frontend"
	KindDocker   AppKind = "docker"
)

// App is one entry of `apps`: something that spky dev may start.
type App struct {
	Name  string
	Kind  AppKind
	Scope Scope
	// External says that the app is hosted elsewhere.
	External bool
	// Dir is where its development command runs.
	Dir string
	// Dev is its development command, nil without one.
	Dev *Dev
	// Env holds its variables; see Environ.
	Env map[string]Secret
}

// Environ returns the variables of the app as sorted NAME=value texts, to be
// appended to the environment of its process. They are in the clear.
func (a App) Environ() []string { return environ(a.Env) }

// RetryOn says which answers of a backend are worth another attempt.
type RetryOn string

// RetryAll retries every failed attempt, RetryTransient only those that may
// succeed later: 408, 425, 429, 5xx, transport errors and timeouts.
const (
	RetryAll       RetryOn = "all"
	RetryTransient RetryOn = "transient"
)

// Backend is an app of type backend: the target of the jobs of one outbox
// table.
type Backend struct {
	Name  string
	Scope Scope
	// External says that the backend is hosted elsewhere.
	External bool
	// Dir is where its development command runs.
	Dir string

	// BaseURL is http or https with a host and without user, query and
	// fragment. It is nil when the file gives none.
	BaseURL *url.URL
	// AuthToken is the bearer token of every request; empty for none.
	AuthToken Secret

	// Table is the outbox table, "" without one. OutboxSchema is the path of
	// the .surql that defines it.
	Table        string
	OutboxSchema string
	// Concurrency is how many jobs run at once on a node. Defaults to 16.
	Concurrency int
	// PartitionBy is the column whose values part the jobs, or a path of names
	// below one, such as payload.tenant; "" parts nothing.
	PartitionBy string
	// PartitionConcurrency is how many jobs of one value run at once, on all
	// nodes together. Defaults to 1 with PartitionBy, else it is 0.
	PartitionConcurrency int
	// RetryOn defaults to RetryAll.
	RetryOn RetryOn
	// AllowAnyPath lets jobs call paths that Spec does not have.
	AllowAnyPath bool

	// Timeout is for one attempt. Defaults to 10 s, from 1 s to 1 h.
	Timeout time.Duration
	// TimeoutOverridable lets a job's own timeout replace it.
	TimeoutOverridable bool
	// Healthcheck is the path that tells whether the backend is up, or "".
	Healthcheck string

	// Spec is the OpenAPI document, nil without one.
	Spec *Spec
	// Workflows are the durable workflows that the backend serves.
	Workflows []Workflow

	// Dev is the development command, nil without one.
	Dev *Dev
	// Env holds the variables of the backend; see Environ.
	Env map[string]Secret
}

// Environ returns the variables of the backend as sorted NAME=value texts, to
// be appended to the environment of its process. They are in the clear.
func (b Backend) Environ() []string { return environ(b.Env) }

// AllowsPath reports whether jobs may POST to a path: there is no OpenAPI
// document, the file allows any path, or the document has the route. The rules
// for every path, such as no ".." segments, are not checked here.
func (b Backend) AllowsPath(path string) bool {
	return b.Spec == nil || b.AllowAnyPath || b.Spec.AllowsPost(path)
}

// Workflow is a durable workflow of a backend.
type Workflow struct {
	// Binding is the name that it is started by and the last segment of its
	// route.
	Binding string
	// Class is the name that the backend exports it under.
	Class string
}

// DevKind is the form of a development command.
type DevKind string

// The forms of development commands.
const (
	DevCommand DevKind = "command" // Command, run by a shell
	DevNPM     DevKind = "npm"     // Script of package.json
	DevUV      DevKind = "uv"      // Script, run by uv
	DevDocker  DevKind = "docker"  // File is a Dockerfile
)

// Dev is the development command of an app.
type Dev struct {
	Kind DevKind
	// Command is the command line of DevCommand.
	Command string
	// Script is what DevNPM and DevUV run.
	Script string
	// File is the path of the Dockerfile of DevDocker.
	File string
	// Workdir is where the command runs. Defaults to the app's Dir.
	Workdir string
	// Port is the port inside the container of DevDocker, 0 for none.
	Port int
}

func environ(env map[string]Secret) []string {
	lines := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, name+"="+env[name].Reveal())
	}
	return lines
}

package config

import "time"

// Schedule is one entry of `schedules`: jobs or a durable workflow, again and
// again.
type Schedule struct {
	Name string
	// Exactly one of Cron (five fields, or six with leading seconds) and Every
	// is set.
	Cron  string
	Every time.Duration
	// Timezone is an IANA zone. Defaults to UTC.
	Timezone string
	// Backend and Route say where the job goes; Workflow, instead of both,
	// which durable workflow is started.
	Backend, Route string
	Workflow       string
	// Payload is a JSON object, nil without one. Whole numbers are int64.
	Payload map[string]any
	ForEach *ForEach
	// Concurrency is "skip" (the default), "allow" or "replace".
	Concurrency string
	Retry       Retry
	// Timeout and Deadline are 0 when the file gives none.
	Timeout, Deadline time.Duration
	// QuarantineAfter is how many failures in a row stop a key; 0 for never.
	QuarantineAfter int
	History         History
	// Enabled defaults to true.
	Enabled bool
}

// ForEach turns one firing into one job for each row of a query.
type ForEach struct {
	// Query is one SELECT statement.
	Query string
	// Key is the column that tells the rows apart. Defaults to id.
	Key string
}

// Retry says how often a job of a schedule or step is tried.
type Retry struct {
	// Max is the number of attempts. Defaults to 3.
	Max int
	// Strategy is "linear" (the default) or "exponential".
	Strategy string
}

// History says which finished runs of a schedule are kept, and how long.
type History struct {
	// Mode is "all", "failures-only", or "" for that of Retention.
	Mode string
	// Success and Failed are 0 for those of Retention.
	Success, Failed time.Duration
}

// DAG is one entry of the top-level `workflows`: steps that are jobs, in the
// order of their dependencies. It is not a durable workflow; those are
// Backend.Workflows.
type DAG struct {
	Name string
	// Trigger starts it by the clock; nil for by hand only.
	Trigger *Trigger
	// Steps are in file order and have no cycle.
	Steps []DAGStep
	// OnFailure is "halt" (the default) or "continue-independent".
	OnFailure string
	ForEach   *ForEach
	// Concurrency is "skip" (the default), "allow" or "replace".
	Concurrency string
}

// Trigger is the clock of a DAG. Exactly one of Cron and Every is set.
type Trigger struct {
	Cron     string
	Every    time.Duration
	Timezone string
}

// DAGStep is one step of a DAG.
type DAGStep struct {
	Name           string
	Backend, Route string
	// DependsOn are the names of the steps that have to succeed first.
	DependsOn []string
	// Payload is a JSON object, nil without one. Whole numbers are int64.
	Payload map[string]any
	Retry   Retry
	Timeout time.Duration
}

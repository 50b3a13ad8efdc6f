package config

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

// DefaultFile is the name of the configuration file in a project's root.
const DefaultFile = "sp00ky.yml"

// Defaults of the file and of the environment.
const (
	defaultEndpoint    = "http://127.0.0.1:8666"
	defaultListen      = "127.0.0.1:8667"
	defaultAdminListen = "127.0.0.1:9668"
	defaultVersion     = "v3.0.0"
	defaultConcurrency = 16
	defaultPartition   = 1
	defaultTimeout     = 10 * time.Second
	defaultGrace       = 30 * time.Second
)

// Stage says where the program runs. Apps that are scoped to the other stage
// take no part.
type Stage string

// The stages. StageAny checks and returns the apps of both.
const (
	StageAny   Stage = ""
	StageDev   Stage = "dev"
	StageCloud Stage = "cloud"
)

// Scope is the stage that an app is meant for.
type Scope string

// The scopes.
const (
	ScopeAll   Scope = "all"
	ScopeDev   Scope = "devOnly"
	ScopeCloud Scope = "cloudOnly"
)

// in reports whether an app of this scope takes part in a stage.
func (s Scope) in(stage Stage) bool {
	return stage == StageAny || s == ScopeAll || (s == ScopeDev) == (stage == StageDev)
}

// meets reports whether two apps can run at the same time.
func (s Scope) meets(other Scope) bool {
	return s == ScopeAll || other == ScopeAll || s == other
}

// Config is a valid configuration, with every default filled in. Paths are
// joined to the directory of the file that names them.
type Config struct {
	// File is the path of the configuration file, Dir its directory.
	File, Dir string
	// Mode is "singlenode" or "cluster".
	Mode string
	Slug string

	SurrealDB SurrealDB
	Schema    Schema

	// Apps are all apps of the stage, backends included, in file order.
	Apps []App
	// Backends are the apps of type backend of the stage, in file order. Not
	// all of them take jobs; see Runnable.
	Backends []Backend

	// Listen is the address of the sync processor. Defaults to 127.0.0.1:8667.
	Listen string
	// Advertise is the address that other nodes and the database reach the sync
	// processor at, or "".
	Advertise string
	// NodeID is the name of this node, or "" to make one up.
	NodeID string
	// AuthSecret guards the sync processor and is the break-glass token of the
	// admin API. It is empty unless the environment sets it.
	AuthSecret Secret

	Admin    Admin
	Metrics  Metrics
	LogLevel LogLevel
	// ShutdownGrace is how long running jobs may take to finish at shutdown.
	// Defaults to 30 s.
	ShutdownGrace time.Duration
	Retention     Retention
	Schedules     []Schedule
	Workflows     []DAG
	// Redact holds the paths of values that no surface shows, also where errors repeat them; errors hides all texts of errors.
	Redact []string

	// Warnings are the findings that did not keep the configuration from
	// loading.
	Warnings []Finding
}

// SurrealDB says how to reach the database.
type SurrealDB struct {
	// Version is the image tag that the framework would start. Defaults to
	// v3.0.0.
	Version string
	// Endpoint is a ws, wss, http or https URL. Defaults to
	// http://127.0.0.1:8666, where spky dev puts the database that it starts.
	Endpoint string
	// Namespace and Database both default to "main".
	Namespace, Database string
	// Username defaults to "root", Password to "root".
	Username string
	Password Secret
	// External says that Endpoint was given, by the file with hosting external,
	// by the environment or by a flag: the database is somebody else's to run.
	External bool
}

// Schema says where the user's own schema is.
type Schema struct {
	// File defaults to src/schema.surql, Migrations to migrations, Buckets to
	// src/buckets. None of them needs to exist.
	File, Migrations, Buckets string
}

// Admin configures the admin API and the dashboard.
type Admin struct {
	// Listen is the address, "" where the admin API is off. Defaults to
	// 127.0.0.1:9668.
	Listen string
	// Tokens are the bearer tokens that the file gives. Others live in the
	// database.
	Tokens []AdminToken
	// TraceURL is where the dashboard leads to a trace, with {trace} for its id; "" for nowhere.
	TraceURL string
}

// AdminToken is a bearer token of the admin API.
type AdminToken struct {
	Label string
	// Scope is "read" or "full".
	Scope string
	Token Secret
}

// Metrics configures the Prometheus endpoint.
type Metrics struct {
	// Enabled defaults to true.
	Enabled bool
	// Listen is an address of its own, or "" to serve /metrics on the address
	// of the sync processor. The admin API serves them in either case.
	Listen string
}

// Retention says how long finished rows are kept. A zero duration keeps them
// for ever.
type Retention struct {
	// Success (6h) and Failed (14d) are for jobs, RunSuccess (24h) and
	// RunFailed (30d) for runs and durable instances.
	Success, Failed, RunSuccess, RunFailed time.Duration
	// RunDeadline ends a run that takes longer. Defaults to 1h; 0 is off.
	RunDeadline time.Duration
	// Audit is for rows of the audit. Defaults to 400d.
	Audit time.Duration
	// MaxRows caps the successful rows of a table. Defaults to 0, no cap.
	MaxRows int
	// Mode is the default history of schedules: "all" (the default) or
	// "failures-only".
	Mode string
}

// Runnable returns the backends that take jobs: those with an outbox table and
// a base URL, in file order.
func (c *Config) Runnable() []Backend {
	var runnable []Backend
	for _, b := range c.Backends {
		if b.Table != "" && b.BaseURL != nil {
			runnable = append(runnable, b)
		}
	}
	return runnable
}

// Backend returns the backend of that name.
func (c *Config) Backend(name string) (Backend, bool) {
	i := slices.IndexFunc(c.Backends, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return Backend{}, false
	}
	return c.Backends[i], true
}

// CheckExposure returns an error finding for every address that other machines
// can reach although nothing guards it. A daemon must not listen when there is
// one. The sync processor and metrics are guarded by AuthSecret, the admin API
// by AuthSecret or a token.
func (c *Config) CheckExposure() []Finding {
	var open []Finding
	report := func(key, listen string) {
		open = append(open, Finding{
			Severity: SeverityError, File: FileEnvironment, Key: key,
			Message: "found the address " + listen + ", which other machines can reach, and no secret, allowed: a loopback address, or any address with a secret",
			Remedy:  "set SPKY_AUTH_SECRET, or listen on 127.0.0.1",
		})
	}
	if c.AuthSecret.IsZero() {
		if !IsLoopback(c.Listen) {
			report("SPKY_SSP_LISTEN_ADDR", c.Listen)
		}
		if c.Metrics.Enabled && c.Metrics.Listen != "" && !IsLoopback(c.Metrics.Listen) {
			report("metrics.listen", c.Metrics.Listen)
		}
		if len(c.Admin.Tokens) == 0 && c.Admin.Listen != "" && !IsLoopback(c.Admin.Listen) {
			report("admin.listen", c.Admin.Listen)
		}
	}
	return open
}

// IsLoopback reports whether a listen address can only be reached from this
// machine. An address without a host listens everywhere.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

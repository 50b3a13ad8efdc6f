package ssp

import (
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// Config describes a node.
type Config struct {
	// DB is the database; its Name and OnState are the node's to set.
	DB surreal.Config
	// Backends whose outbox tables the node works on: those of [config.Config.Runnable].
	Backends []config.Backend
	// Schedules are started by the clock, those of [schedule.Specs] whose backends are among Backends.
	Schedules []schedule.Spec
	// Redact says what logs and traces do not show: of texts of errors, what they repeat of a job's payload and result.
	Redact redact.Rules
	// ID names this process among the nodes and must be new for every process. Defaults to
	// "ssp-" and a random text.
	ID string
	// Listen is the address of the node's HTTP server; "" is none. Off loopback it needs AuthSecret.
	Listen string
	// MetricsListen is an address of its own for /metrics, which is then not served on Listen. Defaults to none.
	MetricsListen string
	// NoMetrics serves /metrics nowhere.
	NoMetrics bool
	// AuthSecret is the bearer token of POST /ingest. Without one, the route accepts anybody who
	// reaches the loopback address.
	AuthSecret string
	// ShutdownGrace is how long requests in flight may go on once the node stops. Defaults to 30 s.
	ShutdownGrace time.Duration
	// SweepInterval is the time between two looks for rows that no notification announced.
	// Defaults to 2 s.
	SweepInterval time.Duration
	// Retention says how long finished rows are kept, until an operator says otherwise in
	// _00_retention:default. Its zero value keeps them for ever.
	Retention config.Retention
	// PruneInterval is the time between two looks for rows that are older than they have to be kept.
	// Defaults to one minute.
	PruneInterval time.Duration
	// BeatInterval is the time between two heartbeats. Defaults to 2 s; a node silent for 10 s is
	// dead to the others.
	BeatInterval time.Duration
	// Jitter moves each backoff by a random share of up to ± this. Defaults to 0.1; negative is none.
	Jitter float64
	// Version of the program, for the User-Agent and the node's row. Defaults to "dev".
	Version string
	// TracerProvider takes the spans of jobs and their attempts; it has to make ids by [JobIDs]. Defaults
	// to none, and tracing that is off.
	TracerProvider trace.TracerProvider
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	orDuration := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	orDuration(&c.ShutdownGrace, 30*time.Second)
	orDuration(&c.SweepInterval, 2*time.Second)
	orDuration(&c.BeatInterval, 2*time.Second)
	orDuration(&c.PruneInterval, time.Minute)
	switch {
	case c.Jitter == 0:
		c.Jitter = 0.1
	case c.Jitter < 0:
		c.Jitter = 0
	}
	if c.ID == "" {
		c.ID = "ssp-" + strings.ToLower(rand.Text())
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

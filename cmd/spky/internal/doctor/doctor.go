// Package doctor looks for what keeps jobs from running: on this machine, in the
// configuration, in the database and at the backends. It changes nothing.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/surreal"
)

// Severity is how bad a check turned out.
type Severity string

// The severities.
const (
	Pass Severity = "pass"
	Warn Severity = "warn"
	Fail Severity = "fail"
)

// A Check is one thing that was looked at.
type Check struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	OK       bool     `json:"ok"`
	// Fix says what to do; empty where there is nothing to do.
	Fix string `json:"fix,omitempty"`
	// Detail says what was found.
	Detail string `json:"detail,omitempty"`
}

// A Report is everything that was looked at.
type Report struct {
	// OK is true where every check passed.
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Options say what to look at.
type Options struct {
	Config config.Options
	// Database makes the connection's settings of a configuration.
	Database func(*config.Config) surreal.Config
}

// Examine looks at everything. What cannot be looked at because something
// before it failed is left out.
func Examine(ctx context.Context, o Options) Report {
	e := &exam{report: Report{OK: true, Checks: []Check{}}}
	cfg := e.config(o.Config)
	e.tools(ctx, cfg)
	if cfg == nil {
		return e.report
	}
	e.database(ctx, o.Database(cfg), cfg)
	e.backends(ctx, cfg)
	return e.report
}

type exam struct{ report Report }

func (e *exam) add(name string, s Severity, detail, fix string) {
	e.report.Checks = append(e.report.Checks, Check{Name: name, Severity: s, OK: s == Pass, Detail: detail, Fix: fix})
	e.report.OK = e.report.OK && s == Pass
}

func (e *exam) pass(name, detail string)      { e.add(name, Pass, detail, "") }
func (e *exam) warn(name, detail, fix string) { e.add(name, Warn, detail, fix) }
func (e *exam) fail(name, detail, fix string) { e.add(name, Fail, detail, fix) }

// config is the configuration, nil where it has errors.
func (e *exam) config(o config.Options) *config.Config {
	const name = "configuration"
	r := config.Lint("", o)
	for _, f := range r.Errors {
		e.fail(name, strings.TrimSuffix(f.String(), "; "+f.Remedy), f.Remedy)
	}
	for _, f := range r.Warnings {
		e.warn(name, strings.TrimSuffix(f.String(), "; "+f.Remedy), f.Remedy)
	}
	if !r.OK() {
		return nil
	}
	cfg, err := config.Load(o)
	if err != nil {
		e.fail(name, err.Error(), "")
		return nil
	}
	for _, f := range cfg.CheckExposure() {
		e.fail(name, f.Message, f.Remedy)
	}
	if len(r.Findings()) == 0 {
		e.pass(name, cfg.File)
	}
	if len(cfg.Runnable()) == 0 {
		e.warn("backends", "no backend takes jobs: none has method.table and baseUrl", "`spky add api` adds one")
	}
	return cfg
}

// tools looks for what spky dev starts a database with. They matter only where
// no database is given.
func (e *exam) tools(ctx context.Context, cfg *config.Config) {
	const name = "development database"
	t := devdb.Find(ctx)
	var found []string
	for what, path := range map[string]string{"node " + t.NodeVersion: t.Node, "npm": t.NPM, "surreal": t.Surreal} {
		if path != "" {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	switch {
	case t.Surreal != "" || t.Node != "" && t.NPM != "":
		e.pass(name, "found "+strings.Join(found, ", "))
	case cfg != nil && cfg.SurrealDB.External:
		e.pass(name, "not needed: the database is given")
	default:
		e.warn(name, "neither surreal nor node with npm is on PATH, so spky dev cannot start a database",
			"install Node.js 20 or newer, or put surreal on PATH, or set SPKY_DB_URL")
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package doctor

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

//go:embed scheduled.surql
var tryScheduledJob string

// A use is what a table's jobs are written for by the clock.
type use struct {
	names   []string // of schedules and DAGs
	path    string   // of one of the jobs
	timeout any      // in seconds where one of them brings one
}

func (u *use) add(name, path string, timeout int64) {
	if len(u.names) == 0 || u.names[len(u.names)-1] != name {
		u.names = append(u.names, name)
	}
	u.path = path
	if timeout > 0 {
		u.timeout = timeout
	}
}

// useOf is what schedules and DAGs write jobs to a backend's table for.
func useOf(cfg *config.Config, b config.Backend) use {
	u := use{timeout: surreal.None}
	for _, s := range cfg.Schedules {
		if s.Workflow == "" && s.Backend == b.Name {
			u.add(s.Name, s.Route, int64(s.Timeout.Seconds()))
		}
	}
	for _, d := range cfg.Workflows {
		for _, s := range d.Steps {
			if s.Backend == b.Name {
				u.add(d.Name, s.Route, int64(s.Timeout.Seconds()))
			}
		}
	}
	return u
}

// scheduled looks whether the jobs of schedules and DAGs could be written to a table.
func (e *exam) scheduled(ctx context.Context, db *surreal.Client, u use, box schema.Outbox) {
	names := strings.Join(u.names, ", ")
	e.tries(ctx, db, box, attempt{
		name: "scheduled jobs of " + box.Table, statement: tryScheduledJob, vars: map[string]any{"path": u.path, "timeout": u.timeout},
		works: "the jobs of " + names + " can be written", fails: "no run of " + names + " can be started", given: []string{"path", "payload", "max_retries", "retry_strategy", "timeout"},
	})
}

// queries tries the queries of forEach, as a tick would.
func (e *exam) queries(ctx context.Context, db *surreal.Client, cfg *config.Config) {
	store := schedule.Store{DB: db.Retrying()}
	for _, s := range schedule.Specs(cfg) {
		if s.ForEach == nil {
			continue
		}
		name := "forEach of " + s.Name
		switch runs, note, err := store.Try(ctx, *s.ForEach); {
		case err != nil:
			e.fail(name, "no tick can be started: "+err.Error(), "correct the query or the key in sp00ky.yml, or give the database what it selects from")
		case note != "":
			e.warn(name, note, "")
		default:
			e.pass(name, "a tick now would be for "+plural(runs, "row"))
		}
	}
}

// schedules looks at how those in the database fare.
func (e *exam) schedules(ctx context.Context, db *surreal.Client, cfg *config.Config) {
	const name = "schedules"
	all, err := admin.NewSchedules(db, redact.New(cfg.Redact)).List(ctx)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	clean := true
	for _, s := range all {
		if !s.Late && s.Trouble == "" {
			continue
		}
		clean = false
		detail := "a tick of " + s.Name + " is due, and no node starts it"
		if s.Trouble != "" {
			detail += ": " + s.Trouble
		}
		e.warn(name, detail, fmt.Sprintf("`spky explain %s` says more", s.Name))
	}
	if clean && len(all) > 0 {
		e.pass(name, plural(len(all), "schedule")+", none late")
	}
}

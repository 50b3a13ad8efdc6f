package admin

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// JobsConfig says where jobs live.
type JobsConfig struct {
	// DB is a connection of a user who may read and write the outbox tables and the platform's.
	DB *surreal.Client
	// Tables are the outbox tables: rows of others are no jobs, whoever asks for them. Defaults to those
	// of Backends.
	Tables []string
	// Backends are those of the configuration: they say whose jobs a table has, and what a new job must
	// be like.
	Backends []config.Backend
	// Redact says what is not to be shown.
	Redact redact.Rules
}

// Jobs is what can be done to jobs. Its methods may be called from any goroutine.
type Jobs struct {
	db       *surreal.Client
	tables   []string
	backends []config.Backend
	hider    hider
}

// NewJobs makes it; nothing is sent.
func NewJobs(cfg JobsConfig) *Jobs {
	tables := slices.Clone(cfg.Tables)
	if len(tables) == 0 {
		for _, b := range cfg.Backends {
			if b.Table != "" {
				tables = append(tables, b.Table)
			}
		}
	}
	slices.Sort(tables)
	tables = slices.DeleteFunc(slices.Compact(tables), func(t string) bool { return !tableName.MatchString(t) })
	return &Jobs{db: cfg.DB, tables: tables, backends: cfg.Backends, hider: hider{db: cfg.DB, rules: cfg.Redact}}
}

// tableName is what an outbox table may be called.
var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Tables names the outbox tables, sorted.
func (j *Jobs) Tables() []string { return slices.Clone(j.tables) }

// backend names the backend whose jobs a table has, "" where the configuration has none.
func (j *Jobs) backend(table string) string {
	for _, b := range j.backends {
		if b.Table == table {
			return b.Name
		}
	}
	return ""
}

// chosen are the tables of a name, and of a backend, where they are not "".
func (j *Jobs) chosen(table, backend string) ([]string, error) {
	tables := j.tables
	if len(tables) == 0 {
		return nil, inputf("the configuration has no outbox table")
	}
	if table != "" {
		if !slices.Contains(tables, table) {
			return nil, inputf("table %q is no outbox table; there are: %s", table, strings.Join(tables, ", "))
		}
		tables = []string{table}
	}
	if backend == "" {
		return tables, nil
	}
	b, err := j.named(backend)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(tables, b.Table) {
		return nil, inputf("backend %s has the table %s, and %s was asked for", backend, b.Table, table)
	}
	return []string{b.Table}, nil
}

// named finds a backend that has an outbox table.
func (j *Jobs) named(name string) (config.Backend, error) {
	var names []string
	for _, b := range j.backends {
		switch {
		case b.Table == "":
		case b.Name == name:
			return b, nil
		default:
			names = append(names, b.Name)
		}
	}
	return config.Backend{}, inputf("the configuration has no backend %q with an outbox table; there are: %s", name, strings.Join(names, ", "))
}

// jobIDPrefix recognises an id that begins with a table.
var jobIDPrefix = regexp.MustCompile(`^([a-z][a-z0-9_]{0,63}):(.+)$`)

// ID reads the id of a job in any form people write it: whole, or the key alone where there is only
// one outbox table. What is no record id by SurrealDB's rules is a key that happens to need quoting,
// such as job:a-b. ErrNotFound is an id of a table that is no outbox table.
func (j *Jobs) ID(text string) (surreal.RecordID, error) {
	if text == "" {
		return surreal.RecordID{}, inputf("the id of the job is empty")
	}
	id, err := surreal.ParseID(text)
	if err == nil {
		return id, j.owns(id)
	}
	if m := jobIDPrefix.FindStringSubmatch(text); m != nil {
		id = surreal.RecordID{Table: m[1], ID: m[2]}
		return id, j.owns(id)
	}
	if len(j.tables) != 1 {
		return id, inputf("job id %q: %v; a key alone needs a single table, and there are %d outbox tables", text, err, len(j.tables))
	}
	if id, err := surreal.ParseID(j.tables[0] + ":" + text); err == nil {
		return id, nil
	}
	return surreal.RecordID{Table: j.tables[0], ID: text}, nil
}

// owns refuses a record that can't be a job.
func (j *Jobs) owns(id surreal.RecordID) error {
	if slices.Contains(j.tables, id.Table) {
		return nil
	}
	return fmt.Errorf("%s: job %w: %s is no outbox table; there are: %s", surreal.FormatID(id), ErrNotFound, id.Table, strings.Join(j.tables, ", "))
}

// cancelled is the status that stands for a cancelled job in a table: one whose own ASSERT does not
// know the word has failed instead.
func (j *Jobs) cancelled(ctx context.Context, table string) (outbox.Status, error) {
	info, err := surreal.First[struct {
		Fields map[string]string `json:"fields"`
	}](ctx, j.db, "INFO FOR TABLE `"+table+"`", nil)
	if err != nil {
		return "", fmt.Errorf("look at table %s: %w", table, err)
	}
	status := info.Fields["status"]
	if strings.Contains(status, "'failed'") && !strings.Contains(status, "'cancelled'") {
		return outbox.Failed, nil
	}
	return outbox.Cancelled, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

const jobIDHelp = `A job is named by its record id, as SurrealDB writes it: job:ab12, job:7,
job:⟨a-b⟩, job:u'018e…', job:['x', 1]. The key alone will do where the
configuration has only one outbox table. Put quotes around it for the shell.`

func newJobsCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "jobs",
		Aliases: []string{"job"},
		Short:   "Create, list, watch, cancel and retry jobs",
		Long: `Create, list, watch, cancel and retry jobs: the rows of the outbox tables.

The tables are those of the configuration, or the one that --table names.

` + jobIDHelp,
		Example: `  spky jobs create --path /documents/index --payload '{"id": 1}' --wait
  spky jobs list --status failed
  spky jobs watch`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newJobsListCommand(p), newJobsGetCommand(p), newJobsCreateCommand(p),
		newJobsCancelCommand(p), newJobsRetryCommand(p), newJobsWatchCommand(p))
	return cmd
}

// tableFlag adds --table to a command.
func (p *program) tableFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "table", "", "the outbox table (default those of the configuration)")
	_ = cmd.RegisterFlagCompletionFunc("table", p.completeFrom(outboxTables))
}

// completeFrom offers words of the configuration; none where it cannot be read.
func (p *program) completeFrom(words func(*config.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cfg, err := p.loadAny()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cfg), cobra.ShellCompDirectiveNoFileComp
	}
}

// outboxTables are the tables of the backends, each once.
func outboxTables(cfg *config.Config) []string {
	var tables []string
	for _, b := range cfg.Backends {
		if b.Table != "" && !slices.Contains(tables, b.Table) {
			tables = append(tables, b.Table)
		}
	}
	return tables
}

// A desk is what the commands on jobs work with.
type desk struct {
	cfg    *config.Config
	db     *surreal.Client
	tables []string
}

// withJobs connects, and finds the tables: the named one, or all of the
// configuration.
func (p *program) withJobs(ctx context.Context, table string, do func(*desk) error) error {
	cfg, err := p.loadAny()
	if err != nil {
		return err
	}
	d := &desk{cfg: cfg, tables: outboxTables(cfg)}
	if table != "" {
		if err := schema.CheckTableName(table); err != nil {
			return usagef("--table: %v", err)
		}
		d.tables = []string{table}
	}
	db, closeDB, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	d.db = db
	return do(d)
}

// errNoTable is a command that needs a table and finds none.
func errNoTable(cfg *config.Config) error {
	return hint.Wrap(fmt.Errorf("%s names no outbox table", cfg.File), "name one with --table, or add a backend with `spky add api`")
}

func (d *desk) all() ([]string, error) {
	if len(d.tables) == 0 {
		return nil, errNoTable(d.cfg)
	}
	return d.tables, nil
}

// only is the table where there is but one.
func (d *desk) only() (string, error) {
	switch len(d.tables) {
	case 0:
		return "", errNoTable(d.cfg)
	case 1:
		return d.tables[0], nil
	}
	return "", usagef("there are several outbox tables, %s: name one with --table", strings.Join(d.tables, ", "))
}

// table gives the verbs on a table.
func (d *desk) table(name string) *outbox.Table {
	return outbox.New(outbox.Config{DB: d.db, Name: name})
}

// inspected gives the verbs on a table whose columns have been looked at, for
// those that depend on them. A table that does not exist has no jobs.
func (d *desk) inspected(ctx context.Context, name string) (*outbox.Table, error) {
	if err := surreal.Exec(ctx, d.db, "SELECT VALUE id FROM `"+name+"` LIMIT 1", nil); err != nil {
		return nil, fmt.Errorf("look at table %s: %w", name, err)
	}
	box, err := schema.InspectOutbox(ctx, d.db, name)
	if err != nil {
		return nil, err
	}
	return outbox.New(outbox.Config{DB: d.db, Name: name, Cancelled: outbox.Status(box.Cancelled)}), nil
}

// tablePrefix recognises an id that begins with a table.
var tablePrefix = regexp.MustCompile(`^([a-z][a-z0-9_]{0,63}):(.+)$`)

// id reads the id of a job in any form people write it: whole, or the key
// alone. What is no record id by SurrealDB's rules is a key that happens to
// need quoting, such as job:a-b.
func (d *desk) id(text string) (surreal.RecordID, error) {
	id, err := surreal.ParseID(text)
	if err == nil {
		return d.checked(id)
	}
	if m := tablePrefix.FindStringSubmatch(text); m != nil {
		return d.checked(surreal.RecordID{Table: m[1], ID: m[2]})
	}
	table, tableErr := d.only()
	if tableErr != nil {
		return id, usagef("%v, and a key alone needs a single table", err)
	}
	if text == "" {
		return id, usagef("the id of the job is empty")
	}
	if id, err := surreal.ParseID(table + ":" + text); err == nil {
		return id, nil
	}
	return surreal.RecordID{Table: table, ID: text}, nil
}

// checked refuses an id of a table that can be no outbox.
func (d *desk) checked(id surreal.RecordID) (surreal.RecordID, error) {
	if err := schema.CheckTableName(id.Table); err != nil {
		return id, usagef("%s is no job: %v", surreal.FormatID(id), err)
	}
	return id, nil
}

// orNotFound turns a table that does not exist into a job that does not.
func orNotFound(err error, id surreal.RecordID) error {
	if surreal.IsNotFound(err) {
		return fmt.Errorf("%s: %w: there is no table %s", surreal.FormatID(id), outbox.ErrNotFound, id.Table)
	}
	return err
}

// each does something with every job named, and goes on where it is refused.
func (p *program) each(ctx context.Context, table string, texts []string, do func(*desk, surreal.RecordID) error) error {
	return p.withJobs(ctx, table, func(d *desk) error {
		var failed []error
		for _, text := range texts {
			id, err := d.id(text)
			if err == nil {
				err = orNotFound(do(d, id), id)
			}
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	})
}

// takesJobs checks that there is at least one id.
func takesJobs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%sthe id of a job is missing", what(cmd))
	}
	return nil
}

// moment reads a datetime of a row; false where it is none.
func moment(v any) (time.Time, bool) {
	if at, ok := v.(interface{ UTC() time.Time }); ok {
		return at.UTC(), true
	}
	return time.Time{}, false
}

// word reads a text of a row, "" where it is none.
func word(v any) string {
	text, _ := v.(string)
	return text
}

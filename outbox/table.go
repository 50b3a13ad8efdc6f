package outbox

import (
	"embed"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/*.surql
var files embed.FS

// Config describes one outbox table.
type Config struct {
	// DB carries the table's statements. Conflicts are retried here, so it should not retry itself.
	DB surreal.Querier
	// Name of the table, checked by schema.CheckTableName.
	Name string
	// Cancelled is the status that stands for a cancelled job. Defaults to [Cancelled].
	Cancelled Status
	// Timeout of one attempt. Defaults to 10 s.
	Timeout time.Duration
	// Overridable lets a row's own timeout column win, within 1 s and 1 h.
	Overridable bool
	// PartitionBy is the column whose values part the jobs, or a path below one, checked by
	// schema.CheckPartition; the table has to be prepared for it. Defaults to none. Jobs without a value
	// belong to no partition.
	PartitionBy string
	// PartitionConcurrency is how many jobs of one partition run at once. Defaults to 1.
	PartitionConcurrency int
	// Grace is how long a lease outlives its attempt's timeout. Defaults to 10 s.
	Grace time.Duration
}

// A Table is one outbox table.
type Table struct {
	cfg                          Config
	claim, mine, reread          string
	due, held, stray, straighten string
	adopt, touch                 string
	late, enlist, succeed        string
	partition                    partitionTexts
}

// New makes a table of its description; it touches no database.
func New(cfg Config) *Table {
	if cfg.Cancelled == "" {
		cfg.Cancelled = Cancelled
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 10 * time.Second
	}
	cfg.PartitionConcurrency = max(cfg.PartitionConcurrency, 1)
	text := func(name string) string { return statement(name, cfg.Name) }
	return &Table{
		cfg: cfg, partition: newPartitionTexts(cfg),
		claim: strings.ReplaceAll(text("claim"), slotMark, ""), mine: text("mine"), reread: text("reread"),
		due: text("due"), held: text("held"), stray: text("stray"), straighten: text("straighten"),
		adopt: text("adopt"), touch: text("touch"),
		late: text("late"), enlist: text("enlist"), succeed: text("succeed"),
	}
}

// Name of the table.
func (t *Table) Name() string { return t.cfg.Name }

// AttemptTimeout is how long one attempt of the job may take.
func (t *Table) AttemptTimeout(j Job) time.Duration {
	if t.cfg.Overridable && j.Timeout > 0 {
		return time.Duration(j.Timeout) * time.Second
	}
	return t.cfg.Timeout
}

// statement reads an embedded statement; only the table's checked name is put into its text.
func statement(name, table string) string {
	text, err := files.ReadFile("surql/" + name + ".surql")
	if err != nil {
		panic(err) // embedded at build time
	}
	return strings.ReplaceAll(string(text), "{{table}}", table)
}

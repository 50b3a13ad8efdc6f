package schema

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrTableName is an outbox table name that is not `[a-z][a-z0-9_]*` or that is the platform's.
var ErrTableName = errors.New("a table name has lower-case letters, digits and _, starts with a letter and is at most 64 characters long")

var (
	tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	comment   = regexp.MustCompile(`(?m)^--.*\n`)
	defined   = regexp.MustCompile(`^(FIELD|INDEX) IF NOT EXISTS (\S+)`)
)

// CheckTableName refuses a name that can't be an outbox table's.
func CheckTableName(name string) error {
	if !tableName.MatchString(name) {
		return fmt.Errorf("table name %q: %w", name, ErrTableName)
	}
	return nil
}

// An Outbox is what is known of one outbox table.
type Outbox struct {
	Table string
	// Schemafull is true where the table keeps no column that it does not define.
	Schemafull bool
	// Fields and Indexes are the definitions found, by name.
	Fields, Indexes map[string]string
	// Missing are the statements that would bring the table up to what the runner needs.
	Missing []string
	// Cancelled is the status that stands for a cancelled job: "cancelled", or "failed" where the
	// table's own ASSERT does not know that word.
	Cancelled string
	// Findings are what a job can fail on later.
	Findings []Finding
}

// A Finding is a fault of an outbox table that the platform may not mend by itself.
type Finding struct {
	Column  string `json:"column"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
	// Fatal is true where no job of this table could run.
	Fatal bool `json:"fatal"`
}

func (f Finding) String() string {
	return fmt.Sprintf("column %s: %s; %s", f.Column, f.Message, f.Remedy)
}

// A RefusedError says that the database user may not bring a table up to date.
type RefusedError struct {
	Table string
	// DDL is what somebody who may define fields has to run, once.
	DDL string
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("table %s lacks columns that this database user may not define (%v); run this once as an owner or editor of the database:\n%s", e.Table, e.Err, e.DDL)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// InspectOutbox looks at a table and changes nothing.
func InspectOutbox(ctx context.Context, db DB, table string) (Outbox, error) {
	if err := CheckTableName(table); err != nil {
		return Outbox{}, err
	}
	info, err := object(ctx, db, "INFO FOR DB")
	if err != nil {
		return Outbox{}, fmt.Errorf("inspect table %s: %w", table, err)
	}
	def, ok := names(info, "tables")[table]
	if !ok {
		return Outbox{}, fmt.Errorf("outbox table %s does not exist: apply the file named by method.schema (`spky migrate apply`), or write one with `spky add api`", table)
	}
	info, err = object(ctx, db, "INFO FOR TABLE `"+table+"`")
	if err != nil {
		return Outbox{}, fmt.Errorf("inspect table %s: %w", table, err)
	}
	box := Outbox{
		Table: table, Schemafull: strings.Contains(def, "SCHEMAFULL"),
		Fields: names(info, "fields"), Indexes: names(info, "indexes"),
	}
	box.Missing = box.missing()
	box.Cancelled = cancelledStatus(box.Fields["status"])
	box.Findings = box.findings()
	return box, nil
}

// PrepareOutbox adds what is missing to a table and answers with the table as it is then. Rows that
// were pending before get their run_at. A *RefusedError carries the statements to run by hand.
func PrepareOutbox(ctx context.Context, db DB, table string) (Outbox, error) {
	box, err := InspectOutbox(ctx, db, table)
	if err != nil {
		return box, err
	}
	for _, f := range box.Findings {
		if f.Fatal {
			return box, fmt.Errorf("table %s can't be an outbox: %s", table, f)
		}
	}
	if len(box.Missing) == 0 {
		return box, nil
	}
	ddl := strings.Join(box.Missing, "\n")
	if err := define(ctx, db, ddl); err != nil {
		return box, &RefusedError{Table: table, DDL: ddl, Err: err}
	}
	return InspectOutbox(ctx, db, table)
}

func (box Outbox) missing() []string {
	text := read("surql/outbox.surql")
	if plainEntries(box.Fields) {
		text += read("surql/outbox_errors.surql")
	}
	return box.lacks(text)
}

// lacks are those of the definitions that the table does not have as they are.
func (box Outbox) lacks(text string) []string {
	text = strings.ReplaceAll(comment.ReplaceAllString(text, ""), "{{table}}", box.Table)
	var found []string
	for _, rest := range strings.Split("\n"+text, "\nDEFINE ")[1:] {
		m := defined.FindStringSubmatch(rest)
		name := strings.ReplaceAll(strings.Trim(m[2], "`"), "[*]", ".*")
		have := box.Fields
		if m[1] == "INDEX" {
			have = box.Indexes
		}
		def, ok := have[name]
		switch {
		case !ok:
			found = append(found, "DEFINE "+strings.TrimSpace(rest))
		case m[1] == "INDEX" && !strings.Contains(def, columns(rest)): // an index of ours, of an earlier version
			found = append(found, "DEFINE "+strings.Replace(strings.TrimSpace(rest), "IF NOT EXISTS", "OVERWRITE", 1))
		}
	}
	return found
}

// columns are those of an index's definition, as the database prints them too.
func columns(def string) string {
	_, after, _ := strings.Cut(def, " FIELDS ")
	return "FIELDS " + strings.TrimRight(strings.TrimSpace(after), ";")
}

// plainEntries says whether errors takes objects without letting them have keys: what
// `array<object>` does on a SCHEMAFULL table.
func plainEntries(fields map[string]string) bool {
	entry, ok := fields["errors.*"]
	return ok && strings.Contains(entry, "TYPE object") && !strings.Contains(entry, "FLEXIBLE")
}

func cancelledStatus(status string) string {
	if strings.Contains(status, "'failed'") && !strings.Contains(status, "'cancelled'") {
		return "failed"
	}
	return "cancelled"
}

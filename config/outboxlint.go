package config

import (
	"regexp"
	"slices"
	"strings"
)

var (
	defineTable = regexp.MustCompile(`(?i)^DEFINE TABLE (?:OVERWRITE |IF NOT EXISTS )?(\S+)(.*)$`)
	defineField = regexp.MustCompile(`(?i)^DEFINE FIELD (OVERWRITE |IF NOT EXISTS )?(\S+) ON (?:TABLE )?(\S+)(.*)$`)
	fieldType   = regexp.MustCompile(`(?i)\bTYPE (.+?)(?: (?:FLEXIBLE|DEFAULT|VALUE|ASSERT|READONLY|PERMISSIONS|COMMENT|COMPUTED|REFERENCE)\b.*)?$`)
	hasDefault  = regexp.MustCompile(`(?i)\b(?:DEFAULT|VALUE|COMPUTED)\b`)
	valueNow    = regexp.MustCompile(`(?i)\bVALUE time::now\(\)`)
	noSync      = regexp.MustCompile(`(?m)--[ \t]*@nosync\b`)
)

// column is a DEFINE FIELD of the outbox table.
type column struct {
	name, kind string
	overwrites bool
	rest       string
	line       int
}

// outboxTable is what the text of an outbox schema says about one table.
type outboxTable struct {
	defined    bool
	schemaless bool
	line       int
	columns    []column
}

func (t outboxTable) column(names ...string) (column, bool) {
	// The last definition wins, as it does in the database.
	for _, c := range slices.Backward(t.columns) {
		if slices.Contains(names, c.name) {
			return c, true
		}
	}
	return column{}, false
}

// lintOutbox reads the outbox schema of a backend and warns about what would
// keep jobs from being written or recorded.
func (l *loader) lintOutbox(m *rawMethod) {
	if m == nil || !m.Schema.given() {
		return
	}
	content, err := readLimited(m.Schema.full, maxSpecSize)
	if err != nil {
		l.d.fault(m.Schema.at, "found the file "+quote(m.Schema.full)+": "+reason(err)+", allowed: the .surql file of the outbox table",
			"create it with `spky add api`, or correct the path")
		return
	}
	if m.Table == "" {
		return
	}
	warn := func(line int, message, remedy string) {
		f := m.Schema.at.finding(SeverityWarning, message, remedy)
		f.File, f.Line, f.Column = m.Schema.full, max(1, line), 1
		l.d.add(f)
	}
	text := string(content)
	if at := noSync.FindStringIndex(text); at != nil {
		warn(1+strings.Count(text[:at[0]], "\n"), "found @nosync, allowed: an outbox that is synced, dispatch depends on it", "remove the line")
	}
	table := parseOutbox(text, m.Table)
	if !table.defined {
		warn(1, "found no DEFINE TABLE "+m.Table+", allowed: the definition of the table that method.table names", "define the table here, or correct method.table")
		return
	}
	for _, check := range []func(outboxTable, func(int, string, string)){
		lintMissingColumns, lintPayload, lintCreatedAt, lintErrors, lintMandatory,
	} {
		check(table, warn)
	}
	if m.PartitionBy != "" {
		lintPartition(table, m.PartitionBy, warn)
	}
}

// parseOutbox collects the definitions of one table.
func parseOutbox(text, name string) outboxTable {
	var t outboxTable
	for _, s := range statements(text) {
		if m := defineTable.FindStringSubmatch(s.text); m != nil && bare(m[1]) == name {
			t.defined, t.line = true, s.line
			t.schemaless = !strings.Contains(strings.ToUpper(m[2]), "SCHEMAFULL")
		}
		m := defineField.FindStringSubmatch(s.text)
		if m == nil || bare(m[3]) != name {
			continue
		}
		c := column{name: bare(m[2]), kind: "any", overwrites: strings.EqualFold(strings.TrimSpace(m[1]), "OVERWRITE"), rest: m[4], line: s.line}
		if kind := fieldType.FindStringSubmatch(m[4]); kind != nil {
			c.kind = strings.ToLower(strings.ReplaceAll(kind[1], " ", ""))
		}
		t.columns = append(t.columns, c)
	}
	return t
}

// bare strips the quotes from an identifier.
func bare(name string) string { return strings.Trim(name, "`⟨⟩") }

// lintMissingColumns looks for the columns that every outbox has to have. A
// schemaless table has all columns.
func lintMissingColumns(t outboxTable, warn func(int, string, string)) {
	if t.schemaless {
		return
	}
	var missing []string
	for _, name := range strings.Fields("path payload retries max_retries retry_strategy status errors created_at updated_at") {
		if _, ok := t.column(name); !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		warn(t.line, "found a table without the columns "+strings.Join(missing, ", ")+", allowed: a table with all columns of an outbox", "define them as `spky add api` does")
	}
}

func lintPayload(t outboxTable, warn func(int, string, string)) {
	if c, ok := t.column("payload"); ok && c.kind != "any" {
		warn(c.line, "found payload of type "+c.kind+", allowed: any, a job may carry text as well as objects", "write `TYPE any`")
	}
}

func lintCreatedAt(t outboxTable, warn func(int, string, string)) {
	if c, ok := t.column("created_at"); ok && valueNow.MatchString(c.rest) {
		warn(c.line, "found created_at VALUE time::now(), which moves with every update and with it the time a delayed job is due, allowed: a time that stays",
			"write `DEFAULT time::now() READONLY`")
	}
}

// lintErrors finds a definition of errors[*] that has no effect: the type
// array<object> defines errors.* on its own. Entries that are not FLEXIBLE are
// no fault, for the runner gives them the fields that it writes.
func lintErrors(t outboxTable, warn func(int, string, string)) {
	c, ok := t.column("errors")
	if t.schemaless || !ok || !strings.Contains(c.kind, "<object") {
		return
	}
	if item, ok := t.column("errors[*]", "errors.*"); ok && !item.overwrites {
		warn(item.line, "found errors[*] without OVERWRITE, it exists already and the definition has no effect, allowed: OVERWRITE",
			"write `DEFINE FIELD OVERWRITE errors[*] ON TABLE … TYPE object FLEXIBLE`")
	}
}

// lintPartition looks for the column by which jobs are parted: among those of the file, and among those
// that the runner adds and a creator may write.
func lintPartition(t outboxTable, path string, warn func(int, string, string)) {
	name, _, _ := strings.Cut(path, ".")
	if _, ok := t.column(name); ok || t.schemaless || slices.Contains(strings.Fields("assigned_to max_retries retry_strategy timeout delay traceparent"), name) {
		return
	}
	warn(t.line, "found a table without the column "+name+", by which method.partitionBy parts its jobs, allowed: a column of the table",
		"define it here, for instance as `TYPE any`, or correct method.partitionBy")
}

// lintMandatory finds columns that a job written by the platform cannot fill:
// it sets nothing but the columns of the request.
func lintMandatory(t outboxTable, warn func(int, string, string)) {
	given := strings.Fields("id path payload max_retries retry_strategy timeout delay")
	for _, c := range t.columns {
		last, _ := t.column(c.name)
		optional := c.kind == "any" || strings.HasPrefix(c.kind, "option<") || strings.Contains(c.kind, "none") || hasDefault.MatchString(c.rest)
		if optional || last.line != c.line || slices.Contains(given, c.name) || strings.ContainsAny(c.name, ".[") {
			continue
		}
		warn(c.line, "found "+c.name+" of type "+c.kind+" without a default, a job of a schedule or workflow could not be written, allowed: option<…>, or a DEFAULT",
			"write `TYPE option<"+c.kind+">`")
	}
}

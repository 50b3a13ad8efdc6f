package config

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed outbox.surql
var outboxTemplate string

// OutboxOptions adapt the schema of an outbox table. The zero value is fine.
type OutboxOptions struct {
	// Backend is the name of the app, for a comment. Defaults to "api".
	Backend string
	// AssignedTo is the table of the records that jobs belong to. Defaults to
	// any table.
	AssignedTo string
}

// OutboxSchema returns the SurrealQL that defines an outbox table, with comments
// that say what to change. It can be applied again at any time. The columns that
// the runner keeps for itself are left to the platform's schema.
//
// Both names end up in SurrealQL as identifiers, so a name that CheckTable
// refuses is an error.
func OutboxSchema(table string, o OutboxOptions) (string, error) {
	if err := CheckTable(table); err != nil {
		return "", fmt.Errorf("outbox schema: %w", err)
	}
	values := struct{ Backend, Table, AssignedType string }{"api", table, "option<record>"}
	if o.Backend != "" {
		values.Backend = strings.Join(strings.Fields(o.Backend), " ")
	}
	if o.AssignedTo != "" {
		if err := CheckTable(o.AssignedTo); err != nil {
			return "", fmt.Errorf("outbox schema: assigned to: %w", err)
		}
		values.AssignedType = "option<record<" + o.AssignedTo + ">>"
	}
	t, err := template.New("outbox.surql").Parse(outboxTemplate)
	if err != nil {
		return "", fmt.Errorf("outbox schema: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, values); err != nil {
		return "", fmt.Errorf("outbox schema: %w", err)
	}
	return b.String(), nil
}

package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/schema"
)

// A State says how the database stands to one thing.
type State string

// The states of an Item.
const (
	Applied State = "applied"
	Pending State = "pending"
	Drift   State = "drift"   // the file is not what was applied, or somebody changed the platform's schema
	Missing State = "missing" // applied, but its file is gone
)

// An Item is one thing that is applied: a file, the platform's schema, or the
// columns of an outbox table.
type Item struct {
	// Kind is "platform", "schema", "outbox", "migration" or "columns".
	Kind  string `json:"kind"`
	State State  `json:"state"`
	// Version of a migration.
	Version string `json:"version,omitempty"`
	// Name is the file, or what it is in words.
	Name string `json:"name"`
	// Note says more for people, "" mostly.
	Note      string     `json:"note,omitempty"`
	AppliedAt *time.Time `json:"applied_at,omitempty"`
	// SurrealQL is what will run; empty unless it is pending.
	SurrealQL string `json:"surrealql,omitempty"`
}

// A Plan is what there is to do, in its order.
type Plan struct {
	Items []Item

	declared, migrations []source
	recorded             map[string]record
	tables               []string
	partitions           map[string]string
}

// Look compares a database with a project and changes nothing.
func Look(ctx context.Context, db DB, p Project) (*Plan, error) {
	plan, err := read(ctx, db, p)
	if err != nil {
		return nil, err
	}
	platform, err := lookPlatform(ctx, db)
	if err != nil {
		return nil, err
	}
	plan.Items = append(plan.Items, platform)
	for _, s := range plan.declared {
		plan.Items = append(plan.Items, plan.declaredItem(s))
	}
	for _, s := range plan.migrations {
		plan.Items = append(plan.Items, plan.migrationItem(s))
	}
	plan.Items = append(plan.Items, plan.gone()...)
	for _, table := range plan.tables {
		plan.Items = append(plan.Items, lookColumns(ctx, db, table, plan.partitions[table]))
	}
	return plan, nil
}

func read(ctx context.Context, db DB, p Project) (*Plan, error) {
	declared, err := p.declared()
	if err != nil {
		return nil, err
	}
	migrations, err := p.migrations()
	if err != nil {
		return nil, err
	}
	recorded, err := records(ctx, db)
	if err != nil {
		return nil, err
	}
	return &Plan{declared: declared, migrations: migrations, recorded: recorded, tables: p.Tables, partitions: p.Partitions}, nil
}

// Pending says whether there is anything to apply.
func (p *Plan) Pending() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.State == Pending })
}

// drifted are the migrations whose files changed after they ran.
func (p *Plan) drifted() []source {
	var found []source
	for _, s := range p.migrations {
		if r, ok := p.recorded[s.version]; ok && r.Checksum != s.checksum {
			found = append(found, s)
		}
	}
	return found
}

func (p *Plan) declaredItem(s source) Item {
	kind, _, _ := strings.Cut(s.version, ":")
	item := Item{Kind: kind, Name: s.file, State: Pending}
	r, ok := p.recorded[s.version]
	if ok {
		item.AppliedAt = &r.AppliedAt
		item.Note = "changed since it was applied"
	}
	if ok && r.Checksum == s.checksum {
		item.State, item.Note = Applied, ""
		return item
	}
	item.SurrealQL = text(p.toApply(s))
	return item
}

func (p *Plan) migrationItem(s source) Item {
	item := Item{Kind: "migration", Version: s.version, Name: s.file, State: Pending}
	r, ok := p.recorded[s.version]
	switch {
	case !ok:
		item.SurrealQL = text(s.statements)
		if latest := p.latest(); latest > s.version {
			item.Note = "older than the latest applied, " + latest
		}
	case r.Checksum != s.checksum:
		item.State, item.AppliedAt = Drift, &r.AppliedAt
		item.Note = fmt.Sprintf("the file changed after it ran: %.12s was applied, %.12s is there now", r.Checksum, s.checksum)
	default:
		item.State, item.AppliedAt = Applied, &r.AppliedAt
	}
	return item
}

// latest is the highest version applied.
func (p *Plan) latest() string {
	latest := ""
	for version := range p.recorded {
		if isMigration(version) {
			latest = max(latest, version)
		}
	}
	return latest
}

func isMigration(version string) bool { return migrationFile.MatchString(version + "_x.surql") }

// gone are the migrations that ran and whose files are not there.
func (p *Plan) gone() []Item {
	var found []Item
	for _, version := range slices.Sorted(maps.Keys(p.recorded)) {
		there := slices.ContainsFunc(p.migrations, func(s source) bool { return s.version == version })
		if there || !isMigration(version) {
			continue
		}
		r := p.recorded[version]
		found = append(found, Item{
			Kind: "migration", Version: version, Name: version + "_" + r.Name, State: Missing,
			AppliedAt: &r.AppliedAt, Note: "it ran here, and its file is gone",
		})
	}
	return found
}

// toApply are the statements of a declared file that have to run: all but
// accesses that did not change.
func (p *Plan) toApply(s source) []statement {
	var all []statement
	for _, one := range s.statements {
		if name := accessName(one); name != "" && p.recorded[accessVersion(name)].Checksum == checksum(one.text) {
			continue
		}
		all = append(all, one)
	}
	return all
}

func accessVersion(name string) string { return "access:" + name }

// text is statements as they are applied, as one SurrealQL text.
func text(all []statement) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(repeatable(s))
		b.WriteString(";\n")
	}
	return b.String()
}

func lookPlatform(ctx context.Context, db DB) (Item, error) {
	item := Item{Kind: "platform", Name: fmt.Sprintf("platform schema, version %d", schema.Version), State: Applied}
	differences, err := schema.Verify(ctx, db)
	if err != nil {
		return item, fmt.Errorf("look at the platform's schema: %w", err)
	}
	for _, d := range differences {
		if d.Object == "platform schema" {
			item.State, item.SurrealQL, item.Note = Pending, schema.Statements(), ""
			return item, nil
		}
		item.State, item.Note = Drift, d.String()
	}
	if n := len(differences); n > 1 {
		item.Note = fmt.Sprintf("%s; and %d more", differences[0], n-1)
	}
	return item, nil
}

func lookColumns(ctx context.Context, db DB, table, partitionBy string) Item {
	item := Item{Kind: "columns", Name: "platform columns of " + table, State: Applied}
	missing, err := lacking(ctx, db, table, partitionBy)
	switch {
	case err != nil:
		item.State, item.Note = Pending, "added once the table exists"
	case len(missing) > 0:
		item.State, item.SurrealQL = Pending, strings.Join(missing, "\n")+"\n"
	}
	return item
}

// lacking are the statements that an outbox table lacks.
func lacking(ctx context.Context, db DB, table, partitionBy string) ([]string, error) {
	box, err := schema.InspectOutbox(ctx, db, table)
	if err != nil || partitionBy == "" {
		return box.Missing, err
	}
	more, err := box.MissingPartitions(partitionBy)
	return append(box.Missing, more...), err
}

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// A DriftError says that migrations changed after they ran. Nothing was
// applied.
type DriftError struct {
	// Files that changed.
	Files []string
}

func (e *DriftError) Error() string {
	return "migrate: changed after it was applied: " + strings.Join(e.Files, ", ")
}

// Options say how to apply. The zero value applies and is silent.
type Options struct {
	// FixChecksums records the present checksum of migrations that drifted,
	// without running them.
	FixChecksums bool
	// Done is told of each thing that was applied. Defaults to nothing.
	Done func(Item)
}

// Apply brings a database up to a project. Several may do so at once. An error
// leaves applied what was applied before it; applying again goes on from there.
func Apply(ctx context.Context, db DB, p Project, o Options) error {
	if o.Done == nil {
		o.Done = func(Item) {}
	}
	// Everything is read before anything is done: a file that cannot be applied keeps the others from it too.
	plan, err := read(ctx, db, p)
	if err != nil {
		return err
	}
	a := &applier{db: db, o: o, plan: plan}
	if err := a.settleDrift(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{a.platform, a.declare, a.migrate, a.columns} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type applier struct {
	db   DB
	o    Options
	plan *Plan
}

func (a *applier) settleDrift(ctx context.Context) error {
	drifted := a.plan.drifted()
	if len(drifted) == 0 {
		return nil
	}
	if !a.o.FixChecksums {
		e := &DriftError{}
		for _, s := range drifted {
			e.Files = append(e.Files, s.file)
		}
		return e
	}
	for _, s := range drifted {
		if _, err := a.db.Values(ctx, fixChecksum, map[string]any{"version": s.version, "checksum": s.checksum}); err != nil {
			return fmt.Errorf("fix the checksum of %s: %w", s.file, err)
		}
		a.o.Done(Item{Kind: "migration", Version: s.version, Name: s.file, State: Applied, Note: "checksum accepted"})
	}
	return nil
}

func (a *applier) platform(ctx context.Context) error {
	applied, err := schema.Apply(ctx, a.db)
	if err != nil {
		return fmt.Errorf("apply the platform's schema: %w", err)
	}
	item := Item{Kind: "platform", Name: fmt.Sprintf("platform schema, version %d", applied.Version), State: Applied}
	switch {
	case applied.Newer:
		item.Note = "newer than this program's; left alone"
		a.o.Done(item)
	case applied.Changed:
		a.o.Done(item)
	}
	return nil
}

// declare applies the declared files that changed.
func (a *applier) declare(ctx context.Context) error {
	for _, s := range a.plan.declared {
		if a.plan.recorded[s.version].Checksum == s.checksum {
			continue
		}
		if err := a.applyDeclared(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) applyDeclared(ctx context.Context, s source) error {
	statements := a.plan.toApply(s)
	var notes []string
	vars := s.vars()
	for i, one := range statements {
		name := accessName(one)
		if name == "" {
			continue
		}
		key := fmt.Sprintf("_00_access_%d", i)
		vars[key] = map[string]any{"version": accessVersion(name), "name": name, "checksum": checksum(one.text)}
		notes = append(notes, fmt.Sprintf("UPSERT type::record('_00_migrations', $%[1]s.version) SET version = $%[1]s.version, name = $%[1]s.name, checksum = $%[1]s.checksum, applied_at = time::now() RETURN NONE;\n", key))
	}
	if err := a.run(ctx, s.file, noteDeclared, statements, strings.Join(notes, ""), vars); err != nil {
		return err
	}
	recorded, err := records(ctx, a.db)
	if err != nil {
		return err
	}
	a.plan.recorded = recorded
	kind, _, _ := strings.Cut(s.version, ":")
	a.o.Done(Item{Kind: kind, Name: s.file, State: Applied})
	return nil
}

// migrate runs what has not run, and then lets what is declared have the last
// word.
func (a *applier) migrate(ctx context.Context) error {
	defined := false
	for _, s := range a.plan.migrations {
		if _, ok := a.plan.recorded[s.version]; ok {
			continue
		}
		ran, err := a.applyMigration(ctx, s)
		if err != nil {
			return err
		}
		defined = defined || ran && slices.ContainsFunc(s.statements, defines)
	}
	if !defined {
		return nil
	}
	for _, s := range a.plan.declared {
		if err := a.run(ctx, s.file, noteDeclared, a.plan.toApply(s), "", s.vars()); err != nil {
			return err
		}
	}
	return nil
}

// defines says whether a statement changes the schema.
func defines(s statement) bool {
	return slices.Contains([]string{"DEFINE", "ALTER", "REMOVE"}, s.keyword(0))
}

// applyMigration answers false where somebody else ran it in the meantime.
func (a *applier) applyMigration(ctx context.Context, s source) (bool, error) {
	err := a.run(ctx, s.file, noteMigration, s.statements, "", s.vars())
	if surreal.IsAlreadyExists(err) {
		now, readErr := records(ctx, a.db)
		if readErr != nil {
			return false, readErr
		}
		if r, ok := now[s.version]; ok {
			if r.Checksum != s.checksum {
				return false, &DriftError{Files: []string{s.file}}
			}
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	a.o.Done(Item{Kind: "migration", Version: s.version, Name: s.file, State: Applied})
	return true, nil
}

func (a *applier) columns(ctx context.Context) error {
	for _, table := range a.plan.tables {
		by := a.plan.partitions[table]
		missing, err := lacking(ctx, a.db, table, by)
		if err != nil {
			return err
		}
		if _, err := schema.PrepareOutbox(ctx, a.db, table); err != nil {
			return err
		}
		if by != "" {
			if err := schema.PreparePartitions(ctx, a.db, table, by); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			a.o.Done(Item{Kind: "columns", Name: "platform columns of " + table, State: Applied})
		}
	}
	return nil
}

// vars are what the notes on a file need.
func (s source) vars() map[string]any {
	return map[string]any{"_00_version": s.version, "_00_name": s.name, "_00_checksum": s.checksum}
}

// run runs a file's statements and the note that they ran in one transaction,
// again while it loses conflicts.
func (a *applier) run(ctx context.Context, file, note string, statements []statement, notes string, vars map[string]any) error {
	_, err := a.db.Values(ctx, request(note, statements, notes), vars)
	return locate(file, statements, err)
}

// request is a file's statements with what goes around them. Each statement
// starts in the line that it has in its file, for the database to name.
func request(note string, statements []statement, notes string) string {
	var b strings.Builder
	b.WriteString("BEGIN; " + note + "; ")
	line := 1
	for _, s := range statements {
		for ; line < s.line; line++ {
			b.WriteByte('\n')
		}
		b.WriteString(repeatable(s) + "; ")
		line += strings.Count(s.text, "\n")
	}
	b.WriteString("\n" + notes + "COMMIT;")
	return b.String()
}

// before is how many statements of a request come before the file's.
const before = 2

// locate says in which line of the file the database found fault.
func locate(file string, statements []statement, err error) error {
	var fault *surreal.QueryError
	if !errors.As(err, &fault) {
		if err != nil {
			return fmt.Errorf("apply %s: %w", file, err)
		}
		return nil
	}
	if i := fault.Statement - before; i >= 0 && i < len(statements) {
		return &FileError{File: file, Line: statements[i].line, Err: fault}
	}
	return fmt.Errorf("apply %s: %w", file, err)
}

// A FileError is a statement of a file that the database refused. Nothing of
// the file was applied.
type FileError struct {
	File string
	Line int
	Err  *surreal.QueryError
}

func (e *FileError) Error() string {
	return fmt.Sprintf("apply %s:%d: %s; nothing of the file was applied", e.File, e.Line, e.Err.Message)
}

func (e *FileError) Unwrap() error { return e.Err }

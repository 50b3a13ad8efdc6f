package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/migrate"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

const migrateHelp = `Bring the database up to what the project declares.

  src/schema.surql           how things are: applied as a whole when it changed
  the backends' outboxes     likewise
  migrations/<YYYYMMDDHHMMSS>_<name>.surql
                             what to do once, in order, each in a transaction
  the platform's schema      and the columns it needs in outbox tables

A DEFINE without OVERWRITE or IF NOT EXISTS is applied with OVERWRITE, so that a
changed file can be applied again; rows are kept. What a file no longer mentions
stays: write a migration that removes it. An access that did not change is left
alone, so nobody is signed out.

Checksums (SHA-256) are kept in _00_migrations. A migration that changed after it
ran is drift; nothing is applied until the file is restored, or the change is
accepted with --fix-checksums, which runs nothing of it.

Several may apply at once. No data is dropped, unless a migration says so.`

func newMigrateCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Apply the project's schema and the platform's",
		Long:    migrateHelp + "\n\n`spky migrate` alone is `spky migrate apply`.",
		Example: "  spky migrate plan\n  spky migrate\n  spky migrate status --json",
	}
	groupOnly(cmd)
	apply := newMigrateApplyCommand(p)
	unknown := cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(c, args)
		}
		return apply.RunE(c, args)
	}
	cmd.Flags().AddFlagSet(apply.Flags())
	cmd.AddCommand(apply, newMigrateStatusCommand(p), newMigratePlanCommand(p))
	return cmd
}

func newMigrateApplyCommand(p *program) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Apply what is pending",
		Long:  migrateHelp,
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withProject(cmd.Context(), func(db migrate.DB, project migrate.Project) error {
				done := 0
				err := migrate.Apply(cmd.Context(), db, project, migrate.Options{FixChecksums: fix, Done: func(i migrate.Item) {
					done++
					p.printItem(i)
				}})
				if err == nil && done == 0 {
					fmt.Fprintln(p.out, "Everything is applied already.")
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&fix, "fix-checksums", false, "accept migrations that changed after they ran, without running them")
	return cmd
}

func newMigrateStatusCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is applied, pending or drifted",
		Long: `Show what is applied, pending or drifted, and change nothing.

The exit code is 1 when something drifted.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withPlan(cmd.Context(), func(plan *migrate.Plan) error {
				drifted := false
				for i, item := range plan.Items {
					drifted = drifted || item.State == migrate.Drift
					if plan.Items[i].SurrealQL = ""; !asJSON {
						p.printItem(item)
					}
				}
				if asJSON {
					if err := render.JSON(p.out, plan.Items); err != nil {
						return err
					}
				}
				if drifted {
					return errFindings
				}
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newMigratePlanCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print the statements that apply would run",
		Args:  takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withPlan(cmd.Context(), func(plan *migrate.Plan) error {
				if asJSON {
					return render.JSON(p.out, plan.Items)
				}
				for _, item := range plan.Items {
					if item.State == migrate.Applied {
						continue
					}
					fmt.Fprintf(p.out, "-- %s\n%s\n", describe(item), item.SurrealQL)
				}
				if !plan.Pending() {
					fmt.Fprintln(p.out, "-- Nothing is pending.")
				}
				return nil
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// withProject connects to the configured database.
func (p *program) withProject(ctx context.Context, do func(migrate.DB, migrate.Project) error) error {
	return p.onDatabase(ctx, func(db *surreal.Client, cfg *config.Config) error { return do(db, migrate.FromConfig(cfg)) })
}

func (p *program) withPlan(ctx context.Context, do func(*migrate.Plan) error) error {
	return p.withProject(ctx, func(db migrate.DB, project migrate.Project) error {
		plan, err := migrate.Look(ctx, db, project)
		if err != nil {
			return err
		}
		return do(plan)
	})
}

func (p *program) printItem(i migrate.Item) {
	style := render.StyleFor(p.out, p.env)
	mark := map[migrate.State]string{
		migrate.Applied: style.Green("[applied]"), migrate.Pending: style.Cyan("[pending]"),
		migrate.Drift: style.Red("[DRIFT]  "), migrate.Missing: style.Yellow("[missing]"),
	}[i.State]
	fmt.Fprintf(p.out, "  %s %s\n", mark, describe(i))
}

func describe(i migrate.Item) string {
	if i.Note == "" {
		return i.Name
	}
	return i.Name + " (" + i.Note + ")"
}

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/doctor"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
)

func newDoctorCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what keeps jobs from running",
		Long: `Find what keeps jobs from running: the configuration, the tools on this machine,
the database (reachable, version, clock), the platform's schema and who may read
it, the columns of each outbox table, whether workflows could write their jobs to
it, what the queries of forEach give, nodes and their heartbeats, jobs that wait
for nobody, backends that do not answer or do not serve the workflows that they
are declared to have. Nothing is changed.

The exit code is 1 when anything failed or deserves a warning.`,
		Example: "  spky doctor\n  spky doctor --json | jq '.checks[] | select(.ok | not)'",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := doctor.Examine(cmd.Context(), doctor.Options{Config: p.options(config.StageAny), Database: database})
			if asJSON {
				if err := render.JSON(p.out, report); err != nil {
					return err
				}
			} else {
				p.printDoctor(report)
			}
			if !report.OK {
				return errFindings
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printDoctor(r doctor.Report) {
	style := render.StyleFor(p.out, p.env)
	marks := map[doctor.Severity]string{doctor.Pass: style.Green("✔"), doctor.Warn: style.Yellow("!"), doctor.Fail: style.Red("✖")}
	if !render.IsTerminal(p.out) {
		marks = map[doctor.Severity]string{doctor.Pass: "ok  ", doctor.Warn: "warn", doctor.Fail: "FAIL"}
	}
	indent := "\n" + strings.Repeat(" ", 8)
	bad := 0
	for _, c := range r.Checks {
		fmt.Fprintf(p.out, "  %s %s: %s\n", marks[c.Severity], c.Name, strings.ReplaceAll(c.Detail, "\n", indent))
		if c.Fix != "" {
			fmt.Fprintf(p.out, "      %s %s\n", style.Dim("fix:"), strings.ReplaceAll(c.Fix, "\n", indent))
		}
		if !c.OK {
			bad++
		}
	}
	if bad == 0 {
		fmt.Fprintln(p.out, "  Everything is well.")
		return
	}
	fmt.Fprintf(p.out, "  %s of %d.\n", count(bad, "finding", "findings"), len(r.Checks))
}
